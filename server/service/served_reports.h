#pragma once

#include <string>
#include <vector>

#include "govern/report/pipeline_report.h"
#include "govern/report/report.h"
#include "server/model/served.h"

namespace frazil::server {

/// The reports of served models and pipelines over all of their paths. Each is made once.
class ServedReports {
 public:
  explicit ServedReports(govern::ReportOptions options) : options_(std::move(options)) {}

  /// Makes the report of a version and of those that it runs. Its `name` is that under which it is served.
  const govern::Json& of(const Served& served);
  /// Returns all reports, those of called models first.
  const std::vector<govern::CalledReport>& all() const { return reports_; }

 private:
  const govern::Json* find(const Served& served) const;

  govern::ReportOptions options_;
  std::vector<govern::CalledReport> reports_;
};

}  // namespace frazil::server
