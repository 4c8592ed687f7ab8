#include "tool/common.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <limits>

#include "api/load.h"
#include "base/os/knobs.h"
#include "base/os/log.h"
#include "base/thread/scheduler.h"
#include "exec/native/backend.h"
#include "ir/graph/source_bytes.h"
#include "ir/graph/verify.h"
#include "kernel/simd/isa.h"
#include "kernel/tuning/tuning_file.h"
#include "ops/core/registry.h"
#include "tool/option_table.h"

namespace frazil::tool {

namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

const Knobs& knob_values() {
  static const Knobs values = knobs() ? *knobs() : Knobs{};
  return values;
}

/// Converts milliseconds to a duration; 0 means no limit.
std::optional<std::chrono::steady_clock::duration> time_of(double milliseconds) {
  constexpr double kMax = 1e12;  // about 30 years; fits a duration
  if (milliseconds == 0) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(Milliseconds(std::min(milliseconds, kMax)));
}

std::atomic<bool> g_adaptive = false;  // whether a model was planned on tier auto

Limits limits_of(const Common& common) {
  Limits limits = common.limits;
  limits.time = time_of(common.deadline_ms);
  return limits;
}

}  // namespace

CLI::Validator whole_number() {
  const auto check = [](const std::string& text) -> std::string {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return {};
    return fmt::format("expected a whole number in 0..{}, got '{}'", std::numeric_limits<std::uint64_t>::max(), text);
  };
  return {check, ""};
}

namespace {

/// Returns the default of an option that an environment variable sets: "FRAZIL_MAX_STEPS, or 1000000000".
std::string knob_default(std::string_view name) {
  const auto knob = std::ranges::find(knob_table(), name, &Knob::name);
  return fmt::format("{}, or {}", name, knob->initial);
}

CLI::Option* add_limit(CLI::App& app, const char* name, std::uint64_t& to, const char* unit, const char* what,
                       std::string_view knob) {
  return app.add_option(name, to, what)->type_name(unit)->default_str(knob_default(knob))->check(whole_number());
}

}  // namespace

void add_model(CLI::App& app, std::string& model, const char* name) {
  app.add_option(name, model, "An ONNX file, a package of 'frazil compile', or '-' for standard input")->required();
}

void add_load_limits(CLI::App& app, Loading& loading) {
  LoadLimits& limits = loading.limits;
  limits = knob_values().load;
  app.option_defaults()->group(group::kLimits);
  app.add_option("--load-deadline", loading.deadline_ms,
                 "Maximum milliseconds of loading a model, and again of planning it; 0: none")
      ->type_name("MS")
      ->default_str(knob_default("FRAZIL_LOAD_DEADLINE_MS"))
      ->check(CLI::Validator(
          [](const std::string& text) -> std::string {
            double value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (error == std::errc() && end == text.data() + text.size() && value >= 0) return {};
            return fmt::format("expected milliseconds, at least 0, got '{}'", text);
          },
          ""));
  add_limit(app, "--max-nodes", limits.nodes, "N", "Maximum nodes of a model, including those of inlined functions",
            "FRAZIL_MAX_NODES");
  add_limit(app, "--max-nesting", limits.nesting, "N", "Maximum depth of subgraphs and function calls",
            "FRAZIL_MAX_NESTING");
  add_limit(app, "--max-name-bytes", limits.name_bytes, "BYTES", "Maximum bytes of a name in a model",
            "FRAZIL_MAX_NAME_BYTES");
}

