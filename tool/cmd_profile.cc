#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>

#include <frazil/observer.h>
#include <frazil/profile.h>

#include "tool/commands.h"
#include "tool/common.h"
#include "tool/machine.h"
#include "tool/measure.h"
#include "tool/option_table.h"
#include "tool/profile_report.h"
#include "tool/requests.h"

namespace frazil::tool {
namespace {

struct ProfileOptions {
  Common common;
  RequestOptions requests;
  std::string model, trace;
  std::uint64_t warmup = 2;
  std::optional<std::uint64_t> runs;
  std::uint64_t top = 40, trace_events = 250'000;
};

constexpr double kDefaultProfileSeconds = 1;
constexpr std::uint64_t kMinProfileRuns = 5, kMaxRuns = 1000, kMaxTraceEvents = 50'000'000;

class Profiling {
 public:
  Profiling(Session& session, Requests& requests, std::size_t trace_events)
      : session_(session), requests_(requests), profiler_({.trace_events = trace_events}) {}
  ~Profiling() {
    session_.set_observer(nullptr);
    session_.stop_profile();
  }
  Profiling(const Profiling&) = delete;
  Profiling& operator=(const Profiling&) = delete;

  /// Runs passes that are not measured. The first passes create plans, and compiled code replaces other code.
  void warm_up(std::uint64_t passes) {
    settle([this] { run_all(session_, requests_); });
    for (std::uint64_t i = 0; i <= passes; ++i) watched();
    profiler_.reset();
  }

  /// Measures in alternation: normal passes, stepwise passes, and stepwise passes with the recorder.
  void measure(const std::optional<std::uint64_t>& runs) {
    Progress progress;
    const double end = now() + kDefaultProfileSeconds;
    const std::uint64_t most = runs.value_or(kMaxRuns);
    while (on_.size() < most) {
      if (!runs && on_.size() >= kMinProfileRuns && now() >= end) break;
      progress.show(fmt::format("run {}", on_.size() + 1));
      const bool first = on_.size() % 2 == 0;
      if (first) time_without();
      const double seconds = watched();
      on_.push_back(seconds);
      if (!first) time_without();
    }
  }

  Profile result() const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < on_.size(); ++i) ratios.push_back(on_[i] / off_[i]);
    Profile profile =
        summarise(profiler_, {median(alone_) * 1e3, median(off_) * 1e3, median(on_) * 1e3, median(std::move(ratios))});
    profile.counters = counters_.read();
    for (auto& reading : profile.counters) reading.value /= static_cast<double>(alone_.size());
    profile.counters_missing = counters_.missing();
    return profile;
  }
  const api::Profiler& profiler() const { return profiler_; }

 private:
  double watched() {
    session_.start_profile(profiler_);
    const double seconds = run_all(session_, requests_);
    session_.stop_profile();
    profiler_.end_pass();
    return seconds;
  }
  void time_without() {
    counters_.start();
    const double alone = run_all(session_, requests_);
    counters_.stop();
    alone_.push_back(alone);
    session_.set_observer(&idle_observer_);
    off_.push_back(run_all(session_, requests_));
    session_.set_observer(nullptr);
  }

  Session& session_;
  Requests& requests_;
  api::Profiler profiler_;
  api::Observer idle_observer_;  ///< any observer makes a session run step by step
  PerfCounters counters_;
  std::vector<double> alone_, off_, on_;
};

void check_profile(const ProfileOptions& options) {
  prepare(options.common);
  if (options.common.tier == "ref") {
    fail(Code::unsupported, "--tier ref: the reference executor reports no steps; use auto or 0");
  }
  if (options.runs && *options.runs == 0) fail(Code::bad_input, "--runs: expected at least 1");
  if (options.trace_events > kMaxTraceEvents) {
    fail(Code::bad_input, "--trace-events: expected at most {}, got {}", kMaxTraceEvents, options.trace_events);
  }
}

/// Opens the file before anything runs, so that an invalid path is reported immediately.
std::ofstream open_trace(const std::string& path) {
  std::ofstream file;
  if (path.empty()) return file;
  file.open(path, std::ios::binary | std::ios::trunc);
  if (!file) fail(Code::bad_input, "--trace {}: {}", path, std::strerror(errno));
  return file;
}

void save_trace(std::ofstream& file, const ProfileOptions& options, const api::Profiler& profiler, Json& json) {
  if (options.trace.empty()) return;
  profiler.write_trace(file, options.model);
  file.close();
  if (!file) fail(Code::bad_input, "--trace {}: cannot be written", options.trace);
  const auto [kept, dropped] = profiler.events();
  json["trace"] = {{"file", options.trace}, {"events", kept}, {"dropped", dropped}};
  const std::string more = dropped == 0 ? "" : fmt::format("; {} more were dropped, see --trace-events", dropped);
  fmt::print(stderr, "trace: {} events in {}{}\n", kept, one_line(options.trace), more);
}

int profile(const ProfileOptions& options) {
  check_profile(options);
  std::ofstream trace = open_trace(options.trace);
  const Model model = load_model(options.model, options.common);
  const ValueSource source(model, options.common.run.seed, options.common.memory_limit());
  Requests requests = Requests::make(source, options.requests);
  requests.preload();
  Session session = open_session(model, options.common);
  Profiling profiling(session, requests, options.trace.empty() ? 0 : options.trace_events);
  profiling.warm_up(options.warmup);
  profiling.measure(options.runs);
  const Profile result = profiling.result();
  Json json = json_of(result);
  json["tier"] = options.common.tier;
  save_trace(trace, options, profiling.profiler(), json);
  if (options.common.json) {
    print_json(json);
  } else {
    print_profile(result, options.top);
  }
  return kDone;
}

}  // namespace

void add_profile(CLI::App& app, Action& action) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* command = app.add_subcommand("profile", "Show where a model's time goes, by node, group and branch");
  add_model(*command, options->model);
  add_requests(*command, options->requests);
  command->option_defaults()->group(group::kExecution);
  command->add_option("--warmup", options->warmup, "Runs before the recorded ones")
      ->type_name("N")
      ->check(whole_number())
      ->capture_default_str();
  command->add_option("--runs", options->runs, "Recorded runs; with --stream a run is one pass over it")
      ->type_name("N")
      ->check(whole_number());
  command->option_defaults()->group(group::kOutput);
  command->add_option("--top", options->top, "Rows of the table by node")
      ->type_name("N")
      ->check(whole_number())
      ->capture_default_str();
  command->add_option("--trace", options->trace, "Write a trace that ui.perfetto.dev and chrome://tracing show")
      ->type_name("FILE");
  command->add_option("--trace-events", options->trace_events, "Events that the trace keeps; the first ones")
      ->type_name("N")
      ->check(whole_number())
      ->capture_default_str();
  add_common(*command, options->common);
  command->footer(
      "Profiled runs execute step by step on one thread, without the code that is compiled for whole plans. Runs with "
      "profiling, runs without it and runs as in 'frazil run' alternate for a second unless --runs is given. FLOPs and "
      "bytes come from the operators' definitions; see docs/reference/profiling.md.\n"
      "\n"
      "Examples:\n"
      "  frazil profile mnist.onnx --input Input3=1x1x28x28\n"
      "  frazil profile vad.onnx --input sr==16000 --carry stateN=state --stream chunks.jsonl --trace vad.json");
  command->callback([options, &action] { action = [options] { return profile(*options); }; });
}

}  // namespace frazil::tool
