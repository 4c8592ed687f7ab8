// Random pipelines and requests: what is recorded lies within the report over all paths.
#include "server/pipeline/random_routes.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include <gmock/gmock.h>

#include "govern/report/observed.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/route_of.h"
#include "server/request/path_record.h"
#include "server/service/served_reports.h"

namespace frazil::test {
namespace {

using govern::Json;
using govern::RouteNode;
using server::PathRecord;

/// The number of pipelines and of requests for each: 20x100, or that of FRAZIL_TEST_PATHS (1000x1000).
std::pair<std::size_t, std::size_t> amounts() {
  std::pair<std::size_t, std::size_t> counts{20, 100};
  const char* const text = std::getenv("FRAZIL_TEST_PATHS");
  if (text == nullptr) return counts;
  const char* const end = text + std::strlen(text);
  const auto first = std::from_chars(text, end, counts.first);
  std::from_chars(first.ptr + 1, end, counts.second);
  return counts;
}

// ---- rules of the report, left out ----

void drop(std::vector<RouteNode>& nodes, const std::function<void(std::vector<RouteNode>&)>& change) {
  change(nodes);
  for (RouteNode& node : nodes) {
    for (RouteNode::Branch& branch : node.branches) drop(branch.nodes, change);
  }
}
void drop_shadows(std::vector<RouteNode>& nodes) {
  drop(nodes, [](auto& list) { std::erase_if(list, [](const RouteNode& node) { return node.kind == "shadow"; }); });
}
void drop_arms_of_share_zero(std::vector<RouteNode>& nodes) {
  drop(nodes, [](auto& list) {
    for (RouteNode& node : list) std::erase_if(node.branches, [](const auto& arm) { return arm.rule == "share 0"; });
  });
}
void drop_conditions(std::vector<RouteNode>& nodes) {
  drop(nodes, [](auto& list) {
    for (RouteNode& node : list) {
      node.decision = {};
      for (RouteNode::Branch& branch : node.branches) branch.when = {};
    }
  });
}

/// A report, whole or without a rule, and the number of requests that are not within it.
struct Judged {
  const char* what;
  void (*leave_out)(std::vector<RouteNode>&);
  std::size_t violations = 0;
  std::string first = {};  ///< the first violation
};

/// An answered request.
struct Ran {
  std::vector<PathRecord::Step> steps;
  bool ok = false;
  std::map<std::string, std::string> outputs;  ///< bytes by name

  bool is_complete() const { return std::ranges::find(steps, "left out", &PathRecord::Step::kind) == steps.end(); }
  std::vector<std::string> taken_by(const std::string& node) const {
    std::vector<std::string> taken;
    for (const auto& step : steps) {
      if (step.node == node) taken.push_back(step.taken);
    }
    return taken;
  }
  bool has_run(const std::string& model) const {
    return std::ranges::any_of(
        steps, [&](const auto& step) { return step.kind == "run" && step.model + "/" + step.version == model; });
  }
};

class RandomRoutes : public testing::Test {
 protected:
  /// Serves `count` random pipelines "p0" ... of which every fourth runs no other one.
  void serve(std::uint64_t seed, std::size_t count) {
    folder_.emplace();
    add_random_route_models(*folder_);
    std::string leaf;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = "p" + std::to_string(i);
      const bool nests = i % 4 != 0;
      folder_->write(name + ".yaml", random_pipeline(seed + i, nests ? std::vector{leaf} : std::vector<std::string>()));
      if (!nests) leaf = name;
    }
    server::ServiceOptions options = options_of(*folder_);
    options.workers = 3;
    service_.emplace(options);
    reports_.emplace(govern::ReportOptions{.extents = {{"N", {1, 1}}}});
  }

  /// Returns the report of a pipeline, made without one rule.
  Json report_without(const std::string& name, void (*leave_out)(std::vector<RouteNode>&)) {
    const auto served = service_->models().find(name, "");
    const auto& pipeline = dynamic_cast<const server::Pipeline&>(*served);
    for (const auto& use : pipeline.uses()) (void)reports_->of(*use.target);
    govern::Route route = server::route_of(pipeline);
    if (leave_out != nullptr) leave_out(route.nodes);
    return govern::report_of(route, reports_->all());
  }

  Ran run(Asking request) {
    const auto path = std::make_shared<PathRecord>(server::Clock::now());
    request.path = path;
    const server::Outcome outcome = ask(*service_, std::move(request)).get();
    Ran ran{.steps = path->steps(), .ok = outcome.has_value(), .outputs = {}};
    if (!outcome) return ran;
    for (const auto& [name, value] : outcome->outputs) {
      ran.outputs[name].assign(static_cast<const char*>(value.data()), value.bytes());
    }
    return ran;
  }

