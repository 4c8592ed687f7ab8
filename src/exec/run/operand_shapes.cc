#include "exec/run/operand_shapes.h"

namespace frazil::exec {

void OperandShapes::begin(const step::Launch& launch) {
  std::size_t needed = launch.domain.size();
  for (const auto* list : {&launch.in, &launch.out}) {
    for (SlotId s : *list) needed += s ? 2 * values_.plan.slot(s).dims.size() : 0;
  }
  if (needed > memory_.size()) memory_.resize(needed);
  shapes_.clear();
  inputs_ = launch.in.size();
  domain_ = launch.domain.size();
  used_ = 0;
  for (Reg r : launch.domain) memory_[used_++] = values_.regs[r];
}

code::OperandShape OperandShapes::shape(SlotId s) {
  if (!s) return {};
  const Slot& slot = values_.plan.slot(s);
  const std::size_t rank = slot.dims.size();
  std::int64_t *const dims = memory_.data() + used_, *const strides = dims + rank;
  used_ += 2 * rank;
  for (std::size_t i = 0; i < rank; ++i) dims[i] = values_.regs[slot.dims[i]];
  std::uint64_t stride = 1;  // may wrap for an empty tensor, which does not use it
  for (std::size_t i = rank; i-- > 0;) {
    strides[i] = slot.strides.empty() ? static_cast<std::int64_t>(stride) : values_.regs[slot.strides[i]];
    stride *= static_cast<std::uint64_t>(dims[i]);
  }
  return {true, slot.elem, {dims, rank}, {strides, rank}, slot.strides.empty()};
}

Status OperandShapes::read(const Step& step, const step::Launch& launch) {
  begin(launch);
  for (SlotId s : launch.in) shapes_.push_back(shape(s));
  for (SlotId s : launch.out) shapes_.push_back(shape(s));
  FRAZIL_CHECK(check_extents(launch.in));
  FRAZIL_CHECK(check_extents(launch.out));
  return check_empty(step);
}

Status OperandShapes::check_inputs(const Step& step, const step::Launch& launch) {
  begin(launch);
  for (SlotId s : launch.in) {
    shapes_.push_back(s && values_.plan.slot(s).object ? code::OperandShape() : shape(s));
  }
  return check_empty(step);
}

Status OperandShapes::check_extents(const std::vector<SlotId>& slots) const {
  for (SlotId s : slots) {
    if (s && !values_.plan.slot(s).object) FRAZIL_CHECK(values_.check_extents(values_.plan.slot(s)));
  }
  return {};
}

/// Checks the other extents of empty operands for overflow: kernels compute offsets and rows from them too.
Status OperandShapes::check_empty(const Step& step) const {
  for (const code::OperandShape& shape : shapes_) {
    if (!shape.given || !shape.empty()) continue;
    auto bytes = byte_count(shape.elem, shape.dims);
    if (!bytes) return at_node(values_.where(step), std::move(bytes).error());
  }
  return {};
}

code::WeightRef weight_of(const Plan& plan, SlotId s) {
  if (!s || plan.storage(s).place != Place::constant || plan.storage(s).device != kHost) return {};
  const Tensor& tensor = plan.graph->constant(Value{plan.storage(s).index})->tensor;
  return {&tensor.buffer(), {tensor.data(), tensor.bytes()}, plan.slot(s).offset != kNoReg};
}

}  // namespace frazil::exec
