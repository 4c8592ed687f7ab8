#include "exec/run/host_steps.h"

#include <algorithm>

#include "ir/op/op.h"
#include "kernel/move/copy.h"
#include "ref/ref.h"

namespace frazil::exec {

Result<bool> HostSteps::run(const Step& step, const step::Launch& launch) {
  const auto done = [](const Status& status) -> Result<bool> {
    FRAZIL_CHECK(status);
    return true;
  };
  if (launch.kernel() == Kernel::pack) return done(pack(launch));
  auto ended = launch.kernel() == Kernel::opaque ? opaque(step, launch) : done(reference(step, launch));
  if (ended) return ended;
  Fault fault = std::move(ended).error();
  if (fault.code == Code::bad_model) fault.code = Code::bad_input;  // the graph was valid, so its inputs are at fault
  return at_node(values_.where(step), std::move(fault));
}

Result<bool> HostSteps::opaque(const Step& step, const step::Launch& launch) {
  const Node& node = values_.plan.graph->node(step.node);
  HostCall call(*this, node, launch);
  const Status status = std::get<Opaque>(node.op->form).run(call);
  if (call.waits()) return false;
  for (SlotId s : launch.out) {
    if (!s || !values_.plan.slot(s).object) continue;
    const Datum& made = values_.object(s);
    if (made.is_tensor()) charge_text(made.tensor());
  }
  FRAZIL_CHECK(call.status());
  FRAZIL_CHECK(status);
  return true;
}

Status HostSteps::reference(const Step& step, const step::Launch& launch) {
  const bool keeps = std::ranges::any_of(launch.out, [&](SlotId s) { return s && values_.plan.slot(s).object; });
  std::vector<std::optional<Datum>> inputs(launch.in.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!launch.in[i]) continue;
    if (keeps) {
      FRAZIL_TRY(inputs[i], values_.owned(launch.in[i]));
    } else {
      inputs[i] = values_.view(launch.in[i]);
    }
  }
  FRAZIL_TRY(auto outputs, run_node(*values_.plan.graph, step.node, inputs));
  for (std::size_t k = 0; k < launch.out.size(); ++k) {
    if (!launch.out[k]) continue;
    if (values_.plan.slot(launch.out[k]).object) {
      put_output(launch, k, std::move(outputs[k]));
      continue;
    }
    FRAZIL_TRY(const Tensor packed, outputs[k].tensor().packed());
    FRAZIL_TRY(std::byte * to, place_output(launch, k, packed.sizes()));
    const Sizes plain = contiguous_strides(packed.sizes());
    kernel::copy_strided(to, plain, packed.data(), plain, packed.sizes(),
                         static_cast<std::int64_t>(byte_size(packed.elem())));
  }
  return {};
}

/// Packs a value that requests carry if it has padding. A dense value is aliased instead of copied. Aliasing is safe
/// because inputs and results stay in place during a run.
Status HostSteps::pack(const step::Launch& launch) {
  const Slot &from = values_.plan.slot(launch.in[0]), &to = values_.plan.slot(launch.out[0]);
  Sizes sizes, strides;
  values_.sizes_of(from, sizes);
  const Sizes plain = contiguous_strides(sizes);
  for (Reg r : from.strides) strides.push_back(values_.regs[r]);
  bool dense = true;
  for (std::size_t d = 0; d < sizes.size(); ++d) dense &= sizes[d] == 1 || strides[d] == plain[d];
  if (values_.plan.storages[to.storage].place == Place::arena) {
    values_.base[to.storage] = dense ? values_.pointer(launch.in[0]) : memory_.arena_address(to.storage);
    if (dense) return {};
  }
  FRAZIL_CHECK(memory_.ensure_results(launch.out));
  kernel::copy_strided(values_.pointer(launch.out[0]), plain, values_.pointer(launch.in[0]), strides, sizes,
                       static_cast<std::int64_t>(byte_size(from.elem)));
  return {};
}

