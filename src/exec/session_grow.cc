#include <algorithm>
#include <cstring>

#include "base/stop.h"
#include "exec/session.h"
#include "kernel/copy.h"
#include "tensor/strided.h"

namespace frazil {
namespace {

constexpr std::size_t kFewest = 16;  // rows that a value has room for once it has grown

std::size_t bytes_for(const AxisRows& rows, std::size_t capacity) {
  std::size_t block = 0, bytes = 0;
  const bool fits =
      !__builtin_mul_overflow(rows.row_bytes, capacity, &block) && !__builtin_mul_overflow(block, rows.blocks, &bytes);
  return fits ? bytes : SIZE_MAX;
}

/// `make` with twice the rows, or with what is needed where a limit does not allow that.
template <class Make>
auto with_spare(std::size_t needed, std::size_t& capacity, Make make) -> decltype(make(needed)) {
  capacity = std::max(needed > SIZE_MAX / 2 ? needed : 2 * needed, kFewest);
  auto made = make(capacity);
  if (made || (made.error().code != Code::limit && made.error().code != Code::out_of_memory)) return made;
  capacity = needed;
  return make(capacity);
}

/// The first `rows` of each block, from blocks of one capacity into those of another.
void move_rows(std::byte* to, std::size_t to_capacity, const std::byte* from, std::size_t from_capacity,
               const AxisRows& rows, std::size_t count) {
  Pace pace;
  const std::size_t bytes = rows.row_bytes * count;
  for (std::size_t b = 0; bytes != 0 && b < rows.blocks && !pace.stop(static_cast<std::int64_t>(bytes / 4)); ++b) {
    std::memcpy(to + b * to_capacity * rows.row_bytes, from + b * from_capacity * rows.row_bytes, bytes);
  }
}

}  // namespace

/// Of a loop's variable. What it holds is moved only when the room is used up, which is twice as much each time.
Status Session::grow(const Step& step) {
  const Slot& slot = plan_.slots[step.out[0]];
  Growing& g = growing_[slot.storage];
  std::int64_t& capacity = regs_[step.index];
  const auto needed = static_cast<std::size_t>(std::max<std::int64_t>(regs_[step.limit], 0));
  if (step.in_place && needed <= static_cast<std::size_t>(capacity)) return {};
  sizes_of(slot, sizes_);
  const AxisRows rows(byte_size(slot.elem), sizes_, static_cast<std::size_t>(step.number));
  const std::size_t row = bytes_for(rows, 1), bytes = bytes_for(rows, needed);
  if (!step.in_place && bytes <= g.capacity && g.capacity > 0) {
    capacity = static_cast<std::int64_t>(row == 0 ? needed : g.capacity / row);
    return {};
  }
  FRAZIL_CHECK(check_size(slot.storage, bytes));
  if (!step.in_place) {
    growing_bytes_ -= g.capacity;
    g = {};
  }
  std::size_t room = 0;
  auto made = with_spare(needed, room, [&](std::size_t count) -> Result<Buffer> {
    const std::size_t wanted = bytes_for(rows, count);
    FRAZIL_CHECK(check_arena("it", g.capacity, wanted));
    return Buffer::allocate(wanted);
  });
  if (!made) return within(account_of(slot.storage) + ": ", std::move(made).error());
  growing_bytes_ += bytes_for(rows, room) - g.capacity;
  if (step.in_place) {
    move_rows(made->data(), room, g.buffer.data(), static_cast<std::size_t>(capacity), rows, rows.rows);
  }
  g = {std::move(*made), bytes_for(rows, room)};
  base_[slot.storage] = g.buffer.data();
  capacity = static_cast<std::int64_t>(room);
  return {};
}

Status Session::reserve(const Step& step) {
  const Accumulator& acc = plan_.accumulators[step.index];
  const auto each = static_cast<std::size_t>(std::max<std::int64_t>(regs_[step.limit], 64));
  const auto count = static_cast<std::size_t>(regs_[acc.count]);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(std::max<std::int64_t>(regs_[step.limit], 0)), count, &bytes) ||
      __builtin_add_overflow(bytes, each, &bytes)) {
    bytes = SIZE_MAX;
  }
  return ensure(acc.storage, bytes, true);
}

