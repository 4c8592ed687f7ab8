#include "exec/run/specialisation.h"

#include <unordered_map>

#include "base/os/log.h"
#include "ir/edit/rebuild.h"

namespace frazil::exec {
namespace {

constexpr int kMaxRestarts = 8;

/// The values of a graph's symbols that the inputs of a request decide.
class InputNumbers {
 public:
  InputNumbers(const Graph& graph, std::span<const Datum> inputs) : graph_(graph) {
    const auto& params = graph.main().params;
    for (std::size_t i = 0; i < params.size() && i < inputs.size(); ++i) {
      if (!inputs[i].is_tensor()) continue;
      inputs_[params[i].id] = &inputs[i].tensor();
      read_extents(graph.type(params[i]).shape, inputs[i].tensor());
    }
  }

  /// Returns nullopt if `d` depends on more than inputs.
  std::optional<std::int64_t> of(Dim d) {
    std::vector<std::int64_t> symbols(graph_.scope().symbol_count(), 0);
    for (const SymbolId s : graph_.scope().symbols_of(d)) {
      const auto value = symbol(s);
      if (!value) return std::nullopt;
      symbols[s] = *value;
    }
    return eval(graph_.scope(), d, symbols);
  }

 private:
  void read_extents(const Shape& shape, const Tensor& tensor) {
    for (std::size_t axis = 0; axis < shape.size() && axis < tensor.rank(); ++axis) {
      if (const auto s = graph_.scope().as_symbol(shape[axis])) extents_[*s] = tensor.sizes()[axis];
    }
  }

  std::optional<std::int64_t> symbol(SymbolId s) const {
    if (const auto extent = extents_.find(s); extent != extents_.end()) return extent->second;
    const auto origin = graph_.origin(s);
    const auto input = origin ? inputs_.find(origin->value.id) : inputs_.end();
    if (input == inputs_.end() || origin->index >= input->second->count()) return std::nullopt;
    return input->second->integer_at(origin->index);
  }

  const Graph& graph_;
  std::unordered_map<std::uint32_t, const Tensor*> inputs_;  // by value
  std::unordered_map<SymbolId, std::int64_t> extents_;
};

/// Returns the assumptions that inputs alone decide, with their values.
std::map<AssumptionKey, std::int64_t> told_by_inputs(const Graph& graph, std::span<const Datum> inputs) {
  InputNumbers numbers(graph, inputs);
  std::map<AssumptionKey, std::int64_t> told;
  for (const Assumption& a : graph.assumptions()) {
    if (const auto value = numbers.of(a.predicate)) told[a.key] = *value;
  }
  return told;
}

/// Returns a description of the missed guard.
std::string str(const Graph& graph, const GuardMiss& miss) {
  for (const Assumption& a : graph.assumptions()) {
    if (a.key == miss.key) {
      return fmt::format("{}: the guard of {} missed: the plan assumes {} = {}, got {}", graph.name,
                         graph.describe(a.node), graph.scope().str(a.predicate), a.value, miss.value);
    }
  }
  return fmt::format("{}: a guard missed: got {}", graph.name, miss.value);
}

}  // namespace

Specialisations::Specialisations(std::shared_ptr<Executable> first, RunContext& context)
    : context_(context),
      first_(std::move(first)),
      first_runner_(make_runner(first_, context)),
      current_(first_runner_.get()) {}

void Specialisations::drop_memory() {
  first_runner_->drop_memory();
  for (auto& [choices, runner] : others_) {
    if (runner) runner->drop_memory();
  }
}

void Specialisations::release() {
  first_runner_->release();
  for (auto& [choices, runner] : others_) {
    if (runner) runner->release();
  }
}

Result<bool> Specialisations::run(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  streams_ = context_.execution_limits.streams();
  restarts_ = 0;
  context_.steps_left = context_.limits.steps;
  return follow(current_->run(inputs, outputs), inputs, outputs);
}

Result<bool> Specialisations::go_on(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  return follow(current_->go_on(outputs), inputs, outputs);
}

Result<bool> Specialisations::follow(Result<Pause> pause, std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  while (pause && *pause) {
    const GuardMiss* const miss = std::get_if<GuardMiss>(&**pause);
    if (miss == nullptr) return false;
    Runner* const before = current_;
    const std::size_t plans = others_.size();
    FRAZIL_TRY(current_, after(*before, *miss, inputs));
    if (const int level = others_.size() > plans ? 1 : 2; logging::enabled(level)) {
      logging::write(level, "guard", str(before->executable().graph(), *miss));
    }
    FRAZIL_TRY(const auto resumed, current_->resume(*before, *miss, inputs, outputs));
    if (context_.limits.arena_bytes != Limits{}.arena_bytes) before->drop_memory();
    if (resumed) {
      pause = resumed->pause;
      continue;
    }
    if (++restarts_ == kMaxRestarts) {
      FRAZIL_TRY(current_, open());
    }
    ++context_.counters.restarted;
    context_.execution_limits.rewind_streams(streams_);
    pause = current_->run(inputs, outputs);
  }
  FRAZIL_CHECK(pause);
  return true;
}

Result<Runner*> Specialisations::open() { return runner(Choices{.by_key = {}, .none = true}); }

Result<Runner*> Specialisations::after(const Runner& now, const GuardMiss& miss, std::span<const Datum> inputs) {
  const Graph& graph = now.executable().graph();
  Choices choices = choices_of(graph);
  const auto assumed = choices.by_key.find(miss.key);
  if (assumed == choices.by_key.end() || assumed->second == miss.value) return open();
  for (const auto& [key, value] : told_by_inputs(graph, inputs)) choices.by_key[key] = value;
  choices.by_key[miss.key] = miss.value;
  const bool full = others_.size() >= SpecialisationCache::kMaxEntries && !others_.contains(choices);
  return full ? open() : runner(choices);
}

Result<Runner*> Specialisations::runner(const Choices& choices) {
  if (choices == choices_of(first_->graph())) return first_runner_.get();
  auto& runner = others_[choices];
  if (!runner) {
    FRAZIL_TRY(auto executable, first_->specialisation(choices));
    runner = make_runner(std::move(executable), context_);
    ++context_.counters.plans;
  }
  return runner.get();
}

}  // namespace frazil::exec
