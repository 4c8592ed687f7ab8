#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/model/plan.h"
#include "ref/moves.h"
#include "tensor/datum.h"

namespace frazil::exec {

/// Returns the address `elements` elements after `base`. Computes with integers because the offset of an empty tensor
/// may lie outside any allocation.
inline std::byte* moved(std::byte* base, std::int64_t elements, std::uint64_t element_size) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(elements) * element_size;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an offset past all addresses is undefined for pointers only
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) + bytes);
}

/// The values of a session: registers, and for each storage the address of its bytes or its object.
class Values {
 public:
  explicit Values(const Plan& of);

  /// Clears all addresses, objects and accumulators, then sets those of the weights. Registers keep their values.
  void reset();
  /// Returns the address of the slot's first element; null if its storage has no memory.
  std::byte* pointer(SlotId s) const {
    const Slot& slot = plan.slot(s);
    return address(slot.storage, slot.offset, static_cast<std::uint32_t>(byte_size(slot.elem)));
  }
  /// Returns the address `regs[offset]` elements into a storage; null for kNone or a storage without memory.
  std::byte* address(std::uint32_t storage, Reg offset, std::uint32_t element_size) const {
    std::byte* const at = storage == kNone ? nullptr : base[storage];
    return offset == kNoReg || at == nullptr ? at : moved(at, regs[offset], element_size);
  }
  /// Returns the value of an i32 or i64 scalar.
  std::int64_t scalar(SlotId s) const;
  /// Returns element `i` of a tensor of i64, i32 or bool.
  std::int64_t integer(SlotId s, std::uint32_t i) const;
  void sizes_of(const Slot& slot, Sizes& sizes) const;
  void sizes_of(SlotId s, Sizes& sizes) const { sizes_of(plan.slot(s), sizes); }
  /// Returns the slot's strides in elements. `sizes` are its extents.
  Sizes strides_of(const Slot& slot, const Sizes& sizes) const;
  Datum& object(SlotId s) { return objects[plan.slot(s).storage]; }
  /// Returns the value as a Datum. A tensor is a view of the session's memory.
  Datum view(SlotId s) const;
  /// Makes `in` a dense tensor of the slot's extents. Reuses the tensor in it if type and extents match and nothing
  /// else shares it.
  Status make_tensor(const Slot& slot, Datum& in) const;
  /// Copies a tensor to `to` in dense form. `to` gets its memory as in make_tensor().
  Status copy_out(SlotId s, Datum& to) const;
  /// Returns the value as a Datum that may outlive the step.
  Result<Datum> owned(SlotId s) const;
  /// Returns text such as "value 'y' f32[1000,1000] of node 'Expand_3' (Expand)".
  std::string describe(const Slot& slot) const;
  /// Returns Code::bad_input for a negative extent, with the message that inference uses.
  Status check_extents(const Slot& slot) const;
  /// Describes the largest value in the storage. Of equally large ones it prefers a value of the graph to a part or a
  /// rearrangement, which has no name.
  std::string describe_storage(std::uint32_t storage) const;
  /// Returns "node 'If_12' (If)", or "" for a step without a node.
  std::string where(const Step& step) const;

  const Plan& plan;
  std::vector<std::int64_t> regs;
  std::vector<std::byte*> base;         ///< per storage
  std::vector<Datum> objects;           ///< per storage
  std::vector<ref::Gathered> gathered;  ///< per accumulator of objects

 private:
  bool holds(const Datum& value, const Slot& slot) const;
};

}  // namespace frazil::exec
