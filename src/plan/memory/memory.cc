#include <algorithm>
#include <optional>

#include "plan/lower/lower.h"
#include "plan/memory/concurrent_steps.h"

namespace frazil {
namespace {

/// Places a result in the caller's tensor if a step writes it in full and nothing swaps it.
void mark_outputs(Plan& plan) {
  for (std::uint32_t k = 0; k < plan.outputs.size(); ++k) {
    const Slot& s = plan.slot(plan.outputs[k]);
    Storage& storage = plan.storages[s.storage];
    if (s.object || storage.place != Place::arena || storage.swapped || !s.is_whole()) continue;
    storage.place = Place::output;
    storage.index = k;
  }
}

// ---- lifetimes ----

void touch(Storage& s, StepIndex i) {
  if (s.first == kNone) s.first = i;
  s.last = i;
}

std::optional<AccumulatorId> accumulator_of(const Step& step) {
  if (const auto* append = step.as<step::Append>()) return append->accumulator;
  if (const auto* reset = step.as<step::Reset>()) return reset->accumulator;
  return std::nullopt;
}

/// Gives both storages of a swap the same lifetime, since each holds the other's bytes in turn.
void extend_swapped(Plan& plan) {
  for (const Step& step : plan.steps) {
    const auto* swap = step.as<step::Swap>();
    if (swap == nullptr) continue;
    Storage& a = plan.storages[plan.slot(swap->source).storage];
    Storage& b = plan.storages[plan.slot(swap->variable).storage];
    a.first = b.first = std::min(a.first, b.first);
    a.last = b.last = std::max(a.last, b.last);
  }
}

/// Extends lifetimes over loops. A storage defined before a loop and used in it lives until the loop ends. One that the
/// loop swaps lives during the whole loop. Inner loops come first in the list, so one sweep is enough.
void extend_over_loops(Plan& plan, const std::vector<LoopSpan>& loops) {
  for (const LoopSpan& loop : loops) {
    for (Storage& s : plan.storages) {
      if (s.first == kNone || s.last < loop.head || s.first > loop.end) continue;
      if (s.by_rows) s.first = std::min(s.first, loop.head);
      const bool crosses = s.first < loop.head && s.last <= loop.end;
      if (crosses) s.last = loop.end;
      if (s.swapped) {
        s.first = std::min(s.first, loop.head);
        s.last = std::max(s.last, loop.end);
      }
    }
  }
  extend_swapped(plan);
}

/// Finds the steps between which each storage is live.
void find_lifetimes(Plan& plan, const std::vector<LoopSpan>& loops) {
  for (Storage& s : plan.storages) s.first = kNone;
  for (StepIndex i = 0; i < plan.steps.size(); ++i) {
    for_slots(plan.steps[i], [&](SlotId s) { touch(plan.storages[plan.slot(s).storage], i); });
    if (const auto a = accumulator_of(plan.steps[i])) touch(plan.storages[plan.accumulators[a->id].storage], i);
  }
  for (SlotId out : plan.outputs) {
    plan.storages[plan.slot(out).storage].last = static_cast<StepIndex>(plan.steps.size());
  }
  extend_over_loops(plan, loops);
}

// ---- in-place reuse ----

/// Returns true if the result may overwrite the operand. In a fused kernel, the result must have the extents of the
/// domain. No instruction after the one that makes the result may read the operand.
bool read_before_written(const Plan& plan, const step::Launch& launch, std::size_t operand, std::size_t result) {
  if (launch.fused == kNone) return true;
  if (plan.slot(launch.out[result]).dims != launch.domain) return false;
  const FusedKernel& kernel = *plan.fused[launch.fused];
  const std::uint32_t load = load_of(kernel, static_cast<std::uint32_t>(operand));
  return load == kernel.body.size() || last_use(kernel, load) <= kernel.stores[result].value;
}

bool reads_once(const Plan& plan, const step::Launch& launch, std::uint32_t storage) {
  return std::ranges::count_if(launch.in, [&](SlotId s) { return s && plan.slot(s).storage == storage; }) == 1;
}

}  // namespace

/// Returns the operand that dies in the step that makes `id`, if the step may overwrite it. Each element is read where
/// it is written, so elements must have the same width. Equal byte counts are not enough: a narrow result may have as
/// many bytes as a wide operand that broadcasts.
std::optional<std::uint32_t> reused_operand(const Plan& plan, std::uint32_t id) {
  const Storage& s = plan.storages[id];
  const auto* launch = s.first < plan.steps.size() ? plan.steps[s.first].as<step::Launch>() : nullptr;
  if (launch == nullptr || !launch->in_place || s.swapped) return std::nullopt;
  const auto out = std::ranges::find_if(launch->out, [&](SlotId o) { return o && plan.slot(o).storage == id; });
  if (out == launch->out.end()) return std::nullopt;
  const auto result = static_cast<std::size_t>(out - launch->out.begin());
  const std::size_t width = byte_size(plan.slot(*out).elem);
  for (std::size_t k = 0; k < launch->in.size(); ++k) {
    if (!launch->in[k] || !read_before_written(plan, *launch, k, result)) continue;
    const Slot& slot = plan.slot(launch->in[k]);
    const Storage& from = plan.storages[slot.storage];
    if (from.place == Place::arena && from.last == s.first && from.bytes == s.bytes && byte_size(slot.elem) == width &&
        slot.is_whole() && !from.swapped && reads_once(plan, *launch, slot.storage)) {
      return slot.storage;
    }
  }
  return std::nullopt;
}

namespace {

/// Assigns pools. Storages of the arena share a pool if one is dead before the other is made.
class Pools {
 public:
  explicit Pools(Plan& plan) : plan_(plan), ends_(plan.steps.size() + 1) {
    const ConcurrentSteps together(plan);
    for (StepIndex i = 0; i < ends_.size(); ++i) ends_[i] = i + std::max(together.heavy(i), 1u);
    for (StepIndex i = 1; i < ends_.size(); ++i) ends_[i] = std::max(ends_[i], ends_[i - 1]);
  }

