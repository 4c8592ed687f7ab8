#pragma once

#include <vector>

#include "exec/device/device.h"
#include "exec/memory/values.h"
#include "exec/run/run_context.h"

namespace frazil::exec {

/// The memory of a session on the devices of one plan: an arena, weights and scratch on each. Writes device addresses
/// into Values, copies, and launches.
class DeviceMemory {
 public:
  DeviceMemory(RunContext& context, Values& values, const Devices& devices);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Returns true if a storage of the plan is on a device.
  bool any() const { return !used_.empty(); }
  /// Lays out each device's arena for new extents. Copies the weights to the device at the first call.
  Status lay_out();
  /// Copies a storage between host and device. Returns when the copy is complete.
  Status transfer(const Step& step, const step::Transfer& transfer);
  /// Returns a dense copy of a slot whose storage is on a device.
  Result<Tensor> read(SlotId s);
  /// Returns scratch memory of at least `bytes` bytes on the device.
  Result<std::byte*> scratch(DeviceId device, std::size_t bytes);
  /// Enqueues a kernel step. Sets the scratch memory, fault slot and limits of `call`.
  void launch(const Step& step, DeviceId device, DeviceCall call);
  /// Waits until `device` has completed all operations of this session.
  void wait(DeviceId device);
  /// Waits for all devices. Returns the fault that a kernel has reported.
  Status finish();
  /// Waits for all devices and discards faults. Never fails.
  void abandon() noexcept;
  /// Releases all device memory.
  void drop() noexcept;

 private:
  struct Memory {
    std::byte* at = nullptr;
    std::size_t bytes = 0;
  };
  struct Used {
    DeviceId id;
    Device* device;
    Memory arena, scratch;
    std::vector<Memory> weights;
    Device::Event last = 0;      ///< the session's last operation
    const Step* step = nullptr;  ///< the step launched last
  };

  Used& of(DeviceId id);
  Status ensure(Used& used, Memory& memory, std::size_t bytes);
  Status copy_weights_in(Used& used);
  std::size_t offset_pools(DeviceId id);

  RunContext& context_;
  Values& values_;
  const Plan& plan_;
  std::vector<Used> used_;
  std::vector<std::size_t> pool_offset_;
  code::FaultSlot fault_;
};

}  // namespace frazil::exec
