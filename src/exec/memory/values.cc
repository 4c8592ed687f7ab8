#include "exec/memory/values.h"

#include <algorithm>
#include <cstring>

#include "ir/infer/negative_extent.h"
#include "kernel/move/copy.h"
#include "sym/saturate.h"

namespace frazil::exec {

Values::Values(const Plan& of)
    : plan(of),
      regs(of.registers, 0),
      base(of.storages.size(), nullptr),
      objects(of.storages.size()),
      gathered(of.accumulators.size()) {
  reset();
}

void Values::reset() {
  std::ranges::fill(base, nullptr);
  for (Datum& object : objects) object = Datum();
  for (ref::Gathered& g : gathered) g = {};
  for (std::size_t i = 0; i < plan.storages.size(); ++i) {
    const Storage& s = plan.storages[i];
    if (s.place != Place::constant || s.device != kHost) continue;
    base[i] = const_cast<std::byte*>(plan.graph->constant(Value{s.index})->tensor.data());
  }
  for (const Slot& slot : plan.slots) {
    if (!slot.object || !slot.value) continue;
    if (const Constant* c = plan.graph->constant(slot.value)) objects[slot.storage] = Datum(c->tensor);
  }
}

std::int64_t Values::integer(SlotId s, std::uint32_t i) const {
  const std::byte* const p = pointer(s);
  switch (plan.slot(s).elem) {
    case Elem::i64: {
      std::int64_t v;
      std::memcpy(&v, p + 8 * std::size_t{i}, sizeof v);
      return v;
    }
    case Elem::i32: {
      std::int32_t v;
      std::memcpy(&v, p + 4 * std::size_t{i}, sizeof v);
      return v;
    }
    default: return static_cast<std::int64_t>(p[i]);
  }
}

std::int64_t Values::scalar(SlotId s) const { return integer(s, 0); }

void Values::sizes_of(const Slot& slot, Sizes& sizes) const {
  sizes.clear();
  for (Reg r : slot.dims) sizes.push_back(regs[r]);
}

Sizes Values::strides_of(const Slot& slot, const Sizes& sizes) const {
  if (slot.strides.empty()) return contiguous_strides(sizes);
  Sizes strides;
  for (Reg r : slot.strides) strides.push_back(regs[r]);
  return strides;
}

Datum Values::view(SlotId s) const {
  const Slot& slot = plan.slot(s);
  if (slot.object) return objects[slot.storage];
  Sizes sizes;
  sizes_of(slot, sizes);
  const auto bytes = static_cast<std::size_t>(element_count(sizes)) * byte_size(slot.elem);
  const Buffer memory = Buffer::borrow({pointer(s), bytes}, nullptr);
  Sizes strides = contiguous_strides(sizes);
  return Datum(Tensor(slot.elem, std::move(sizes), std::move(strides), memory, 0));
}

bool Values::holds(const Datum& value, const Slot& slot) const {
  if (!value.is_tensor()) return false;
  const Tensor& t = value.tensor();
  if (t.elem() != slot.elem || t.rank() != slot.dims.size()) return false;
  for (std::size_t i = 0; i < slot.dims.size(); ++i) {
    if (t.sizes()[i] != regs[slot.dims[i]]) return false;
  }
  return t.contiguous() && t.buffer().unique() && t.buffer().writable();
}

namespace {

/// Returns the memory that the caller lends for a result of any extents, as a u8 tensor. Returns an empty buffer if the
/// result does not fit.
Buffer lent_memory(const Datum& value, Elem elem, const Sizes& sizes) {
  if (!value.is_tensor() || elem == Elem::string) return {};
  const Tensor& t = value.tensor();
  if (t.elem() != Elem::u8 || t.rank() != 1 || !t.contiguous()) return {};
  if (!t.buffer().unique() || !t.buffer().writable() || t.data() != t.buffer().data()) return {};
  const auto bytes = byte_count(elem, sizes);
  const bool fits = bytes && *bytes <= t.bytes() && reinterpret_cast<std::uintptr_t>(t.data()) % byte_size(elem) == 0;
  return fits ? t.buffer() : Buffer();
}

}  // namespace

Status Values::make_tensor(const Slot& slot, Datum& in) const {
  if (holds(in, slot)) return {};
  Sizes sizes;
  sizes_of(slot, sizes);
  if (Buffer lent = lent_memory(in, slot.elem, sizes)) {
    FRAZIL_TRY(in, Tensor::over(slot.elem, std::move(sizes), std::move(lent)));
    return {};
  }
  FRAZIL_TRY(in, Tensor::make(slot.elem, sizes));
  return {};
}

Status Values::copy_out(SlotId s, Datum& to) const {
  const Slot& slot = plan.slot(s);
  FRAZIL_CHECK(make_tensor(slot, to));
  Tensor& t = to.mutable_tensor();
  if (slot.strides.empty()) {
    if (const std::size_t bytes = t.bytes(); bytes != 0) std::memcpy(t.mutable_data(), pointer(s), bytes);
    return {};
  }
  kernel::copy_strided(t.mutable_data(), t.strides(), pointer(s), strides_of(slot, t.sizes()), t.sizes(),
                       static_cast<std::int64_t>(byte_size(slot.elem)));
  return {};
}

Result<Datum> Values::owned(SlotId s) const {
  if (plan.slot(s).object) return objects[plan.slot(s).storage];
  Datum copy;
  FRAZIL_CHECK(copy_out(s, copy));
  return copy;
}

std::string Values::describe(const Slot& slot) const {
  if (!slot.value) return "a value";
  Sizes sizes;
  sizes_of(slot, sizes);
  const std::string& name = plan.graph->value_name(slot.value);
  const auto node = plan.graph->producer(slot.value);
  return fmt::format("value {}{}{}", name.empty() ? "" : fmt::format("'{}' ", name), type_str(slot.elem, sizes),
                     node ? " of " + plan.graph->describe(*node) : "");
}

Status Values::check_extents(const Slot& slot) const {
  for (std::size_t axis = 0; axis < slot.dims.size(); ++axis) {
    const std::int64_t extent = regs[slot.dims[axis]];
    if (extent >= 0) continue;
    const auto node = slot.value ? plan.graph->producer(slot.value) : std::nullopt;
    if (!node) return fail(Code::bad_input, "{} has a negative extent", describe(slot));
    return fail_at(plan.graph->describe(*node), Code::bad_input, "{}",
                   negative_extent(*plan.graph, slot.value, extent, axis));
  }
  return {};
}

std::string Values::describe_storage(std::uint32_t storage) const {
  const Slot* largest = nullptr;
  std::int64_t most = 0;
  for (const Slot& slot : plan.slots) {
    if (slot.storage != storage || slot.object) continue;
    auto count = static_cast<std::int64_t>(byte_size(slot.elem));
    for (const Reg r : slot.dims) count = sym::sat_mul(count, regs[r]);
    if (largest != nullptr && (count < most || (count == most && !slot.value))) continue;
    largest = &slot;
    most = count;
  }
  return largest == nullptr ? "a value" : describe(*largest);
}

std::string Values::where(const Step& step) const {
  return step.node ? plan.graph->describe(step.node) : std::string();
}

}  // namespace frazil::exec
