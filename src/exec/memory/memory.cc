#include "exec/memory/memory.h"

#include <algorithm>
#include <cstring>

#include "base/thread/poll_throttle.h"
#include "base/value/fill.h"

namespace frazil::exec {

const std::size_t Memory::kCapacityStep = sizeof(Growing);

Memory::Memory(RunContext& context, Values& values, const Devices& devices)
    : context_(context),
      values_(values),
      plan_(values.plan),
      pool_offset_(plan_.pools.size(), 0),
      growing_(plan_.storages.size()),
      devices_(context, values, devices) {
  for (std::uint32_t i = 0; i < plan_.storages.size(); ++i) {
    const Storage& s = plan_.storages[i];
    if (s.swapped && s.place == Place::arena && s.pool != kNone) swapped_.push_back(i);
  }
}

void Memory::drop() {
  devices_.drop();
  arena_ = scratch_ = Buffer();
  growing_bytes_ = 0;
  for (Growing& g : growing_) g = {};
}

// ---- limits ----

Status Memory::check_size(std::uint32_t storage, std::size_t bytes) const {
  const Limits& limits = context_.limits;
  if (bytes > limits.memory_bytes) {
    return fail(Code::limit, "{} takes {} bytes, the memory limit is {}", values_.describe_storage(storage), bytes,
                limits.memory_bytes);
  }
  if (bytes <= limits.tensor_elements) return {};
  const auto at = std::ranges::find(plan_.slots, storage, &Slot::storage);
  const std::size_t elements = at == plan_.slots.end() ? 0 : bytes / byte_size(at->elem);
  if (elements <= limits.tensor_elements) return {};
  return fail(Code::limit, "{} has more elements than the limit of {}", values_.describe_storage(storage),
              limits.tensor_elements);
}

Status Memory::check_kept(std::string_view what, std::size_t before, std::size_t after) const {
  const std::size_t others = arena_.size() + scratch_.size() + growing_bytes_ - before;
  const std::size_t most = context_.limits.arena_bytes;
  if (after <= most && others <= most - after) return {};
  return fail(Code::limit, "{} would take the {} bytes that the session keeps to {}, the arena limit is {}", what,
              others + before, after > SIZE_MAX - others ? SIZE_MAX : others + after, most);
}

// ---- arena ----

Status Memory::lay_out_arena() {
  for (std::uint32_t i = 0; i < plan_.storages.size(); ++i) {
    const Storage& s = plan_.storages[i];
    if (s.place == Place::arena && s.pool != kNone && s.bytes != kNoReg) {
      FRAZIL_CHECK(check_size(i, static_cast<std::size_t>(std::max<std::int64_t>(values_.regs[s.bytes], 0))));
    }
  }
  const std::size_t max_bytes = context_.limits.memory_bytes;
  std::size_t total = 0;
  for (std::size_t p = 0; p < plan_.pools.size() && total <= max_bytes; ++p) {
    if (plan_.pool_device[p] != kHost) continue;
    pool_offset_[p] = total;
    std::int64_t most = 0;
    for (Reg r : plan_.pools[p]) most = std::max(most, values_.regs[r]);
    total += aligned(static_cast<std::size_t>(most));
  }
  if (total > max_bytes) {
    return fail(Code::limit, "the values of this run take at least {} bytes together, the memory limit is {}", total,
                max_bytes);
  }
  if (total > arena_.size()) {
    FRAZIL_CHECK(check_kept("the values of this run", arena_.size(), total));
    arena_ = Buffer();
    FRAZIL_TRY(arena_, Buffer::allocate(total));
  }
  for (std::uint32_t i = 0; i < plan_.storages.size(); ++i) {
    const Storage& s = plan_.storages[i];
    if (s.place == Place::arena && s.pool != kNone && s.device == kHost) values_.base[i] = arena_address(i);
  }
  return devices_.lay_out();
}

std::byte* Memory::arena_address(std::uint32_t storage) const {
  return arena_.data() + pool_offset_[plan_.storages[storage].pool];
}

void Memory::begin() {
  for (std::uint32_t s : swapped_) values_.base[s] = arena_address(s);
  if (!fills_unwritten()) return;
  for (const Buffer* buffer : {&arena_, &scratch_}) fill_unwritten({buffer->data(), buffer->size()});
  for (const Growing& g : growing_) fill_unwritten({g.buffer.data(), g.buffer.size()});
}

/// Frees the old block first, so that only the larger one counts against a memory limit.
Result<std::byte*> Memory::larger_scratch(std::size_t bytes) {
  FRAZIL_CHECK(check_kept("scratch memory", scratch_.size(), bytes));
  scratch_ = Buffer();
  FRAZIL_TRY(scratch_, Buffer::allocate(bytes));
  return scratch_.data();
}

// ---- growing buffers ----

Status Memory::ensure(std::uint32_t storage, std::size_t bytes, bool keep) {
  const std::size_t capacity = growing_[storage].capacity;
  if (bytes <= capacity) return {};
  return grow(storage, bytes, std::max(bytes, keep ? capacity * 2 : capacity + capacity / 4), keep);
}

Status Memory::ensure_as_much(std::uint32_t storage, std::size_t bytes) {
  return bytes <= growing_[storage].capacity ? Status() : grow(storage, bytes, bytes, true);
}

Status Memory::grow(std::uint32_t storage, std::size_t bytes, std::size_t wanted, bool keep) {
  Growing& g = growing_[storage];
  FRAZIL_CHECK(check_size(storage, bytes));
  if (context_.limits.arena_bytes < Limits{}.arena_bytes) {
    FRAZIL_CHECK(check_kept(values_.describe_storage(storage), g.capacity, wanted));
  }
  growing_bytes_ -= g.capacity;
  if (!keep) g = {};
  auto grown = Buffer::allocate(wanted);
  if (!grown) {
    growing_bytes_ += g.capacity;
    return within(values_.describe_storage(storage) + ": ", std::move(grown).error());
  }
  growing_bytes_ += wanted;
  if (keep && g.capacity > 0) std::memcpy(grown->data(), g.buffer.data(), g.capacity);
  g.buffer = std::move(*grown);
  g.capacity = wanted;
  values_.base[storage] = g.buffer.data();
  return {};
}

Status Memory::ensure_results(const std::vector<SlotId>& slots) {
  for (SlotId s : slots) {
    if (!s) continue;
    const std::uint32_t id = plan_.slot(s).storage;
    const Storage& storage = plan_.storages[id];
    if (storage.place != Place::growing || storage.bytes == kNoReg) continue;
    FRAZIL_CHECK(ensure(id, static_cast<std::size_t>(std::max<std::int64_t>(values_.regs[storage.bytes], 64))));
  }
  return {};
}

Status Memory::reserve(const step::Reserve& step) {
  const Accumulator& acc = plan_.accumulators[step.accumulator.id];
  const auto part = static_cast<std::size_t>(std::max<std::int64_t>(values_.regs[step.bytes], 0));
  const auto count = static_cast<std::size_t>(values_.regs[acc.count]);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(part, count, &bytes) ||
      __builtin_add_overflow(bytes, std::max<std::size_t>(part, 64), &bytes)) {
    bytes = SIZE_MAX;
  }
  return ensure(acc.storage, bytes, true);
}

