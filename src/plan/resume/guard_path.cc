#include "plan/resume/guard_path.h"

#include <algorithm>

namespace frazil {
namespace {

class PathFinder {
 public:
  PathFinder(const Plan& plan, StepIndex guard) : p_(plan) { path_.guard = guard; }

  std::optional<GuardPath> run() {
    for (std::uint32_t r = 0; r < p_.regions.size(); ++r) {
      const PlannedRegion& region = p_.regions[r];
      if (region.begin <= path_.guard && path_.guard < region.end) path_.regions.push_back(r);
    }
    const NodeId node = p_.steps[path_.guard].node;
    StepIndex from = 0;
    BlockId block = Graph::kMain;
    for (std::uint32_t r : path_.regions) {
      if (p_.regions[r].node == node) break;
      add_level(block, p_.regions[r].node);
      steps(from, p_.regions[r].begin);
      const PlannedRegion::Entry* entry = enter(r);
      if (entry == nullptr) return std::nullopt;
      block = entry->block;
      from = entry->begin;
    }
    add_level(block, node);
    steps(from, path_.guard);
    return std::move(path_);
  }

 private:
  void add_level(BlockId block, NodeId node) {
    const auto& nodes = p_.graph->block(block).nodes;
    path_.levels.push_back({block, static_cast<std::size_t>(std::ranges::find(nodes, node) - nodes.begin())});
  }

  /// Adds steps [begin, end), none of which lies in a region around the guard.
  void steps(StepIndex begin, StepIndex end) {
    while (begin < end) {
      const auto inner = std::ranges::find_if(
          p_.regions, [&](const PlannedRegion& r) { return r.begin == begin && r.end > begin && r.end <= end; });
      const StepIndex next = inner == p_.regions.end() ? begin + 1 : inner->end;
      path_.items.push_back({.begin = begin, .end = next});
      begin = next;
    }
  }

  /// Adds the steps from the beginning of a region to its block that contains the guard. Returns null if their order is
  /// unknown.
  const PlannedRegion::Entry* enter(std::uint32_t r) {
    const PlannedRegion& region = p_.regions[r];
    const auto entry = std::ranges::find_if(
        region.blocks, [&](const PlannedRegion::Entry& e) { return e.begin <= path_.guard && path_.guard < e.end; });
    if (entry == region.blocks.end()) return nullptr;
    const bool first = entry == region.blocks.begin();
    if (region.head != kNone) {
      if (!first) return nullptr;
      own_steps(region.begin, region.head);
      path_.items.push_back({.begin = region.head, .end = region.head, .loop = r});
      own_steps(region.head, entry->begin);
    } else {
      own_steps(region.begin, region.blocks.front().glue);
      own_steps(entry->glue, entry->begin);
    }
    return &*entry;
  }

  void own_steps(StepIndex begin, StepIndex end) {
    for (; begin < end; ++begin) path_.items.push_back({.begin = begin, .end = begin + 1});
  }

  const Plan& p_;
  GuardPath path_;
};

}  // namespace

std::optional<GuardPath> GuardPath::of(const Plan& plan, StepIndex guard) { return PathFinder(plan, guard).run(); }

}  // namespace frazil
