#include <algorithm>
#include <memory>
#include <optional>

#include "tool/commands.h"
#include "tool/common.h"
#include "tool/measure.h"
#include "tool/option_table.h"
#include "tool/report.h"
#include "tool/requests.h"

namespace frazil::tool {
namespace {

struct BenchOptions {
  Common common;
  RequestOptions requests;
  std::string model;
  std::uint64_t warmup = 3;
  std::optional<std::uint64_t> runs;
  std::optional<double> seconds;
};

constexpr double kDefaultBenchSeconds = 2;
constexpr std::uint64_t kMinBenchRuns = 3;

/// Measured times in seconds.
struct Times {
  double load = 0, first = 0;
  std::vector<double> requests;
  std::vector<double> passes;
};

void measure_requests(Session& session, Requests& requests, const BenchOptions& options, Times& times) {
  Progress progress;
  for (std::uint64_t i = 0; i < options.warmup; ++i) {
    progress.show(fmt::format("warm-up {}/{}", i + 1, options.warmup));
    timed_pass(session, requests, nullptr);
  }
  const std::uint64_t most = options.runs.value_or(~std::uint64_t{0});
  const double end = now() + options.seconds.value_or(kDefaultBenchSeconds);
  while (times.passes.size() < most) {
    if (!options.runs && times.passes.size() >= kMinBenchRuns && now() >= end) break;
    progress.show(fmt::format("run {}", times.passes.size() + 1));
    const double total = timed_pass(session, requests, &times.requests);
    times.passes.push_back(total);
  }
}

Json json_of_times(const Times& times, const Common& common) {
  return {{"load_ms", times.load * 1e3},
          {"first_ms", times.first * 1e3},
          {"median_ms", median(times.requests) * 1e3},
          {"min_ms", *std::ranges::min_element(times.requests) * 1e3},
          {"p99_ms", percentile(times.requests, 0.99) * 1e3},
          {"runs", times.passes.size()},
          {"total_ms", median(times.passes) * 1e3},
          {"peak_mb", peak_megabytes()},
          {"tier", common.tier}};
}

/// Prints the fields of the JSON with their units, and the rate of requests.
void print_times(const Times& times, const BenchOptions& options) {
  const Json json = json_of_times(times, options.common);
  const auto number = [&](const char* name, int digits) {
    return fmt::format("{:.{}f}", json[name].get<double>(), digits);
  };
  double seconds = 0;
  for (const double pass : times.passes) seconds += pass;
  const double rate = static_cast<double>(times.requests.size()) / std::max(seconds, 1e-9);
  const bool streaming = times.requests.size() > times.passes.size();
  const auto row = [](std::string_view what, std::string_view value, std::string_view unit) {
    print_line(fmt::format("{:<14} {:>12} {}", what, value, unit));
  };
  row("load", number("load_ms", 3), "ms");
  row("first request", number("first_ms", 3), "ms, with planning");
  row("median", number("median_ms", 3), "ms");
  row("min", number("min_ms", 3), "ms");
  row("p99", number("p99_ms", 3), "ms");
  if (streaming) row("pass", number("total_ms", 3), "ms, the median of the whole stream");
  row("requests/s", fmt::format("{:.1f}", rate), "");
  row("runs", fmt::format("{}", times.passes.size()), streaming ? "passes" : "");
  row("peak memory", number("peak_mb", 1), "MB");
  row("tier", options.common.tier, "");
}

void check_bench(const BenchOptions& options) {
  prepare(options.common);
  if (options.runs && options.seconds) fail(Code::bad_input, "--runs and --seconds exclude each other");
  if (options.runs && *options.runs == 0) fail(Code::bad_input, "--runs: expected at least 1");
  if (options.seconds && !(*options.seconds >= 0)) fail(Code::bad_input, "--seconds: expected at least 0");
}

int bench(const BenchOptions& options) {
  check_bench(options);
  Times times;
  double begin = now();
  const Model model = load_model(options.model, options.common);
  times.load = now() - begin;
  const ValueSource source(model, options.common.run.seed, options.common.memory_limit());
  Requests requests = Requests::make(source, options.requests);
  requests.preload();
  const auto inputs = requests.next();

  begin = now();
  Session session = open_session(model, options.common);
  {
    const Results outputs = session.run(*inputs);
    times.first = now() - begin;
    requests.done(outputs);
  }
  requests.restart();

  measure_requests(session, requests, options, times);
  if (prints_to_terminal() && !options.common.json) {
    print_times(times, options);
  } else {
    print_json(json_of_times(times, options.common));
  }
  return kDone;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Measure a model's load, first and repeated requests");
  add_model(*command, options->model);
  add_requests(*command, options->requests);
  command->option_defaults()->group(group::kExecution);
  command->add_option("--warmup", options->warmup, "Runs before the measured ones")
      ->type_name("N")
      ->check(whole_number())
      ->capture_default_str();
  command->add_option("--runs", options->runs, "Measured runs; with --stream a run is one pass over it")
      ->type_name("N")
      ->check(whole_number());
  command->add_option("--seconds", options->seconds, "Seconds to measure, and at least 3 runs")
      ->type_name("S")
      ->default_str(fmt::format("{}", kDefaultBenchSeconds));
  add_common(*command, options->common);
  command->footer(
      "Prints a table on a terminal, and one JSON object elsewhere or with --json. load_ms is the time of reading the "
      "file, and first_ms that of the first request, with planning. median_ms, min_ms and p99_ms are times of one "
      "request, and total_ms is that of the median run. A request is one Session::run that allocates its outputs. "
      "peak_mb is the peak resident set in 10^6 bytes.\n"
      "\n"
      "Examples:\n"
      "  frazil bench mnist.onnx --input Input3=1x1x28x28 --runs 100\n"
      "  frazil bench vad.onnx --input sr==16000 --carry stateN=state --stream chunks.jsonl --seconds 5");
  command->callback([options, &action] { action = [options] { return bench(*options); }; });
}

}  // namespace frazil::tool
