#include "exec/run/executable.h"

#include <algorithm>

#include "base/limits/load_scope.h"
#include "base/limits/no_memory.h"
#include "exec/native/backend.h"
#include "exec/package/package.h"
#include "exec/run/session.h"
#include "ir/edit/rebuild.h"
#include "ir/graph/source_bytes.h"
#include "plan/lower/make_plan.h"

namespace frazil::exec {

namespace {

DevicePlacement placement_on(const Devices& devices) {
  if (devices.empty()) return nullptr;
  return [&devices](const Plan& plan, const Step& step) {
    const auto can_run = [&](const auto& device) {
      return compile_on(*device, plan, *step.as<step::Launch>()) != nullptr;
    };
    const auto at = std::ranges::find_if(devices, can_run);
    return at == devices.end() ? kHost : static_cast<DeviceId>(at - devices.begin() + 1);
  };
}

}  // namespace

Executable::Executable(std::shared_ptr<const Graph> graph, const Options& options,
                       std::shared_ptr<code::WeightRefs> packed)
    : graph_(std::move(graph)),
      options_(options),
      machine_code_(options.reference ? Tier::interpreted : options.tier),
      packed_(std::move(packed)) {}

Result<std::shared_ptr<Executable>> Executable::make(std::shared_ptr<const Graph> graph, const Options& options) try {
  const auto choices = packaged_choices(*graph);
  FRAZIL_TRY(auto made, planned(std::move(graph), options, std::make_shared<code::WeightRefs>(), choices.has_value()));
  if (options.reference) return made;
  // If the graph was edited after packaging, some choices may be impossible. A run that needs one reports the error.
  for (const Choices& c : choices.value_or(std::vector<Choices>())) (void)made->specialisation(c);
  return made;
} catch (const std::bad_alloc&) {
  return no_memory_left();
}

/// Plans a graph. `packaged`: the graph has already been through the passes.
Result<std::shared_ptr<Executable>> Executable::planned(std::shared_ptr<const Graph> graph, const Options& options,
                                                        std::shared_ptr<code::WeightRefs> packed, bool packaged) {
  std::shared_ptr<Executable> exe(new Executable(std::move(graph), options, std::move(packed)));
  if (options.reference) {
    exe->plan_.graph = exe->graph_;
    return exe;
  }
  const bool needs_module = options.tier == Tier::compiled || options.tier == Tier::specialised;
  if (needs_module) FRAZIL_CHECK(native_module());
  PassSet passes = options.passes;
  if (packaged) passes.off |= passes_of_package(*exe->graph_).off;
  const PlanOptions how{.passes = passes, .verify = options.verify, .placement = placement_on(options.devices)};
  FRAZIL_TRY(exe->plan_, make_plan(*exe->graph_, how, exe->passes_));
  exe->compile();
  return exe;
}

void Executable::compile() {
  compiled_.emplace(plan_, options_.devices, machine_code_.bodies());
  std::vector<bool> bodies;
  for (StepIndex i = 0; i < plan_.steps.size(); ++i) bodies.push_back(compiled_->launch(i).first_emits);
  machine_code_.add_plan(plan_, bodies);
}

std::unique_ptr<Session> Executable::open() { return std::make_unique<Session>(shared_from_this()); }

/// Memory that all sessions share is not charged to the limits of one run, but planning ends when the run must end.
Result<std::shared_ptr<Executable>> Executable::specialisation(const Choices& choices) try {
  LoadBounds bounds;
  if (const auto* run = ExecutionLimits::current()) bounds.limits.memory_bytes = run->limits().memory_bytes;
  const LoadScope scope(bounds, "planning for other ranks", source_bytes(*graph_));
  return specialisations_.get(choices, [&](const Choices& used) -> Result<std::shared_ptr<Executable>> {
    auto graph = rebuild(*graph_, used);
    if (!graph) {  // a request made this choice, so its inputs are at fault
      if (graph.error().code == Code::bad_model) graph.error().code = Code::bad_input;
      return std::unexpected(std::move(graph).error());
    }
    return planned(std::make_shared<const Graph>(*std::move(graph)), options_, packed_, false);
  });
} catch (const std::bad_alloc&) {
  return no_memory_left();
}

std::string Executable::explain() const { return str(passes_) + plan_.str() + machine_code_.explain(); }

}  // namespace frazil::exec
