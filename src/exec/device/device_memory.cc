#include "exec/device/device_memory.h"

#include <algorithm>

#include "kernel/move/copy.h"
#include "tensor/buffer.h"

namespace frazil::exec {

DeviceMemory::DeviceMemory(RunContext& context, Values& values, const Devices& devices)
    : context_(context), values_(values), plan_(values.plan), pool_offset_(plan_.pools.size(), 0) {
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const auto id = static_cast<DeviceId>(d + 1);
    const auto is_there = [&](const Storage& s) { return s.device == id; };
    if (std::ranges::any_of(plan_.storages, is_there)) used_.push_back({.id = id, .device = devices[d].get()});
  }
}

DeviceMemory::~DeviceMemory() { drop(); }

DeviceMemory::Used& DeviceMemory::of(DeviceId id) { return *std::ranges::find(used_, id, &Used::id); }

Status DeviceMemory::ensure(Used& used, Memory& memory, std::size_t bytes) {
  if (bytes <= memory.bytes) return {};
  used.device->wait(used.last);
  if (memory.at != nullptr) used.device->release(memory.at);
  memory = {};
  FRAZIL_TRY(memory.at, used.device->allocate(bytes));
  memory.bytes = bytes;
  return {};
}

/// Computes the offsets of the device's pools. Returns their total size in bytes.
std::size_t DeviceMemory::offset_pools(DeviceId id) {
  std::size_t total = 0;
  for (std::size_t p = 0; p < plan_.pools.size(); ++p) {
    if (plan_.pool_device[p] != id) continue;
    pool_offset_[p] = total;
    std::int64_t most = 0;
    for (Reg r : plan_.pools[p]) most = std::max(most, values_.regs[r]);
    total += aligned(static_cast<std::size_t>(most));
  }
  return total;
}

Status DeviceMemory::lay_out() {
  for (Used& used : used_) {
    FRAZIL_CHECK(ensure(used, used.arena, offset_pools(used.id)));
    for (std::uint32_t i = 0; i < plan_.storages.size(); ++i) {
      const Storage& s = plan_.storages[i];
      if (s.device != used.id || s.place != Place::arena || s.pool == kNone) continue;
      values_.base[i] = used.arena.at + pool_offset_[s.pool];
    }
    FRAZIL_CHECK(copy_weights_in(used));
  }
  return {};
}

Status DeviceMemory::copy_weights_in(Used& used) {
  for (std::uint32_t i = 0; i < plan_.storages.size(); ++i) {
    const Storage& s = plan_.storages[i];
    if (s.device != used.id || s.place != Place::constant || values_.base[i] != nullptr) continue;
    const Tensor& weight = plan_.graph->constant(Value{s.index})->tensor;
    FRAZIL_TRY(std::byte* const at, used.device->allocate(std::max<std::size_t>(weight.bytes(), 1)));
    used.weights.push_back({at, weight.bytes()});
    used.last = used.device->copy_in(at, weight.data(), weight.bytes());
    values_.base[i] = at;
  }
  return {};
}

Status DeviceMemory::transfer(const Step& step, const step::Transfer& transfer) {
  const Storage &from = plan_.storage(transfer.from), &to = plan_.storage(transfer.to);
  const bool in = from.device == kHost;
  Used& used = of(in ? to.device : from.device);
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(values_.regs[(in ? to : from).bytes], 0));
  ++(in ? context_.counters.copies_in : context_.counters.copies_out);
  if (bytes == 0) return {};
  std::byte *const source = values_.pointer(transfer.from), *const target = values_.pointer(transfer.to);
  used.last = in ? used.device->copy_in(target, source, bytes) : used.device->copy_out(target, source, bytes);
  used.device->wait(used.last);
  if (fault_.empty()) return {};
  return at_node(values_.where(step), fault_.take().error());
}

Result<Tensor> DeviceMemory::read(SlotId s) {
  const Slot& slot = plan_.slot(s);
  const Storage& storage = plan_.storage(s);
  Used& used = of(storage.device);
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(values_.regs[storage.bytes], 0));
  FRAZIL_TRY(Buffer whole, Buffer::allocate(std::max<std::size_t>(bytes, 1)));
  if (bytes != 0) used.device->wait(used.last = used.device->copy_out(whole.data(), values_.base[slot.storage], bytes));
  Sizes sizes;
  values_.sizes_of(slot, sizes);
  FRAZIL_TRY(Tensor made, Tensor::make(slot.elem, sizes));
  const auto width = static_cast<std::int64_t>(byte_size(slot.elem));
  const std::int64_t offset = slot.offset == kNoReg ? 0 : values_.regs[slot.offset] * width;
  kernel::copy_strided(made.mutable_data(), contiguous_strides(sizes), whole.data() + offset,
                       values_.strides_of(slot, sizes), sizes, width);
  return made;
}

Result<std::byte*> DeviceMemory::scratch(DeviceId device, std::size_t bytes) {
  Used& used = of(device);
  FRAZIL_CHECK(ensure(used, used.scratch, std::max<std::size_t>(bytes, 1)));
  return used.scratch.at;
}

void DeviceMemory::launch(const Step& step, DeviceId device, DeviceCall call) {
  Used& used = of(device);
  call.scratch = used.scratch.at;
  call.fault = &fault_;
  call.limits = &context_.execution_limits;
  used.step = &step;
  ++context_.counters.device_steps;
  used.last = used.device->launch(std::move(call));
}

void DeviceMemory::wait(DeviceId device) {
  Used& used = of(device);
  used.device->wait(used.last);
}

Status DeviceMemory::finish() {
  const Step* step = nullptr;
  for (Used& used : used_) {
    used.device->wait(used.last);
    if (used.step != nullptr) step = used.step;
  }
  if (fault_.empty()) return {};
  return at_node(step != nullptr ? values_.where(*step) : "", fault_.take().error());
}

void DeviceMemory::abandon() noexcept {
  for (Used& used : used_) used.device->wait(used.last);
  if (!fault_.empty()) [[maybe_unused]]
    const auto dropped = fault_.take();
}

void DeviceMemory::drop() noexcept {
  abandon();
  for (Used& used : used_) {
    for (Memory* memory : {&used.arena, &used.scratch}) {
      if (memory->at != nullptr) used.device->release(std::exchange(memory->at, nullptr));
      memory->bytes = 0;
    }
    for (const Memory& weight : used.weights) used.device->release(weight.at);
    used.weights.clear();
  }
  for (std::size_t i = 0; i < plan_.storages.size(); ++i) {
    if (plan_.storages[i].device != kHost) values_.base[i] = nullptr;
  }
}

}  // namespace frazil::exec
