#pragma once

#include <unordered_map>
#include <vector>

#include "plan/model/plan.h"

namespace frazil {

/// Assigns registers to Dims. A symbol belongs to the group in which it is bound, an expression to the latest group of
/// its symbols.
class Registers {
 public:
  Registers(const Scope& scope, std::vector<RegGroup>& groups, std::uint32_t symbols);

  /// Adds an empty group and returns its number.
  std::uint32_t new_group();
  void bind(SymbolId symbol, std::uint32_t group);
  bool is_bound(SymbolId symbol) const { return symbol < group_of_.size() && group_of_[symbol] != kNone; }
  /// Returns a register for d. The symbols of d must be bound.
  Reg reg(Dim d);
  /// Returns a new register outside of all groups, which steps write.
  Reg plain();
  std::uint32_t group(Dim d) const;
  /// Returns the group that the register belongs to. Returns 0 for registers of plain(), because no shape depends on
  /// them.
  std::uint32_t group_of_reg(Reg r) const { return r < reg_group_.size() ? reg_group_[r] : 0; }
  std::uint32_t count() const { return count_; }
  /// Returns a symbol that was read before it was bound, which is a bug of the planner. Returns nullopt if there is
  /// none.
  std::optional<SymbolId> missing() const { return missing_; }

 private:
  void own(Reg r, std::uint32_t group);
  const Scope& scope_;
  std::vector<RegGroup>& groups_;
  std::vector<DimRegisters> known_;      // per group
  std::vector<std::uint32_t> group_of_;  // per symbol
  std::vector<std::uint32_t> reg_group_;
  std::unordered_map<std::uint64_t, Reg> cache_;
  std::uint32_t count_;
  std::optional<SymbolId> missing_;
};

}  // namespace frazil