  /// Forces a branch of a random split of the pipeline now and then, as a replay does.
  static void force_choice(std::mt19937_64& random, const Json& report, Asking& request) {
    std::vector<Json> splits;
    for (const Json& step : report.at("steps")) {
      if (step.at("kind") == "split") splits.push_back(step);
    }
    if (splits.empty() || random() % 8 != 0) return;
    const Json& split = splits[random() % splits.size()];
    const Json& arms = split.at("taken");
    request.choices[split.at("node")] = arms[random() % arms.size()];
  }

  /// Returns an upper bound of the operations of the recorded runs.
  std::optional<double> operations_of(const Ran& ran) const {
    double sum = 0;
    for (const auto& step : ran.steps) {
      if (step.kind != "run") continue;
      const Json* const report = govern::find_report(reports_->all(), step.model, step.version);
      if (report == nullptr || report->at("worst_operations").is_null()) return std::nullopt;
      sum += report->at("worst_operations").get<double>();
    }
    return sum;
  }

  std::string path_violation(const govern::PathCheck& check, const Ran& ran) const {
    std::vector<govern::ObservedStep> steps;
    for (const auto& step : ran.steps) steps.push_back({step.node, step.kind, step.model, step.version, step.taken});
    auto lines = check.outside(steps);
    for (const std::string& line : check.beyond({.operations = operations_of(ran)})) lines.push_back(line);
    return lines.empty() ? "" : lines.front();
  }

  static bool may_influence(const Json& sources, const std::string& source) {
    return std::ranges::any_of(sources, [&](const Json& one) { return one == source || one == "chance"; });
  }

  static std::string text_of(const Ran& ran) {
    std::string text;
    for (const auto& step : ran.steps) text += " " + step.node + ":" + step.kind + ":" + step.model + step.taken;
    return text;
  }

  /// Returns what a change of `source` changed although the report does not list it.
  static std::string influence_violation(const Json& report, const Ran& before, const Ran& after,
                                         const std::string& source) {
    for (const auto& [key, sources] : report.at("influence").items()) {
      if (may_influence(sources, source)) continue;
      bool same = true;
      if (key.starts_with("node '")) {
        const std::string node = key.substr(6, key.size() - 7);
        same = before.taken_by(node) == after.taken_by(node);
      } else if (key.starts_with("output '")) {
        const std::string output = key.substr(8, key.size() - 9);
        same = before.outputs.at(output) == after.outputs.at(output);
      } else if (key.starts_with("model:")) {
        same = before.has_run(key.substr(6)) == after.has_run(key.substr(6));
      }
      if (!same) return source + " changed " + key + "; before: " + text_of(before) + "; after: " + text_of(after);
    }
    return "";
  }

  void compare(const std::string& name, std::uint64_t seed, std::size_t requests, std::vector<Judged>& judged) {
    std::vector<Json> reports;
    std::vector<govern::PathCheck> checks;
    for (const Judged& one : judged) {
      reports.push_back(report_without(name, one.leave_out));
      checks.emplace_back(reports.back(), name, "1");
    }
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < requests; ++i) {
      Asking request = random_request(random, name);
      force_choice(random, reports.front(), request);
      const Ran before = run(request);
      const std::string& source = kRandomSources[random() % kRandomSources.size()];
      change_source(random, request, source);
      const Ran after = run(request);
      answered_ += before.ok && after.ok ? 1 : 0;
      for (std::size_t k = 0; k < judged.size(); ++k) {
        std::string why = path_violation(checks[k], before);
        const bool comparable = before.ok && after.ok && before.is_complete() && after.is_complete();
        if (why.empty() && comparable) why = influence_violation(reports[k], before, after, source);
        if (why.empty()) continue;
        if (judged[k].violations++ == 0) judged[k].first = name + " of seed " + std::to_string(seed) + ": " + why;
      }
    }
  }

  std::optional<Folder> folder_;
  std::optional<server::Service> service_;
  std::optional<server::ServedReports> reports_;
  std::size_t answered_ = 0;  ///< pairs of requests that both succeeded
};

TEST_F(RandomRoutes, LieWithinTheirReportAndOnlyListedSourcesSteerThem) {
  const auto [pipelines, requests] = amounts();
  std::vector<Judged> judged = {{"the whole report", nullptr},
                                {"without shadows", drop_shadows},
                                {"without arms of share 0", drop_arms_of_share_zero},
                                {"without implicit flow", drop_conditions}};
  constexpr std::size_t kAtOnce = 20;
  for (std::size_t first = 0; first < pipelines; first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, pipelines - first);
    service_.reset();
    serve(first, count);
    for (std::size_t i = 0; i < count; ++i) compare("p" + std::to_string(i), first + i, requests, judged);
  }
  EXPECT_EQ(judged[0].violations, 0U) << judged[0].first;
  for (std::size_t k = 1; k < judged.size(); ++k) {
    EXPECT_GT(judged[k].violations, 0U) << judged[k].what << ": this test would not see it";
  }
  EXPECT_GT(answered_, pipelines * requests / 3) << "too many requests fail to say something";
}

}  // namespace
}  // namespace frazil::test
