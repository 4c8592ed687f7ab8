#pragma once

#include <cstdint>
#include <vector>

#include "code/native/native_plan.h"
#include "exec/memory/memory.h"
#include "exec/run/launcher.h"

namespace frazil::exec {

/// The register groups of a plan, each with the values of its sources that it was computed from.
class RegisterGroups {
 public:
  RegisterGroups(RunContext& context, Values& values, Memory& memory, Launcher& launcher);

  /// Recomputes a group if its sources have changed. Marks the launches that depend on it as unprepared.
  Status evaluate(std::uint32_t index);
  /// Marks a group as stale because its registers or their sources were changed from outside.
  void forget(std::uint32_t group);
  /// Marks all groups as stale.
  void invalidate();

  /// Lets generated code recompute groups: sets NativeFrame::seen, known and recomputed.
  void share_with(code::NativeFrame& frame);
  /// Marks the launches that depend on groups that generated code has recomputed as unprepared.
  void take_over_recomputed();

 private:
  void invalidate_dependents(std::size_t group);

  RunContext& context_;
  Values& values_;
  Memory& memory_;
  Launcher& launcher_;
  const Plan& plan_;
  std::vector<std::int64_t> seen_;        // all groups, concatenated: the sources' values that they were computed from
  std::vector<std::size_t> seen_begin_;   // per group
  std::vector<std::uint8_t> known_;       // per group: it was computed from seen_
  std::vector<std::uint8_t> recomputed_;  // per group: machine code has recomputed it
};

}  // namespace frazil::exec
