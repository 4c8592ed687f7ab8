#include "tool/common.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <limits>

#include <frazil/log.h>
#include <frazil/native.h>

#include "tool/option_table.h"

namespace frazil::tool {

namespace {

std::atomic<bool> g_adaptive = false;  // whether the command uses tier auto

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
  static const std::vector<api::EnvironmentVariable> all = api::environment();
  const auto knob = std::ranges::find(all, name, &api::EnvironmentVariable::name);
  return fmt::format("{}, or {}", name, knob->initial);
}

CLI::Option* add_limit(CLI::App& app, const char* name, std::optional<std::uint64_t>& to, const char* unit,
                       const char* what, std::string_view knob) {
  return app.add_option(name, to.value(), what)
      ->type_name(unit)
      ->default_str(knob_default(knob))
      ->check(whole_number());
}

}  // namespace

void add_model(CLI::App& app, std::string& model, const char* name) {
  app.add_option(name, model, "An ONNX file, a package of 'frazil compile', or '-' for standard input")->required();
}

CLI::Option* add_load_limits(CLI::App& app, api::LoadOptions& load) {
  load = api::with_environment(std::move(load));
  app.option_defaults()->group(group::kLimits);
  auto* const deadline = app.add_option("--load-deadline", load.deadline_ms,
                                        "Maximum milliseconds of loading a model, and again of planning it; 0: none")
                             ->type_name("MS")
                             ->default_str(knob_default("FRAZIL_LOAD_DEADLINE_MS"))
                             ->check(CLI::Validator(
                                 [](const std::string& text) -> std::string {
                                   double value = 0;
                                   const auto [end, error] =
                                       std::from_chars(text.data(), text.data() + text.size(), value);
                                   if (error == std::errc() && end == text.data() + text.size() && value >= 0)
                                     return {};
                                   return fmt::format("expected milliseconds, at least 0, got '{}'", text);
                                 },
                                 ""));
  add_limit(app, "--max-nodes", load.max_nodes, "N", "Maximum nodes of a model, including those of inlined functions",
            "FRAZIL_MAX_NODES");
  add_limit(app, "--max-nesting", load.max_nesting, "N", "Maximum depth of subgraphs and function calls",
            "FRAZIL_MAX_NESTING");
  add_limit(app, "--max-name-bytes", load.max_name_bytes, "BYTES", "Maximum bytes of a name in a model",
            "FRAZIL_MAX_NAME_BYTES");
  return deadline;
}

