#pragma once

#include <vector>

#include "exec/device/device.h"
#include "exec/memory/values.h"
#include "exec/run/run_context.h"

namespace frazil::exec {

/// What a session has on the devices of one plan: an arena, weights and scratch on each. It puts their addresses into
/// Values, copies, and launches.
class DeviceMemory {
 public:
  DeviceMemory(RunContext& context, Values& values, const Devices& devices);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// True when a step of the plan runs on a device.
  bool any() const { return !used_.empty(); }
  /// For new extents: a place for all pools of each device's arena; weights are brought there once.
  Status lay_out();
  /// Returns when the copy is done, so that the host may use its memory again.
  Status transfer(const Step& step, const step::Transfer& transfer);
  /// A dense copy of a slot that a device has.
  Result<Tensor> read(SlotId s);
  /// Scratch memory of at least so many bytes.
  Result<std::byte*> scratch(DeviceId device, std::size_t bytes);
  /// Puts a kernel step into its device's queue. The session's fault slot and limits are set here.
  void launch(const Step& step, DeviceId device, DeviceCall call);
  /// Waits until `device` has done everything.
  void wait(DeviceId device);
  /// The same for all, and the fault that a kernel has reported.
  Status finish();
  /// Waits, forgets faults. Never fails.
  void abandon() noexcept;
  /// Gives everything back.
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
    Device::Event last = 0;      ///< of this session
    const Step* step = nullptr;  ///< that was launched last
  };

  Used& of(DeviceId id);
  Status ensure(Used& used, Memory& memory, std::size_t bytes);
  Status bring_weights(Used& used);
  std::size_t offset_pools(DeviceId id);

  RunContext& context_;
  Values& values_;
  const Plan& plan_;
  std::vector<Used> used_;
  std::vector<std::size_t> pool_offset_;
  code::FaultSlot fault_;
};

}  // namespace frazil::exec