  void run() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < plan_.storages.size(); ++i) {
      if (plan_.storages[i].place == Place::arena && plan_.storages[i].first != kNone) order.push_back(i);
    }
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return plan_.storages[i].first; });
    for (std::uint32_t i : order) assign(i);
  }

 private:
  void assign(std::uint32_t i) {
    Storage& s = plan_.storages[i];
    const auto reused = reused_operand(plan_, i);
    const std::uint32_t dying = reused ? plan_.storages[*reused].pool : kNone;
    const std::uint32_t pool = dying != kNone && holds_[dying] == *reused ? dying : free_pool(s);
    s.pool = pool;
    free_from_[pool] = ends_[s.last];
    holds_[pool] = i;
    auto& sizes = plan_.pools[pool];
    if (std::ranges::find(sizes, s.bytes) == sizes.end()) sizes.push_back(s.bytes);
  }

  std::uint32_t free_pool(const Storage& s) {
    std::uint32_t any = kNone;
    for (std::uint32_t p = 0; p < plan_.pools.size(); ++p) {
      if (free_from_[p] > s.first || plan_.pool_device[p] != s.device) continue;
      if (std::ranges::find(plan_.pools[p], s.bytes) != plan_.pools[p].end()) return p;
      if (any == kNone) any = p;
    }
    if (any != kNone) return any;
    plan_.pools.emplace_back();
    plan_.pool_device.push_back(s.device);
    free_from_.push_back(0);
    holds_.push_back(kNone);
    return static_cast<std::uint32_t>(plan_.pools.size() - 1);
  }

  Plan& plan_;
  std::vector<StepIndex> ends_;       // per step: the first later one that does not run at the same time
  std::vector<StepIndex> free_from_;  // per pool: the first step at which it may be reused
  std::vector<std::uint32_t> holds_;  // per pool: the last storage that was assigned to it
};

}  // namespace

void plan_memory(Plan& plan, const std::vector<LoopSpan>& loops) {
  mark_outputs(plan);
  find_lifetimes(plan, loops);
  Pools(plan).run();
}

}  // namespace frazil
