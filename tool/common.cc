#include "tool/common.h"

#include <charconv>
#include <chrono>
#include <limits>

#include "api/load.h"
#include "base/os/knobs.h"
#include "base/os/log.h"
#include "base/thread/scheduler.h"
#include "ir/graph/source_bytes.h"
#include "ir/graph/verify.h"
#include "kernel/simd/isa.h"
#include "kernel/tuning/tuning_file.h"
#include "ops/core/registry.h"

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

void add_load_limits(CLI::App& app, Loading& loading) {
  LoadLimits& limits = loading.limits;
  limits = knob_values().load;
  app.add_option("--max-nodes", limits.nodes,
                 "Maximum number of nodes of a model, including those of inlined functions")
      ->type_name("N")
      ->check(whole_number());
  app.add_option("--max-nesting", limits.nesting, "Maximum nesting depth of subgraphs and function calls")
      ->type_name("N")
      ->check(whole_number());
  app.add_option("--max-name-bytes", limits.name_bytes, "Maximum length of a name in a model, in bytes")
      ->type_name("BYTES")
      ->check(whole_number());
  app.add_option("--load-deadline", loading.deadline_ms,
                 "Maximum duration of loading a model, and again of planning it, in milliseconds, 0: none")
      ->type_name("MS")
      ->check(CLI::Validator(
          [](const std::string& text) -> std::string {
            double value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (error == std::errc() && end == text.data() + text.size() && value >= 0) return {};
            return fmt::format("expected milliseconds, at least 0, got '{}'", text);
          },
          ""));
}

void add_common(CLI::App& app, Common& common) {
  const Knobs& values = knob_values();
  common.tier = values.tier;
  common.threads = values.threads;
  common.limits = values.limits;
  if (values.limits.time) common.deadline_ms = Milliseconds(*values.limits.time).count();
  common.debug = values.debug;
  app.add_option("--tier", common.tier,
                 "Which code runs: auto, ref (the slow reference executor), 0 (the plan), 1 or 2 (compiled)")
      ->type_name("TIER");
  app.add_option("--threads", common.threads, "Threads of one run, 0: one per core. Results do not depend on it")
      ->type_name("N")
      ->check(whole_number());
  app.add_option(
         "--memory-limit", common.limits.memory_bytes,
         "Maximum bytes of a run's values, or of a load's graph and the tensor data that it copies out of the file")
      ->type_name("BYTES")
      ->check(whole_number());
  app.add_option("--arena-limit", common.limits.arena_bytes,
                 "Maximum bytes kept from one request to the next: arena, growing values, scratch")
      ->type_name("BYTES")
      ->check(whole_number());
  app.add_option("--max-elements", common.limits.tensor_elements, "Maximum number of elements of a tensor")
      ->type_name("N")
      ->check(whole_number());
  app.add_option("--max-steps", common.limits.steps, "Maximum number of steps of a request")
      ->type_name("N")
      ->check(whole_number());
  app.add_option("--deadline", common.deadline_ms,
                 "Maximum duration of a request in milliseconds, 0: none; of a load too, without --load-deadline")
      ->each([&common](const std::string&) { common.deadline_given = true; })
      ->type_name("MS");
  add_load_limits(app, common.load);
  app.add_option("--seed", common.seed, "Seed of random inputs, and of random operators without a seed of their own")
      ->type_name("N")
      ->check(whole_number());
  app.add_option("--numerics", common.numerics, "default, or strict: no fast approximations")->type_name("MODE");
  app.add_flag("--json", common.json, "Write one JSON object, alone on the last line of stdout");
  app.add_option("--debug", common.debug, "What is logged to stderr, 0 to 6")->type_name("N")->check(whole_number());
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
  if (!options.reference) logging::debug(2, "plan", "plan:\n{}", executable->explain());
  return executable;
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

Result<api::Model> load_model(const std::string& path, const Loading& loading) {
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
  const std::string file = path == "-" ? "/dev/stdin" : path;
  FRAZIL_TRY(Graph graph, api::load_file(file, {.limits = bounds.limits, .time = bounds.time, .stop = bounds.stop}));
  logging::debug(1, "load", "loaded '{}': {} nodes, {} inputs, {} outputs", path, graph.node_count(),
                 graph.input_names().size(), graph.output_names().size());
  FRAZIL_CHECK(verify(graph, knobs()->verify));
  return std::make_shared<const Graph>(std::move(graph));
}

}  // namespace frazil::tool