namespace {

void add_execution(CLI::App& app, Common& common) {
  app.option_defaults()->group(group::kExecution);
  app.add_option("--tier", common.tier,
                 "Which code runs: auto (0, then compiled code), ref (the slow reference executor), 0 (the plan), 1 "
                 "(also compiled kernels), 2 (also a compiled plan)")
      ->type_name("auto|ref|0|1|2")
      ->default_str(knob_default("FRAZIL_TIER"));
  app.add_option("--threads", common.threads, "Threads of one run; 0: one per core. Results do not depend on it")
      ->type_name("N")
      ->default_str(knob_default("FRAZIL_THREADS"))
      ->check(whole_number());
  app.add_option("--numerics", common.numerics, "strict: without fast approximations")
      ->type_name("default|strict")
      ->capture_default_str();
}

void add_run_limits(CLI::App& app, Common& common) {
  Limits& limits = common.limits;
  app.option_defaults()->group(group::kLimits);
  add_limit(app, "--memory-limit", limits.memory_bytes, "BYTES",
            "Maximum bytes of a run's values, or of a load's graph and the tensor data that it copies out of the file",
            "FRAZIL_MEMORY_LIMIT")
      ->default_str("FRAZIL_MEMORY_LIMIT, or four fifths of the machine's memory");
  add_limit(app, "--arena-limit", limits.arena_bytes, "BYTES",
            "Maximum bytes kept from one request to the next: arena, growing values, scratch", "FRAZIL_ARENA_LIMIT")
      ->default_str("FRAZIL_ARENA_LIMIT, or none");
  add_limit(app, "--max-elements", limits.tensor_elements, "N", "Maximum elements of a tensor", "FRAZIL_MAX_ELEMENTS");
  add_limit(app, "--max-steps", limits.steps, "N", "Maximum steps of a request", "FRAZIL_MAX_STEPS");
  app.add_option("--deadline", common.deadline_ms,
                 "Maximum milliseconds of a request, and of a load without --load-deadline; 0: none")
      ->each([&common](const std::string&) { common.deadline_given = true; })
      ->type_name("MS")
      ->default_str(knob_default("FRAZIL_DEADLINE_MS"));
  add_load_limits(app, common.load);
}

}  // namespace

void add_seed(CLI::App& app, std::uint64_t& seed) {
  app.add_option("--seed", seed, "Seed of random inputs, and of random operators without a seed of their own")
      ->group(group::kInputs)
      ->type_name("N")
      ->capture_default_str()
      ->check(whole_number());
}

void add_common(CLI::App& app, Common& common, Printing printing) {
  const Knobs& values = knob_values();
  common.tier = values.tier;
  common.threads = values.threads;
  common.limits = values.limits;
  if (values.limits.time) common.deadline_ms = Milliseconds(*values.limits.time).count();
  common.debug = values.debug;
  add_seed(app, common.seed);
  add_execution(app, common);
  add_run_limits(app, common);
  app.option_defaults()->group(group::kOutput);
  if (printing == Printing::json) {
    app.add_flag("--json", common.json, "Write one JSON object, alone on the last line of stdout");
  }
  app.add_option("--debug", common.debug, "What is logged to stderr, from 0 (warnings) to 6 (assembly)")
      ->type_name("N")
      ->default_str(knob_default("FRAZIL_DEBUG"))
      ->check(whole_number());
}

Status prepare(const Common& common) {
  const std::string& tier = common.tier;
  if (tier != "ref" && !exec::tier_named(tier)) {
    return fail(Code::bad_input, "--tier: expected auto, ref, 0, 1 or 2, got '{}'", tier);
  }
  if (common.numerics != "default" && common.numerics != "strict") {
    return fail(Code::bad_input, "--numerics: expected default or strict, got '{}'", common.numerics);
  }
  if (!(common.deadline_ms >= 0)) return fail(Code::bad_input, "--deadline: expected milliseconds, at least 0");
  if (common.threads > kMaxThreads) {
    return fail(Code::bad_input, "--threads: expected at most {}, got {}", kMaxThreads, common.threads);
  }
  if (common.debug < 0 || common.debug > 6) {
    return fail(Code::bad_input, "--debug: expected 0 to 6, got {}", common.debug);
  }
  logging::set_level(common.debug);
  return {};
}

