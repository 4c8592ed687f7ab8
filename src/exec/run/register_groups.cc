#include "exec/run/register_groups.h"

#include <algorithm>
#include <span>
#include <utility>

namespace frazil::exec {

RegisterGroups::RegisterGroups(RunContext& context, Values& values, Memory& memory, Launcher& launcher)
    : context_(context),
      values_(values),
      memory_(memory),
      launcher_(launcher),
      plan_(values.plan),
      known_(plan_.groups.size(), 0),
      recomputed_(plan_.groups.size(), 0) {
  for (const RegGroup& group : plan_.groups) {
    seen_begin_.push_back(seen_.size());
    seen_.resize(seen_.size() + group.sources.size());
  }
}

inline void RegisterGroups::invalidate_dependents(std::size_t group) {
  for (StepIndex s : plan_.groups[group].dependents) launcher_.invalidate(s);
}

Status RegisterGroups::evaluate(std::uint32_t index) {
  const RegGroup& group = plan_.groups[index];
  const std::span seen(seen_.data() + seen_begin_[index], group.sources.size());
  bool stale = known_[index] == 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::int64_t now = values_.regs[group.sources[i]];
    stale |= seen[i] != now;
    seen[i] = now;
  }
  if (!stale) return {};
  known_[index] = 0;
  ++context_.counters.shape_changes;
  group.program.run(values_.regs, 0,
                    group.program.code.size());  // x / 0 is 0; check steps report where that is an error
  invalidate_dependents(index);
  if (index == 0) FRAZIL_CHECK(memory_.lay_out_arena());
  known_[index] = 1;
  if (context_.observer != nullptr) context_.observer->shapes_changed(index);
  return {};
}

void RegisterGroups::forget(std::uint32_t group) {
  known_[group] = 0;
  invalidate_dependents(group);
}

void RegisterGroups::invalidate() { std::ranges::fill(known_, std::uint8_t{0}); }

void RegisterGroups::share_with(code::NativeFrame& frame) {
  frame.seen = seen_.data();
  frame.known = known_.data();
  frame.recomputed = recomputed_.data();
}

void RegisterGroups::take_over_recomputed() {
  for (std::size_t g = 0; g < recomputed_.size(); ++g) {
    if (std::exchange(recomputed_[g], std::uint8_t{0}) != 0) invalidate_dependents(g);
  }
}

}  // namespace frazil::exec
