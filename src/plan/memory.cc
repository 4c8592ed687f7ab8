#include <algorithm>

#include "plan/lower.h"

namespace frazil {
namespace {

class MemoryPlanner {
 public:
  MemoryPlanner(Plan& plan, const std::vector<LoopSpan>& loops) : plan_(plan), loops_(loops) {}

  void run() {
    mark_outputs();
    lifetimes();
    extend_over_loops();
    assign_pools();
  }

 private:
  template <class F>
  void for_storages(const Step& step, F f) {
    for (const auto* list : {&step.in, &step.out}) {
      for (std::uint32_t s : *list) {
        if (s != kNone) f(plan_.slots[s].storage);
      }
    }
    if (step.kind == Step::Kind::append || step.kind == Step::Kind::reset) f(plan_.accumulators[step.index].storage);
  }

  bool is_whole(const Slot& s) const { return s.strides.empty() && s.offset == kNoReg; }

  /// A result that a step writes whole, and nothing swaps, is written straight into the caller's tensor.
  void mark_outputs() {
    for (std::uint32_t k = 0; k < plan_.outputs.size(); ++k) {
      const Slot& s = plan_.slots[plan_.outputs[k]];
      Storage& storage = plan_.storages[s.storage];
      if (s.object || storage.place != Place::arena || storage.swapped || !is_whole(s)) continue;
      storage.place = Place::output;
      storage.index = k;
    }
  }

  void lifetimes() {
    for (Storage& s : plan_.storages) s.first = kNone;
    for (std::uint32_t i = 0; i < plan_.steps.size(); ++i) {
      for_storages(plan_.steps[i], [&](std::uint32_t id) {
        Storage& s = plan_.storages[id];
        if (s.first == kNone) s.first = i;
        s.last = i;
      });
    }
    for (std::uint32_t out : plan_.outputs) {
      plan_.storages[plan_.slots[out].storage].last = static_cast<std::uint32_t>(plan_.steps.size());
    }
  }

  /// What is defined before a loop and used in it lives until the loop ends; so does what the loop swaps.
  /// Inner loops come first in the list, so that one sweep suffices.
  void extend_over_loops() {
    for (const LoopSpan& loop : loops_) {
      for (Storage& s : plan_.storages) {
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
    extend_swapped();
  }

  /// Swapped storages hold each other's bytes: all of one loop's live as long as the longest.
  void extend_swapped() {
    for (const Step& step : plan_.steps) {
      if (step.kind != Step::Kind::swap) continue;
      Storage& a = plan_.storages[plan_.slots[step.in[0]].storage];
      Storage& b = plan_.storages[plan_.slots[step.out[0]].storage];
      a.first = b.first = std::min(a.first, b.first);
      a.last = b.last = std::max(a.last, b.last);
    }
  }

  struct Pool {
    std::uint32_t id;
    std::uint32_t free_from;  ///< first step at which it may be taken
  };

  void assign_pools() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < plan_.storages.size(); ++i) {
      if (plan_.storages[i].place == Place::arena && plan_.storages[i].first != kNone) order.push_back(i);
    }
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return plan_.storages[i].first; });
    for (std::uint32_t i : order) {
      Storage& s = plan_.storages[i];
      std::uint32_t pool = in_place_pool(s);
      if (pool == kNone) pool = free_pool(s);
      s.pool = pool;
      free_from_[pool] = s.last + 1;
      holds_[pool] = i;
      if (std::ranges::find(plan_.pools[pool], s.bytes) == plan_.pools[pool].end())
        plan_.pools[pool].push_back(s.bytes);
    }
  }

  /// The pool of an operand that dies where `s` is made, if the step allows it: each element is read where it is
  /// written, so that elements must be as wide. A narrow result may have as many bytes as a wide operand it broadcasts.
  std::uint32_t in_place_pool(const Storage& s) const {
    if (s.first >= plan_.steps.size()) return kNone;
    const Step& step = plan_.steps[s.first];
    if (!step.in_place || s.swapped) return kNone;
    const auto out = std::ranges::find_if(
        step.out, [&](std::uint32_t o) { return o != kNone && &plan_.storages[plan_.slots[o].storage] == &s; });
    if (out == step.out.end()) return kNone;
    const auto result = static_cast<std::size_t>(out - step.out.begin());
    const std::size_t width = byte_size(plan_.slots[*out].elem);
    for (std::size_t k = 0; k < step.in.size(); ++k) {
      const std::uint32_t in = step.in[k];
      if (in == kNone || !read_before_written(step, k, result)) continue;
      const Slot& slot = plan_.slots[in];
      const Storage& from = plan_.storages[slot.storage];
      if (from.place == Place::arena && from.last == s.first && from.bytes == s.bytes &&
          byte_size(slot.elem) == width && is_whole(slot) && from.pool != kNone && !from.swapped &&
          holds_[from.pool] == slot.storage && once(step.in, slot.storage)) {
        return from.pool;
      }
    }
    return kNone;
  }

  /// Of a program, the result has an element where the operand has one, and the last instruction that reads the operand
  /// comes no later than the one that makes the result.
  bool read_before_written(const Step& step, std::size_t operand, std::size_t result) const {
    if (step.program == kNone) return true;
    if (plan_.slots[step.out[result]].dims != step.space) return false;
    const Program& program = plan_.programs[step.program];
    const std::uint32_t load = load_of(program, operand);
    return load == program.code.size() || last_use(program, load) <= program.results[result];
  }

  bool once(const std::vector<std::uint32_t>& slots, std::uint32_t storage) const {
    return std::ranges::count_if(slots,
                                 [&](std::uint32_t s) { return s != kNone && plan_.slots[s].storage == storage; }) == 1;
  }

  std::uint32_t free_pool(const Storage& s) {
    std::uint32_t any = kNone;
    for (std::uint32_t p = 0; p < plan_.pools.size(); ++p) {
      if (free_from_[p] > s.first) continue;
      if (std::ranges::find(plan_.pools[p], s.bytes) != plan_.pools[p].end()) return p;
      if (any == kNone) any = p;
    }
    if (any != kNone) return any;
    plan_.pools.emplace_back();
    free_from_.push_back(0);
    holds_.push_back(kNone);
    return static_cast<std::uint32_t>(plan_.pools.size() - 1);
  }

  Plan& plan_;
  const std::vector<LoopSpan>& loops_;
  std::vector<std::uint32_t> free_from_;
  std::vector<std::uint32_t> holds_;  // per pool: the storage that took it last
};

}  // namespace

void plan_memory(Plan& plan, const std::vector<LoopSpan>& loops) { MemoryPlanner(plan, loops).run(); }

}  // namespace frazil
