#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/model/plan.h"
#include "ref/moves.h"
#include "tensor/datum.h"

namespace frazil::exec {

/// The address `elements` behind `base`. A tensor without elements may begin anywhere: of its address only the bits
/// are made.
inline std::byte* moved(std::byte* base, std::int64_t elements, std::uint64_t element_size) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(elements) * element_size;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an offset past all addresses is undefined for pointers only
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) + bytes);
}

/// Where the values of a session are: registers, and per storage the address of its bytes or its object.
class Values {
 public:
  explicit Values(const Plan& of);

  /// Weights go to their storages; everything else is forgotten.
  void reset();
  /// Of the slot's first element; null where nothing lies there.
  std::byte* pointer(SlotId s) const {
    const Slot& slot = plan.slot(s);
    return address(slot.storage, slot.offset, static_cast<std::uint32_t>(byte_size(slot.elem)));
  }
  /// Register `offset` elements into a storage; kNone is null.
  std::byte* address(std::uint32_t storage, Reg offset, std::uint32_t element_size) const {
    std::byte* const at = storage == kNone ? nullptr : base[storage];
    return offset == kNoReg || at == nullptr ? at : moved(at, regs[offset], element_size);
  }
  /// An integer scalar of i32 or i64.
  std::int64_t scalar(SlotId s) const;
  /// Element `i` of a tensor of i64, i32 or bool.
  std::int64_t integer(SlotId s, std::uint32_t i) const;
  void sizes_of(const Slot& slot, Sizes& sizes) const;
  void sizes_of(SlotId s, Sizes& sizes) const { sizes_of(plan.slot(s), sizes); }
  /// In elements; `sizes` are the slot's extents.
  Sizes strides_of(const Slot& slot, const Sizes& sizes) const;
  Datum& object(SlotId s) { return objects[plan.slot(s).storage]; }
  /// The value as a Datum; a tensor is a view of the session's memory.
  Datum view(SlotId s) const;
  /// Makes `in` a dense tensor of the slot's extents: the one there if its extents agree and nobody shares it.
  Status make_tensor(const Slot& slot, Datum& in) const;
  /// A dense copy of a tensor, in `to`'s memory as make_tensor() has it.
  Status copy_out(SlotId s, Datum& to) const;
  /// A value that may outlive the step.
  Result<Datum> owned(SlotId s) const;
  /// "value 'y' f32[1000,1000] of node 'Expand_3' (Expand)".
  std::string describe(const Slot& slot) const;
  /// Code::bad_input for a negative extent, in the words of inference.
  Status check_extents(const Slot& slot) const;
  /// Of the largest value that lies there; a part or a rearrangement of it has no name.
  std::string describe_storage(std::uint32_t storage) const;
  /// "node 'If_12' (If): ", or nothing for a step without a node.
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
