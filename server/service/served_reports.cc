#include "server/service/served_reports.h"

#include <algorithm>

#include "server/model/served_model.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/route_of.h"

namespace frazil::server {

const govern::Json* ServedReports::find(const Served& served) const {
  const auto found = std::ranges::find_if(reports_, [&](const govern::CalledReport& one) {
    return one.model == served.name() && one.version == served.version();
  });
  return found == reports_.end() ? nullptr : &found->report;
}

const govern::Json& ServedReports::of(const Served& served) {
  if (const govern::Json* known = find(served)) return *known;
  govern::Json report;
  if (const auto* pipeline = dynamic_cast<const Pipeline*>(&served)) {
    for (const Pipeline::Use& use : pipeline->uses()) (void)of(*use.target);
    report = govern::report_of(route_of(*pipeline), reports_);
  } else {
    report = govern::report_of(dynamic_cast<const ServedModel&>(served).model(), options_);
    report["name"] = served.name();
  }
  reports_.push_back({served.name(), served.version(), std::move(report)});
  return reports_.back().report;
}

}  // namespace frazil::server