/// A value that requests carry has gaps only when they do. Inputs and results stay where they are while a run lasts.
Status Session::pack(const Step& step) {
  const Slot &from = plan_.slots[step.in[0]], &to = plan_.slots[step.out[0]];
  const Storage& place = plan_.storages[to.storage];
  sizes_of(from, sizes_);
  const Sizes plain = contiguous_strides(sizes_);
  Sizes strides;
  for (Reg r : from.strides) strides.push_back(regs_[r]);
  bool dense = true;
  for (std::size_t d = 0; d < sizes_.size(); ++d) dense &= sizes_[d] == 1 || strides[d] == plain[d];
  if (place.place == Place::arena) {
    base_[to.storage] = dense ? pointer(step.in[0]) : arena_.data() + pool_offset_[place.pool];
    if (dense) return {};
  }
  FRAZIL_CHECK(ensure_outputs(step));
  kernel::copy_strided(pointer(step.out[0]), plain, pointer(step.in[0]), strides, sizes_,
                       static_cast<std::int64_t>(byte_size(from.elem)));
  return {};
}

/// Takes the room behind what `old` holds, where nobody else has.
bool Session::claim_room(Handed& handed, const Tensor& old, const AxisRows& rows, std::size_t axis) {
  const Buffer& buffer = old.buffer();
  const std::size_t block = buffer.block_bytes();
  if (block == 0 || rows.row_bytes == 0 || block % rows.row_bytes != 0) return false;
  if (old.data() != buffer.data() || buffer.size() / block != rows.blocks) return false;
  const bool one_block = rows.blocks == 1 && old.contiguous();
  const auto capacity = static_cast<std::int64_t>(block / rows.row_bytes);
  if (!one_block && capacity_along(old, axis) != capacity) return false;
  const std::size_t from = static_cast<std::size_t>(old.sizes()[axis]) * rows.row_bytes;
  const std::size_t to = rows.rows * rows.row_bytes;
  if (!buffer.claim(from, to)) return false;
  handed = {.last = buffer.tag(), .claimed = buffer, .from = from, .to = to};
  return true;
}

/// At the end of a run. After a failure what it took may be taken again.
void Session::settle_claims(bool failed) {
  for (Handed& handed : handed_) {
    if (!handed.claimed) continue;
    if (failed) handed.claimed.unclaim(handed.from, handed.to);
    handed.claimed = Buffer();
  }
}

/// The tensor of a result that begins with an input. Where that input is a result of a run before, has room, and nobody
/// else has taken the room, it is the same memory, and the input goes on to be what it was.
Result<Tensor> Session::grown_result(std::uint32_t index, Datum& reuse) {
  const Plan::Append& append = plan_.appends[index];
  const Slot& slot = plan_.slots[append.slot];
  const Tensor& old = held_inputs_[append.input];
  std::int64_t& capacity = regs_[append.capacity];
  sizes_of(slot, sizes_);
  const Sizes sizes = sizes_;
  const AxisRows rows(byte_size(slot.elem), sizes, append.axis);
  FRAZIL_CHECK(check_size(slot.storage, bytes_for(rows, rows.rows)));
  Handed& handed = handed_[index];
  const auto spaced = [&](Buffer buffer, std::size_t room) {
    capacity = static_cast<std::int64_t>(room);
    return Tensor(slot.elem, sizes, spaced_strides(sizes, append.axis, capacity), std::move(buffer), 0);
  };
  const bool may_have_gaps = strided_results_ || rows.blocks == 1;
  if (may_have_gaps && claim_room(handed, old, rows, append.axis)) {
    return spaced(old.buffer(), old.buffer().block_bytes() / rows.row_bytes);
  }
  const bool carried = old.buffer().is(handed.last) || old.buffer().block_bytes() != 0;
  if (!carried || !may_have_gaps || bytes_for(rows, 1) == 0) {
    FRAZIL_TRY(Tensor plain, fresh_tensor(slot.elem, sizes, reuse));
    capacity = sizes[append.axis];
    handed.last = plain.buffer().tag();
    return plain;
  }
  std::size_t room = 0;
  FRAZIL_TRY(Buffer made, with_spare(rows.rows, room, [&](std::size_t count) -> Result<Buffer> {
               const std::size_t bytes = bytes_for(rows, count);
               if (bytes == SIZE_MAX) return Buffer::allocate(bytes);
               return Buffer::with_room(rows.blocks, bytes / rows.blocks, rows.row_bytes * rows.rows);
             }));
  handed.last = made.tag();
  return spaced(std::move(made), room);
}

}  // namespace frazil
