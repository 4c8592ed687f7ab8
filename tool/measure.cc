#include "tool/measure.h"

#include <algorithm>
#include <cmath>

#include <sys/resource.h>

#include "tool/report.h"

namespace frazil::tool {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double percentile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

Result<double> timed(exec::Session& session, Requests& requests, const std::vector<Datum>& inputs) {
  const double begin = now();
  auto outputs = session.run(inputs);
  const double seconds = now() - begin;
  if (!outputs) return std::unexpected(std::move(outputs).error());
  requests.done(*outputs);
  return seconds;
}

Result<double> timed_pass(exec::Session& session, Requests& requests, std::vector<double>* each) {
  double total = 0;
  for (;;) {
    FRAZIL_TRY(const auto inputs, requests.next());
    if (!inputs) break;
    FRAZIL_TRY(const double seconds, timed(session, requests, *inputs));
    total += seconds;
    if (each != nullptr) each->push_back(seconds);
  }
  requests.restart();
  return total;
}

}  // namespace frazil::tool
