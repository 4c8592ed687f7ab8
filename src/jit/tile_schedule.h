#pragma once

#include <cstdint>
#include <vector>

#include "code/native/native.h"

namespace frazil::jit {

/// A tile program and its stages. The instructions of a stage share one loop over vectors, after which the stage's
/// operation on a whole row runs.
class TileSchedule {
 public:
  TileSchedule(const code::TileCode& code, const code::LoopForm& form);

  const code::TileCode& code() const { return code_; }
  /// Returns the number of instructions.
  std::uint32_t size() const { return static_cast<std::uint32_t>(code_.body.size()); }
  std::uint32_t stages() const { return stages_; }

  // ---- instruction i ----
  const FusedIns& ins(std::uint32_t i) const { return code_.body[i].ins; }
  Elem elem(std::uint32_t i) const { return ins(i).scalar.type; }
  bool is_load(std::uint32_t i) const { return ins(i).is(ScalarOp::load); }
  bool is_row(std::uint32_t i) const { return ins(i).row != RowOp::none; }
  bool quantises(std::uint32_t i) const { return code_.body[i].quantises; }
  bool in_loop(std::uint32_t i, std::uint32_t stage) const { return stage_[i] == stage && !is_row(i); }
  bool runs_after(std::uint32_t i, std::uint32_t stage) const { return stage_[i] == stage && is_row(i); }
  /// Returns true if the instruction computes one element for the whole row.
  bool is_single(std::uint32_t i) const { return single_[i]; }
  /// Returns true if the row of results is kept in a buffer for later stages.
  bool is_kept(std::uint32_t i) const { return kept_[i]; }
  /// Returns true if the instruction is a row in memory, of adjacent elements of the type in which they are computed.
  bool is_in_place(std::uint32_t i) const;
  /// Returns true if a later instruction converts the quantised result to f32.
  bool is_widened(std::uint32_t i) const;

  // ---- operands, then results ----
  std::uint32_t result(std::uint32_t store) const { return static_cast<std::uint32_t>(code_.operands.size()) + store; }
  Elem stored_elem(std::uint32_t k) const;
  code::InnerStep step(std::uint32_t k) const { return form_.steps[k]; }
  /// Returns true if the loop of the stage writes the result.
  bool stores_in(std::uint32_t store, std::uint32_t stage) const;

 private:
  void number_stages();
  void mark_kept();

  const code::TileCode& code_;
  const code::LoopForm& form_;
  std::uint32_t stages_ = 1;
  std::vector<std::uint32_t> stage_;  // per instruction
  std::vector<bool> single_, kept_;   // per instruction
};

}  // namespace frazil::jit
