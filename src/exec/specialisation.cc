#include "exec/specialisation.h"

#include "ir/rebuild.h"

namespace frazil::exec {
namespace {

constexpr int kMostRestarts = 8;

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

void Specialisations::let_go() {
  first_runner_->let_go();
  for (auto& [choices, runner] : others_) {
    if (runner) runner->let_go();
  }
}

Status Specialisations::run(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  const std::uint64_t streams = context_.execution_limits.streams();
  context_.steps_left = context_.limits.steps;
  FRAZIL_TRY(auto miss, current_->run(inputs, outputs));
  for (int restarts = 0; miss;) {
    Runner* const before = current_;
    FRAZIL_TRY(current_, other_side(*before, *miss));
    FRAZIL_TRY(const auto resumed, current_->resume(*before, *miss, inputs, outputs));
    if (context_.limits.arena_bytes != Limits{}.arena_bytes) before->drop_memory();
    if (resumed) {
      miss = resumed->miss;
      continue;
    }
    if (++restarts == kMostRestarts) {
      FRAZIL_TRY(current_, runner(Choices{.by_node = {}, .otherwise = std::nullopt}));
    }
    ++context_.counters.restarted;
    context_.execution_limits.rewind_streams(streams);
    FRAZIL_TRY(miss, current_->run(inputs, outputs));
  }
  return {};
}

Result<Runner*> Specialisations::other_side(const Runner& now, const GuardMiss& miss) {
  Choices choices = choices_of(now.executable().graph());
  choices.by_node[miss.stable] = !choices.by_node[miss.stable];
  return runner(choices);
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
