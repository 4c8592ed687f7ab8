#include "tool/served_report.h"

#include "tool/error.h"

#ifdef FRAZIL_SERVE

#include "govern/report/pipeline_report.h"
#include "server/model/served_model.h"
#include "server/pipeline/pipeline.h"
#include "server/service/service.h"

namespace frazil::tool {
namespace {

std::vector<govern::RouteNode> nodes_of(const server::Block& block) {
  std::vector<govern::RouteNode> nodes;
  for (const server::NodePtr& node : block.nodes) {
    const server::NodeView view = node->view();
    govern::RouteNode made{.name = node->name(),
                           .kind = std::string(view.kind),
                           .model = view.target == nullptr ? "" : view.target->name(),
                           .version = view.target == nullptr ? "" : view.target->version(),
                           .endpoint = view.endpoint,
                           .most = view.most,
                           .branches = {}};
    for (const auto& branch : view.branches) made.branches.push_back({branch.rule, nodes_of(*branch.block)});
    nodes.push_back(std::move(made));
  }
  return nodes;
}

/// Makes the report of each served version once, those of called ones first.
class FolderReport {
 public:
  explicit FolderReport(const govern::ReportOptions& options) : options_(options) {}

  void add(const server::Served& served) {
    const bool known = std::ranges::any_of(reports_, [&](const govern::CalledReport& one) {
      return one.model == served.name() && one.version == served.version();
    });
    if (known) return;
    govern::Json report;
    if (const auto* pipeline = dynamic_cast<const server::Pipeline*>(&served)) {
      for (const auto& use : pipeline->uses()) add(*use.target);
      report = govern::report_of({served.name(), served.digest(), nodes_of(pipeline->block())}, reports_);
    } else if (const auto* model = dynamic_cast<const server::ServedModel*>(&served)) {
      report = govern::report_of(model->model(), options_);
      report["name"] = served.name();
    } else {
      fail(Code::internal, "model '{}' is neither a graph nor a pipeline", served.name());
    }
    reports_.push_back({served.name(), served.version(), std::move(report)});
  }

  govern::Json take() {
    govern::Json all = {{"models", govern::Json::array()}, {"pipelines", govern::Json::array()}};
    std::ranges::sort(reports_, {}, [](const auto& one) { return std::pair(one.model, one.version); });
    for (govern::CalledReport& one : reports_) {
      one.report["version"] = one.version;
      all[one.report.contains("paths") ? "pipelines" : "models"].push_back(std::move(one.report));
    }
    return all;
  }

 private:
  const govern::ReportOptions& options_;
  std::vector<govern::CalledReport> reports_;
};

}  // namespace

govern::Json report_of_folder(const std::string& folder, const govern::ReportOptions& options) try {
  server::ServiceOptions of_service{.folder = folder};
  of_service.workers = 1;
  const server::Service service(std::move(of_service));
  FolderReport report(options);
  for (const auto& served : service.repository()->all()) report.add(*served);
  for (const auto& fault : service.repository()->not_ready()) fail(Code::bad_input, "{}", fault.text());
  return report.take();
} catch (const server::Refusal& refusal) {
  fail(Code::bad_input, "{}", refusal.what());
}

}  // namespace frazil::tool

#else

namespace frazil::tool {

govern::Json report_of_folder(const std::string& folder, const govern::ReportOptions&) {
  fail(Code::unsupported, "'{}' is a folder, and this build has no server: configure with -DFRAZIL_SERVE=ON", folder);
}

}  // namespace frazil::tool

#endif
