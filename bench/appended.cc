#include <cstdio>

#include "bench/overhead_sections.h"
#include "ir/text/text.h"
#include "ops/core/registry.h"

namespace bench {
namespace {

using frazil::Datum;
using frazil::Tensor;

constexpr int kSteps = 2000, kPart = 200;

/// A cache of 8 heads of 64 numbers that grows by one position per step.
constexpr const char* kRequest = R"(graph g(%past: f32[1,8,T,64], %new: f32[1,8,1,64]) {
  %present = Concat(%past, %new) {axis = 2}
  return present = %present
})";
constexpr const char* kLoop = R"(graph g(%n: i64[], %past: f32[1,8,T,64], %new: f32[1,8,1,64]) {
  %present = Loop(%n, _, %past) body(%i, %on, %v) {
    %next = Concat(%v, %new) {axis = 2}
    yield %on, %next
  }
  %s = Shape(%present)
  return s = %s
})";

std::shared_ptr<frazil::exec::Executable> planned(const char* text, frazil::PassSet passes) {
  frazil::link_operators();
  auto graph = std::make_shared<const frazil::Graph>(take(frazil::parse(text)));
  return take(frazil::exec::Executable::make(std::move(graph), {.passes = passes}));
}

Tensor ones(frazil::Sizes sizes) {
  Tensor t = take(Tensor::make(frazil::Elem::f32, std::move(sizes)));
  std::ranges::fill(t.as_mutable<float>(), 1.0f);
  return t;
}

/// Microseconds per step at the beginning and at the end of kSteps.
struct Steps {
  std::vector<double> first, last;
};

void time_requests(const std::shared_ptr<frazil::exec::Executable>& executable, Steps& steps) {
  const HostTensor item = to_host(ones({1, 8, 1, 64})), none = to_host(ones({1, 8, 0, 64}));
  FrazilRunner runner(executable, Requests{{{{"new", item}}}, {{"past", none}}, {{"present", "past"}}});
  auto begin = detail::Clock::now();
  for (int i = 0; i < kSteps; ++i) {
    if (i == kSteps - kPart) begin = detail::Clock::now();
    runner.step(static_cast<std::size_t>(i));
    if (i == kPart - 1) steps.first.push_back(detail::since_ms(begin) * 1e3 / kPart);
  }
  steps.last.push_back(detail::since_ms(begin) * 1e3 / kPart);
}

void time_loop(const std::shared_ptr<frazil::exec::Executable>& executable, Steps& steps) {
  frazil::exec::Session session(executable);
  const Tensor item = ones({1, 8, 1, 64});
  std::vector<Datum> outputs;
  const auto run_us = [&](std::int64_t n) {
    const auto begin = detail::Clock::now();
    run_frazil(session, {Tensor::scalar(n), ones({1, 8, 0, 64}), item}, outputs);
    return detail::since_ms(begin) * 1e3;
  };
  run_us(kSteps);
  const double none = run_us(0), first = run_us(kPart), most = run_us(kSteps - kPart), all = run_us(kSteps);
  steps.first.push_back((first - none) / kPart);
  steps.last.push_back((all - most) / kPart);
}

nlohmann::json row(const char* name, const char* text, auto time, int rounds) {
  const auto appended = planned(text, {}), copied = planned(text, frazil::PassSet::without(frazil::Pass::append));
  Steps in_place, copies;
  for (int round = -1; round < rounds; ++round) {
    if (round == 0) in_place = copies = {};
    time(appended, in_place);
    time(copied, copies);
  }
  const auto median = [](const std::vector<double>& values) { return detail::quantile(values, 0.5); };
  const double first = median(in_place.first), last = median(in_place.last);
  const double first_copy = median(copies.first), last_copy = median(copies.last);
  std::printf("append   %-12s us per step, first and last %d of %d: in place %.3f %.3f; copied %.3f %.3f\n", name,
              kPart, kSteps, first, last, first_copy, last_copy);
  std::fflush(stdout);
  return {{"name", name},
          {"steps", kSteps},
          {"us_first", first},
          {"us_last", last},
          {"us_first_copied", first_copy},
          {"us_last_copied", last_copy}};
}

}  // namespace

nlohmann::json appended_values(int rounds) {
  rounds = std::min(rounds, 11);
  return {row("requests", kRequest, time_requests, rounds), row("loop", kLoop, time_loop, rounds)};
}

}  // namespace bench
