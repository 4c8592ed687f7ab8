#include "tool/measure.h"

#include <algorithm>
#include <cmath>

#include <frazil/native.h>
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

void settle(const std::function<void()>& run) {
  constexpr double kRoundSeconds = 0.02;
  constexpr int kRounds = 3;  // bodies are compiled first; code of plans, which contains them, in a later round
  for (int round = 0; round < kRounds; ++round) {
    const double end = now() + kRoundSeconds;
    do run();
    while (now() < end);
    api::wait_for_compilation();
  }
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

double timed(api::Session& session, Requests& requests, const std::vector<Array>& inputs) {
  const double begin = now();
  const Results outputs = session.run(inputs);
  const double seconds = now() - begin;
  requests.done(outputs);
  return seconds;
}

double timed_pass(api::Session& session, Requests& requests, std::vector<double>* each) {
  double total = 0;
  for (;;) {
    const auto inputs = requests.next();
    if (!inputs) break;
    const double seconds = timed(session, requests, *inputs);
    total += seconds;
    if (each != nullptr) each->push_back(seconds);
  }
  requests.restart();
  return total;
}

}  // namespace frazil::tool
