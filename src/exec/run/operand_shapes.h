#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "code/abi/abi.h"
#include "exec/memory/values.h"

namespace frazil::exec {

/// The extents and strides of one launch step's operands, as its kernel sees them. Keeps its memory from step to step.
class OperandShapes {
 public:
  explicit OperandShapes(const Values& values) : values_(values) {}

  /// Reads the shapes of all operands and results. Returns Code::bad_input for a negative extent, and the error of
  /// byte_count() if the extents of an empty operand overflow. The shapes are valid until the next call.
  Status read(const Step& step, const step::Launch& launch);
  /// Checks the inputs of a step without a kernel, which determines the extents of its results itself.
  Status check_inputs(const Step& step, const step::Launch& launch);

  std::span<const code::OperandShape> in() const { return std::span(shapes_).first(inputs_); }
  std::span<const code::OperandShape> out() const { return std::span(shapes_).subspan(inputs_); }
  std::span<const std::int64_t> domain() const { return std::span(memory_).first(domain_); }

 private:
  void begin(const step::Launch& launch);
  code::OperandShape shape(SlotId s);
  Status check_extents(const std::vector<SlotId>& slots) const;
  Status check_empty(const Step& step) const;

  const Values& values_;
  std::vector<std::int64_t> memory_;  // the domain, then dims and strides of each operand
  std::size_t used_ = 0;
  std::vector<code::OperandShape> shapes_;
  std::size_t inputs_ = 0, domain_ = 0;
};

/// Returns the weight that the slot is or is a part of; an empty reference for any other value.
code::WeightRef weight_of(const Plan& plan, SlotId s);

}  // namespace frazil::exec
