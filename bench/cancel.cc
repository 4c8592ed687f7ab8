#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string_view>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/limits/deferred_free.h"
#include "bench/cancel_cases.h"
#include "exec/run/session.h"
#include "ir/text/text.h"
#include "ops/core/registry.h"

// Measures how long a run continues after cancel(): models of one long kernel each, cancelled from another thread at
// random times.
//   cancel [--samples N] [--json FILE] [NAME...]      NAME: a part of a model's name
namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
using frazil::Elem;
using frazil::Tensor;

constexpr double kTargetMs = 5;
constexpr double kMaxDurationMs = 1500;  ///< longer runs are cancelled within this time

template <class T>
T take(frazil::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return std::move(*result);
}

double ms(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

template <class T>
void fill_numbers(Tensor& tensor, std::mt19937& random, double below) {
  for (T& v : tensor.as_mutable<T>()) {
    const double number = static_cast<double>(random()) / 4294967296.0;
    v = static_cast<T>(std::is_floating_point_v<T> ? 2 * number - 1 : std::max(1.0, number * below));
    if constexpr (std::is_integral_v<T>) v = std::min<T>(v, static_cast<T>(std::max(1.0, below - 1)));
  }
}

Tensor filled(Elem elem, frazil::Sizes sizes, double below) {
  std::mt19937 random(7);
  Tensor tensor = take(Tensor::make(elem, std::move(sizes)));
  switch (elem) {
    case Elem::f32: fill_numbers<float>(tensor, random, below); break;
    case Elem::f64: fill_numbers<double>(tensor, random, below); break;
    case Elem::i64: fill_numbers<std::int64_t>(tensor, random, below); break;
    case Elem::i32: fill_numbers<std::int32_t>(tensor, random, 100); break;
    case Elem::u8: fill_numbers<std::uint8_t>(tensor, random, 100); break;
    case Elem::boolean:
      for (bool& v : tensor.as_mutable<bool>()) v = random() % 2 != 0;
      break;
    case Elem::string:
      for (std::string& v : tensor.as_mutable<std::string>()) v = "text number " + std::to_string(random() % 100'000);
      break;
    default: throw std::runtime_error("no numbers for " + tensor.type_str());
  }
  return tensor;
}

std::vector<frazil::Datum> inputs_of(const frazil::Graph& graph, const CancelCase& c) {
  std::vector<frazil::Datum> inputs;
  for (const frazil::Value v : graph.main().params) {
    const frazil::Type& type = graph.type(v);
    frazil::Sizes sizes;
    for (const frazil::Dim d : type.shape) sizes.push_back(d.value());
    const bool scalar = sizes.empty() && type.elem == Elem::i64;
    inputs.push_back(scalar ? Tensor::scalar(static_cast<std::int64_t>(c.largest_index))
                            : filled(type.elem, std::move(sizes), c.largest_index));
  }
  return inputs;
}

struct Latencies {
  double run_ms = 0;       ///< duration of an uncancelled run, or until it was stopped
  std::vector<double> ms;  ///< sorted
  double median() const { return ms.empty() ? 0 : ms[ms.size() / 2]; }
  double most() const { return ms.empty() ? 0 : ms.back(); }
};

/// One run, cancelled after `wait_ms`; starts when the previous run's memory has been freed. Returns the time from
/// cancel() to its end; negative when it had ended before.
double cancelled_run(frazil::exec::Session& session, const std::vector<frazil::Datum>& inputs, double wait_ms,
                     double* took) {
  std::atomic<bool> started{false};
  frazil::Status status;
  Clock::time_point begin, end;
  frazil::wait_until_freed();
  std::thread runner([&] {
    std::vector<frazil::Datum> outputs;
    begin = Clock::now();
    started = true;
    status = session.run(inputs, outputs);
    end = Clock::now();
  });
  while (!started) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(wait_ms));
  const auto asked = Clock::now();
  session.cancel();
  runner.join();
  if (took != nullptr) *took = ms(end - begin);
  if (status) return -1;
  if (status.error().code != frazil::Code::cancelled) throw std::runtime_error(status.error().text());
  return ms(end - asked);
}

Latencies measure(const CancelCase& c, int samples) {
  const auto graph = std::make_shared<const frazil::Graph>(take(frazil::parse(c.text)));
  const auto executable = take(frazil::exec::Executable::make(graph, {.reference = c.reference}));
  const auto session = executable->open();
  const auto inputs = inputs_of(*graph, c);
  std::mt19937 random(11);
  Latencies result;
  cancelled_run(*session, inputs, kMaxDurationMs, &result.run_ms);  // touches the memory for the first time
  cancelled_run(*session, inputs, kMaxDurationMs, &result.run_ms);
  const double longest = std::min(result.run_ms, kMaxDurationMs);
  for (int k = 0; k < samples; ++k) {
    const double wait = longest * static_cast<double>(random()) / 4294967296.0;
    if (const double latency = cancelled_run(*session, inputs, wait, nullptr); latency >= 0)
      result.ms.push_back(latency);
  }
  std::ranges::sort(result.ms);
  return result;
}

nlohmann::json row(const CancelCase& c, const Latencies& l) {
  std::printf("%-28s %9.1f %8zu %10.3f %10.3f%s\n", c.name, l.run_ms, l.ms.size(), l.median(), l.most(),
              l.most() > kTargetMs ? "  above the target" : "");
  std::fflush(stdout);
  return {{"name", c.name},
          {"run_ms", l.run_ms},
          {"samples", l.ms.size()},
          {"median_ms", l.median()},
          {"max_ms", l.most()}};
}

struct Arguments {
  int samples = 20;
  std::string json;
  std::vector<std::string_view> names;
  bool wants(std::string_view name) const {
    return names.empty() || std::ranges::any_of(names, [&](auto part) { return name.contains(part); });
  }
};

Arguments parse_arguments(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--samples" && i + 1 < argc) {
      a.samples = std::stoi(argv[++i]);
    } else if (word == "--json" && i + 1 < argc) {
      a.json = argv[++i];
    } else {
      a.names.push_back(word);
    }
  }
  return a;
}

void run(const Arguments& arguments) {
  frazil::link_operators();
  std::printf("%-28s %9s %8s %10s %10s\n", "model", "run ms", "samples", "median ms", "max ms");
  nlohmann::json rows = nlohmann::json::array();
  for (const CancelCase& c : kCancelCases) {
    if (!arguments.wants(c.name)) continue;
    try {
      rows.push_back(row(c, measure(c, arguments.samples)));
    } catch (const std::exception& error) {
      throw std::runtime_error(std::string(c.name) + ": " + error.what());
    }
  }
  if (!arguments.json.empty()) std::ofstream(arguments.json) << rows.dump(2) << "\n";
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) try {
  bench::run(bench::parse_arguments(argc, argv));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "cancel: %s\n", error.what());
  return 2;
}
