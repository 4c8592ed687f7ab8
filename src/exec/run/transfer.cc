#include "exec/run/transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernel/move/copy.h"

namespace frazil::exec {

Result<bool> Transfer::run(const Resume& resume) {
  // Before, because steps that run on the way were prepared for other extents. After, even if only some values were
  // copied.
  forget(resume);
  Result<bool> done = act(resume.actions);
  forget(resume);
  return done;
}

void Transfer::forget(const Resume& resume) {
  for (const std::uint32_t group : resume.groups) groups_.forget(group);
}

Result<bool> Transfer::act(std::span<const Resume::Action> actions) {
  for (const Resume::Action& action : actions) {
    FRAZIL_TRY(const bool done, std::visit([&](const auto& a) { return act(a); }, action));
    if (!done) return false;
  }
  return true;
}

Result<bool> Transfer::act(const Resume::Run& run) {
  FRAZIL_TRY(const auto exit, interpreter_.run(run.begin, run.end));
  return !exit;
}

Result<bool> Transfer::act(const Resume::CopyRegister& copy) {
  to_.regs[copy.to] = from_.regs[copy.from];
  return true;
}

Result<bool> Transfer::act(const Resume::CopySlot& copy) {
  const Slot &to = to_.plan.slot(copy.to), &from = from_.plan.slot(copy.from);
  if (to.object) {
    FRAZIL_TRY(to_.object(copy.to), from_.owned(copy.from));
    return true;
  }
  if (from.object || from.elem != to.elem) return false;
  Sizes sizes, old_sizes;
  to_.sizes_of(to, sizes);
  from_.sizes_of(from, old_sizes);
  if (sizes != old_sizes) return false;
  FRAZIL_CHECK(make_room(to));
  std::byte *const target = to_.pointer(copy.to), *const source = from_.pointer(copy.from);
  const Sizes target_strides = to_.strides_of(to, sizes), source_strides = from_.strides_of(from, sizes);
  if (element_count(sizes) == 0 || (target == source && target_strides == source_strides)) return true;
  kernel::copy_strided(target, target_strides, source, source_strides, sizes,
                       static_cast<std::int64_t>(byte_size(to.elem)));
  return true;
}

Status Transfer::make_room(const Slot& slot) {
  const Storage& storage = to_.plan.storages[slot.storage];
  if (storage.place != Place::growing) return {};
  Sizes sizes;
  to_.sizes_of(slot, sizes);
  std::int64_t bytes = element_count(sizes) * static_cast<std::int64_t>(byte_size(slot.elem));
  if (storage.bytes != kNoReg) bytes = std::max(bytes, to_.regs[storage.bytes]);
  auto room = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 64));
  for (const Plan::Append& append : to_.plan.appends) {
    if (to_.plan.slot(append.slot).storage != slot.storage) continue;
    const AxisRows rows(byte_size(slot.elem), sizes, append.axis);
    room = std::max(room, bytes_for(rows, static_cast<std::size_t>(to_.regs[append.capacity])));
  }
  return memory_.ensure_as_much(slot.storage, room);
}

Result<bool> Transfer::act(const Resume::CopyAccumulator& copy) {
  const Accumulator &to = to_.plan.accumulators[copy.to.id], &from = from_.plan.accumulators[copy.from.id];
  if (to.object != from.object || to.elem != from.elem || to.dims.size() != from.dims.size()) return false;
  to_.gathered[copy.to.id] = std::exchange(from_.gathered[copy.from.id], {});
  to_.regs[to.count] = from_.regs[from.count];
  std::int64_t bytes = from_.regs[from.count] * static_cast<std::int64_t>(byte_size(from.elem));
  for (std::size_t i = 0; i < to.dims.size(); ++i) {
    to_.regs[to.dims[i]] = from_.regs[from.dims[i]];
    bytes *= from_.regs[from.dims[i]];
  }
  if (to.object) return true;
  FRAZIL_CHECK(memory_.ensure_as_much(to.storage, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 64))));
  if (bytes > 0) std::memcpy(to_.base[to.storage], from_.base[from.storage], static_cast<std::size_t>(bytes));
  return true;
}

}  // namespace frazil::exec
