#include "tool/served_report.h"

#include "tool/error.h"

#ifdef FRAZIL_SERVE

#include "server/service/served_reports.h"
#include "server/service/service.h"

namespace frazil::tool {

govern::Json report_of_folder(const std::string& folder, const govern::ReportOptions& options) try {
  server::ServiceOptions of_service{.folder = folder};
  of_service.workers = 1;
  const server::Service service(std::move(of_service));
  for (const auto& fault : service.repository()->not_ready()) fail(Code::bad_input, "{}", fault.text());
  server::ServedReports reports(options);
  govern::Json all = {{"models", govern::Json::array()}, {"pipelines", govern::Json::array()}};
  for (const auto& served : service.repository()->all()) {
    govern::Json report = reports.of(*served);
    report["version"] = served->version();
    all[report.contains("paths") ? "pipelines" : "models"].push_back(std::move(report));
  }
  return all;
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