Result<std::byte*> HostSteps::place_output(const step::Launch& launch, std::size_t k,
                                           std::span<const std::int64_t> sizes) {
  const Slot& slot = values_.plan.slot(launch.out[k]);
  if (sizes.size() != slot.dims.size()) {
    return fail(Code::internal, "output {} has rank {}, planned {}", k, sizes.size(), slot.dims.size());
  }
  for (const auto& e : launch.extents) {
    if (e.output == k) values_.regs[e.to] = sizes[e.axis];
  }
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::int64_t planned = values_.regs[slot.dims[axis]];
    if (std::min(planned, Dim::kMax) == std::min(sizes[axis], Dim::kMax))
      continue;  // larger values are refused by the size limit
    return fail(Code::internal, "output {} has the extent {} along axis {}, planned {}", k, sizes[axis], axis, planned);
  }
  FRAZIL_TRY(const std::size_t bytes, byte_count(slot.elem, sizes));
  const Storage& storage = values_.plan.storages[slot.storage];
  if (storage.place == Place::growing) {
    FRAZIL_CHECK(memory_.ensure(slot.storage, std::max<std::size_t>(bytes, 64)));
  } else if (bytes > static_cast<std::size_t>(values_.regs[storage.bytes])) {
    return fail(Code::internal, "output {} takes {} bytes, planned {}", k, bytes, values_.regs[storage.bytes]);
  }
  return values_.base[slot.storage];
}

void HostSteps::put_output(const step::Launch& launch, std::size_t k, Datum value) {
  if (value.is_tensor()) {
    for (const auto& e : launch.extents) {
      if (e.output == k) values_.regs[e.to] = value.tensor().sizes()[e.axis];
    }
  }
  values_.object(launch.out[k]) = std::move(value);
}

HostCall::HostCall(HostSteps& host, const Node& node, const step::Launch& launch)
    : host_(host), node_(node), launch_(launch) {
  inputs_ = launch.in.size();
  outputs_ = launch.out.size();
  attrs_ = node.attrs.get();
  std::size_t rank = 0;
  for (SlotId s : launch.in) rank += s ? host.values_.plan.slot(s).dims.size() : 0;
  if (host.sizes_.size() < rank) host.sizes_.resize(rank);
}

Result<bool> HostCall::wait(const std::shared_ptr<Event>& event) {
  if (!host_.context_.may_leave) return block(*event);
  waits_ = !event->fired();
  if (waits_) host_.context_.event = event;
  return !waits_;
}

TensorView HostCall::in(std::size_t i) const {
  const Values& values = host_.values_;
  const Slot& slot = values.plan.slot(launch_.in[i]);
  if (slot.object) {
    const Tensor& t = values.objects[slot.storage].tensor();
    return {t.elem(), t.sizes(), t.data()};
  }
  std::size_t at = 0;
  for (std::size_t k = 0; k < i; ++k) at += launch_.in[k] ? values.plan.slot(launch_.in[k]).dims.size() : 0;
  std::int64_t* const sizes = host_.sizes_.data() + at;
  for (std::size_t d = 0; d < slot.dims.size(); ++d) sizes[d] = values.regs[slot.dims[d]];
  return {slot.elem, {sizes, slot.dims.size()}, values.pointer(launch_.in[i])};
}

/// Returns a copy, because the operator may keep the value in a sequence.
Datum HostCall::datum(std::size_t i) const {
  auto value = host_.values_.owned(launch_.in[i]);
  if (value) return std::move(*value);
  if (status_) status_ = std::unexpected(std::move(value).error());
  return Datum();
}

Result<std::byte*> HostCall::out(std::size_t i, std::span<const std::int64_t> sizes) {
  if (!wants(i)) return fail(Code::internal, "output {} is not wanted", i);
  const Slot& slot = host_.values_.plan.slot(launch_.out[i]);
  if (!slot.object) return host_.place_output(launch_, i, sizes);
  FRAZIL_TRY(Tensor t, Tensor::make(slot.elem, Sizes(sizes.begin(), sizes.end())));
  host_.put_output(launch_, i, Datum(std::move(t)));
  return host_.values_.object(launch_.out[i]).mutable_tensor().mutable_data();
}

bool HostCall::shares(std::size_t i) const { return wants(i) && !host_.values_.plan.graph->type(node_.out[i]).ranked; }

Status HostCall::put(std::size_t i, Datum value) {
  if (!wants(i)) return fail(Code::internal, "output {} is not wanted", i);
  host_.put_output(launch_, i, std::move(value));
  return {};
}

}  // namespace frazil::exec