std::size_t bytes_for(const AxisRows& rows, std::size_t capacity) {
  std::size_t block = 0, bytes = 0;
  const bool fits =
      !__builtin_mul_overflow(rows.row_bytes, capacity, &block) && !__builtin_mul_overflow(block, rows.blocks, &bytes);
  return fits ? bytes : SIZE_MAX;
}

namespace {

/// Copies the used rows of each block between buffers of different capacities.
void move_rows(std::byte* to, std::size_t to_capacity, const std::byte* from, std::size_t from_capacity,
               const AxisRows& rows) {
  PollThrottle throttle;
  const std::size_t bytes = rows.row_bytes * rows.rows;
  for (std::size_t b = 0; bytes != 0 && b < rows.blocks && !throttle.stop(static_cast<std::int64_t>(bytes / 4)); ++b) {
    std::memcpy(to + b * to_capacity * rows.row_bytes, from + b * from_capacity * rows.row_bytes, bytes);
  }
}

}  // namespace

/// Grows a loop's variable. Moves its contents only when its capacity is used up; the capacity then doubles.
Status Memory::grow(const step::Grow& step) {
  const Slot& slot = plan_.slot(step.of);
  Growing& g = growing_[slot.storage];
  std::int64_t& capacity = values_.regs[step.capacity];
  const auto needed = static_cast<std::size_t>(std::max<std::int64_t>(values_.regs[step.needed], 0));
  if (step.keep && needed <= static_cast<std::size_t>(capacity)) return {};
  values_.sizes_of(slot, sizes_);
  const AxisRows rows(byte_size(slot.elem), sizes_, step.axis);
  const std::size_t row = bytes_for(rows, 1), bytes = bytes_for(rows, needed);
  if (!step.keep && bytes <= g.capacity && g.capacity > 0) {
    capacity = static_cast<std::int64_t>(row == 0 ? needed : g.capacity / row);
    return {};
  }
  FRAZIL_CHECK(check_size(slot.storage, bytes));
  if (!step.keep) {
    growing_bytes_ -= g.capacity;
    g = {};
  }
  std::size_t made_count = 0;
  auto made = with_spare(needed, made_count, [&](std::size_t count) -> Result<Buffer> {
    const std::size_t wanted = bytes_for(rows, count);
    FRAZIL_CHECK(check_kept("it", g.capacity, wanted));
    return Buffer::allocate(wanted);
  });
  if (!made) return within(values_.describe_storage(slot.storage) + ": ", std::move(made).error());
  growing_bytes_ += bytes_for(rows, made_count) - g.capacity;
  if (step.keep) move_rows(made->data(), made_count, g.buffer.data(), static_cast<std::size_t>(capacity), rows);
  g = {std::move(*made), bytes_for(rows, made_count)};
  values_.base[slot.storage] = g.buffer.data();
  capacity = static_cast<std::int64_t>(made_count);
  return {};
}

}  // namespace frazil::exec
