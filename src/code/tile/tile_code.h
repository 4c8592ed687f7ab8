#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plan/model/fused.h"

namespace frazil::code {

class NativeSource;

/// The body of a fused kernel in the form that is run, by the interpreter of tier 0 or as machine code. Its
/// instructions are those of the body, except that a quantisation is one instruction. Each has a buffer for its
/// elements while they are needed. Operands are numbered as the interpreter receives them.
struct TileCode {
  struct Ins {
    FusedIns ins;              ///< a load's operand is a position in `operands`
    std::uint16_t buffer = 0;  ///< shared by instructions that are not needed at the same time
    /// A cast of round(a / b) + c, of f32, clamped to the limits of its type, u8 or i8; NaN gives 0. b and c are single
    /// elements.
    bool quantises = false;
  };
  std::vector<Ins> body;
  std::vector<FusedOperand> operands;  ///< those that the body loads; the producer's result comes first
  std::vector<FusedStore> stores;
  std::size_t domain_rank = 0;
  bool rows = false;                     ///< an instruction works along rows
  bool in_order = true;                  ///< no tensor has its axes in another order than the domain
  std::uint16_t buffers = 0;             ///< number of buffers
  std::uint16_t width = 1;               ///< bytes of the widest element
  std::shared_ptr<NativeSource> native;  ///< source of machine code for new extents; null: none

  /// Returns the axis of operand k, or of store k - operands.size(), for axis `axis` of the domain; -1: none.
  int axis_of(std::size_t k, std::size_t axis) const { return axis_of_[k * domain_rank + axis]; }
  /// Returns true if the body only stores the producer's result as it is.
  bool is_trivial() const { return body.size() == 1 && stores.size() == 1; }

  std::vector<std::int16_t> axis_of_;
};

/// Calls f(index) for each instruction that the instruction reads.
template <class F>
void for_operands(const TileCode::Ins& i, F f) {
  if (!i.quantises) return for_operands(i.ins, f);
  for (const std::uint32_t a : {i.ins.scalar.a, i.ins.scalar.b, i.ins.scalar.c}) f(a);
}

/// Compiles the body of a kernel. Its operands are the producer's result, if there is one, then the kernel's operands
/// [`first`, `first` + `count`).
TileCode compile_tiles(const FusedKernel& kernel, const OperandRange& operands);
/// Returns the operands that the body of a kernel loads.
OperandRange body_operands(const FusedKernel& kernel);

}  // namespace frazil::code