LoadBounds load_bounds_of(const Loading& loading) {
  return {.limits = loading.limits,
          .time = loading.deadline_ms ? time_of(*loading.deadline_ms) : knob_values().load_time,
          .stop = {}};
}

LoadBounds load_bounds_of(const Common& common) {
  Loading loading = common.load;
  loading.limits.memory_bytes = common.limits.memory_bytes;
  loading.limits.tensor_elements = common.limits.tensor_elements;
  if (common.deadline_given && !loading.deadline_ms) loading.deadline_ms = common.deadline_ms;
  return load_bounds_of(loading);
}

Result<std::shared_ptr<Executable>> plan_within(const LoadBounds& bounds, std::shared_ptr<const Graph> graph,
                                                const exec::Options& options) {
  const LoadScope scope(bounds, "planning the model", source_bytes(*graph));
  return Executable::make(std::move(graph), options);
}

Result<std::shared_ptr<Executable>> make_executable(std::shared_ptr<const Graph> graph, const Common& common) {
  const exec::Options options{.reference = common.tier == "ref",
                              .passes = knob_values().passes,
                              .verify = knob_values().verify,
                              .tier = exec::tier_named(common.tier).value_or(exec::Tier::interpreted)};
  FRAZIL_TRY(auto executable, plan_within(load_bounds_of(common), std::move(graph), options));
  if (options.tier == exec::Tier::adaptive) g_adaptive = true;
  if (!options.reference) logging::debug(2, "plan", "plan:\n{}", executable->explain());
  return executable;
}

void warn_of_tier() {
  if (!g_adaptive || !knob_values().jit) return;
  if (const Status there = exec::has_native_module(); !there) exec::warn_of_missing_module(there.error());
}

std::unique_ptr<Session> open_session(Executable& executable, const Common& common) {
  auto session = executable.open();
  session->set_limits(limits_of(common));
  session->set_seed(common.seed);
  session->set_strict(common.numerics == "strict");
  if (common.threads != 1) session->set_scheduler(scheduler(common.threads));
  return session;
}

Status start() {
  FRAZIL_TRY(const Knobs values, knobs());
  if (values.features) kernel::force_features(*values.features);
  FRAZIL_CHECK(kernel::use_tuning(values.tuning));
  link_operators();
  return {};
}

Status take_standard_input(const std::string& path, std::string_view purpose) {
  static std::string taken;
  if (path != "-" && path != "/dev/stdin") return {};
  if (!taken.empty())
    return fail(Code::bad_input, "{} {}: standard input is read already, as {}", purpose, path, taken);
  taken = purpose;
  return {};
}

Result<api::Model> load_model(const std::string& path, const Loading& loading) {
  FRAZIL_CHECK(take_standard_input(path, "the model"));
  const LoadLimits& limits = loading.limits;
  return from_api([&] {
    return api::Model::load(path == "-" ? "/dev/stdin" : path, {.memory_limit = limits.memory_bytes,
                                                                .max_elements = limits.tensor_elements,
                                                                .max_nodes = limits.nodes,
                                                                .max_nesting = limits.nesting,
                                                                .max_name_bytes = limits.name_bytes,
                                                                .deadline_ms = loading.deadline_ms});
  });
}

Result<std::shared_ptr<const Graph>> load_graph(const std::string& path, const LoadBounds& bounds) {
  FRAZIL_CHECK(take_standard_input(path, "the model"));
  const std::string file = path == "-" ? "/dev/stdin" : path;
  FRAZIL_TRY(Graph graph, api::load_file(file, {.limits = bounds.limits, .time = bounds.time, .stop = bounds.stop}));
  logging::debug(1, "load", "loaded '{}': {} nodes, {} inputs, {} outputs", path, graph.node_count(),
                 graph.input_names().size(), graph.output_names().size());
  FRAZIL_CHECK(verify(graph, knobs()->verify));
  return std::make_shared<const Graph>(std::move(graph));
}

}  // namespace frazil::tool