namespace {

void add_execution(CLI::App& app, Common& common) {
  app.option_defaults()->group(group::kExecution);
  app.add_option("--tier", common.tier,
                 "Which code runs: auto (0, then compiled code), ref (the slow reference executor), 0 (the plan), 1 "
                 "(also compiled kernels), 2 (also a compiled plan)")
      ->type_name("auto|ref|0|1|2")
      ->default_str(knob_default("FRAZIL_TIER"));
  app.add_option("--threads", common.run.threads.value(),
                 "Threads of one run; 0: one per core. Results do not depend on it")
      ->type_name("N")
      ->default_str(knob_default("FRAZIL_THREADS"))
      ->check(whole_number());
  app.add_option("--numerics", common.numerics, "strict: without fast approximations")
      ->type_name("default|strict")
      ->capture_default_str();
}

void add_run_limits(CLI::App& app, Common& common) {
  api::Options& run = common.run;
  app.option_defaults()->group(group::kLimits);
  add_limit(app, "--memory-limit", run.memory_limit, "BYTES",
            "Maximum bytes of a run's values, or of a load's graph and the tensor data that it copies out of the file",
            "FRAZIL_MEMORY_LIMIT")
      ->default_str("FRAZIL_MEMORY_LIMIT, or four fifths of the machine's memory");
  add_limit(app, "--arena-limit", run.arena_limit, "BYTES",
            "Maximum bytes kept from one request to the next: arena, growing values, scratch", "FRAZIL_ARENA_LIMIT")
      ->default_str("FRAZIL_ARENA_LIMIT, or none");
  add_limit(app, "--max-elements", run.max_elements, "N", "Maximum elements of a tensor", "FRAZIL_MAX_ELEMENTS");
  add_limit(app, "--max-steps", run.max_steps, "N", "Maximum steps of a request", "FRAZIL_MAX_STEPS");
  app.add_option("--deadline", common.deadline_ms,
                 "Maximum milliseconds of a request, and of a load without --load-deadline; 0: none")
      ->each([&common](const std::string&) { common.deadline_given = true; })
      ->type_name("MS")
      ->default_str(knob_default("FRAZIL_DEADLINE_MS"));
  add_load_limits(app, common.load)->each([&common](const std::string&) { common.load_deadline_given = true; });
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
  add_seed(app, common.run.seed);
  add_execution(app, common);
  add_run_limits(app, common);
  app.option_defaults()->group(group::kOutput);
  if (printing == Printing::json) {
    app.add_flag("--json", common.json, "Write one JSON object, alone on the last line of stdout");
  }
  app.add_option("--debug", common.debug, "What is logged to stderr, from 0 (warnings) to 6 (assembly)")
      ->each([&common](const std::string&) { common.debug_given = true; })
      ->type_name("N")
      ->default_str(knob_default("FRAZIL_DEBUG"))
      ->check(whole_number());
}

void prepare(const Common& common) {
  constexpr std::array kTiers{"auto", "ref", "0", "1", "2"};
  if (std::ranges::find(kTiers, common.tier) == kTiers.end()) {
    fail(Code::bad_input, "--tier: expected auto, ref, 0, 1 or 2, got '{}'", common.tier);
  }
  if (common.numerics != "default" && common.numerics != "strict") {
    fail(Code::bad_input, "--numerics: expected default or strict, got '{}'", common.numerics);
  }
  if (!(common.deadline_ms >= 0)) fail(Code::bad_input, "--deadline: expected milliseconds, at least 0");
  if (common.run.threads.value() > api::Options::kMaxThreads) {
    fail(Code::bad_input, "--threads: expected at most {}, got {}", api::Options::kMaxThreads,
         common.run.threads.value());
  }
  if (common.debug < 0 || common.debug > 6) fail(Code::bad_input, "--debug: expected 0 to 6, got {}", common.debug);
  if (common.debug_given) api::set_log_level(common.debug);
}

Model load_model(const std::string& path, const api::LoadOptions& options) {
  take_standard_input(path, "the model");
  return Model::load(path == "-" ? "/dev/stdin" : path, options);
}

Model load_model(const std::string& path, const Common& common) {
  api::LoadOptions options = common.load;
  options.memory_limit = common.run.memory_limit;
  options.max_elements = common.run.max_elements;
  if (common.deadline_given && !common.load_deadline_given) options.deadline_ms = common.deadline_ms;
  return load_model(path, options);
}

api::Options session_options(const Common& common) {
  if (common.tier == "auto") g_adaptive = true;
  api::Options options = common.run;
  options.tier = common.tier == "auto" ? "adaptive" : common.tier;
  if (common.deadline_ms > 0) {
    options.deadline_ms = common.deadline_ms;
  } else if (options.deadline_ms) {  // of the environment; without one, runs read no clock
    options.deadline_ms = std::numeric_limits<double>::infinity();
  }
  options.strict_numerics = common.numerics == "strict";
  return options;
}

Session open_session(const Model& model, const Common& common) { return model.open(session_options(common)); }

void warn_of_tier() {
  if (g_adaptive) api::warn_without_code_generator();
}

void take_standard_input(const std::string& path, std::string_view purpose) {
  static std::string taken;
  if (path != "-" && path != "/dev/stdin") return;
  if (!taken.empty()) fail(Code::bad_input, "{} {}: standard input is read already, as {}", purpose, path, taken);
  taken = purpose;
}

}  // namespace frazil::tool
