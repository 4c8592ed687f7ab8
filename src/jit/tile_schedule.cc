#include "jit/tile_schedule.h"

namespace frazil::jit {

TileSchedule::TileSchedule(const code::TileCode& code, const code::LoopForm& form)
    : code_(code),
      form_(form),
      stage_(code.body.size(), 0),
      single_(code::single_values(code, form)),
      kept_(code.body.size(), false) {
  number_stages();
  mark_kept();
}

void TileSchedule::number_stages() {
  std::uint32_t stage = 0;
  for (std::uint32_t i = 0; i < size(); ++i) {
    stage_[i] = stage;
    if (is_row(i)) ++stage;
  }
  stages_ = stage + 1;
}

/// Marks rows that are read outside the loop that computes them. Loaded rows are loaded again instead.
void TileSchedule::mark_kept() {
  for (std::uint32_t i = 0; i < size(); ++i) {
    for_operands(code_.body[i], [&](std::uint32_t a) {
      if (single_[a] || is_row(a)) return;
      if (is_row(i) ? !is_in_place(a) : stage_[a] != stage_[i] && !is_load(a)) kept_[a] = true;
    });
  }
}

bool TileSchedule::is_in_place(std::uint32_t i) const {
  if (!is_load(i)) return false;
  const std::uint32_t k = ins(i).scalar.operand;
  return step(k) == code::InnerStep::dense && compute_elem(stored_elem(k)) == stored_elem(k);
}

bool TileSchedule::is_widened(std::uint32_t i) const {
  for (std::uint32_t k = i + 1; k < size(); ++k) {
    if (ins(k).is(ScalarOp::cast) && ins(k).scalar.a == i && elem(k) == Elem::f32) return true;
  }
  return false;
}

Elem TileSchedule::stored_elem(std::uint32_t k) const {
  const std::size_t operands = code_.operands.size();
  return k < operands ? code_.operands[k].elem : code_.stores[k - operands].elem;
}

bool TileSchedule::stores_in(std::uint32_t store, std::uint32_t stage) const {
  const std::uint32_t value = code_.stores[store].value;
  return step(result(store)) != code::InnerStep::one && stage_[value] + (is_row(value) ? 1 : 0) == stage;
}

}  // namespace frazil::jit
