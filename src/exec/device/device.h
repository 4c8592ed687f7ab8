#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/limits/execution_limits.h"
#include "code/abi/abi.h"
#include "plan/model/kernel_params.h"

namespace frazil {
struct FusedKernel;
}

namespace frazil::exec {

/// A launch of a kernel step in a device's queue. `pointers` and `scratch` are device addresses.
struct DeviceCall {
  std::vector<std::byte*> pointers;  ///< inputs, then outputs; null for an absent one
  std::size_t inputs = 0;
  std::shared_ptr<const code::CompiledStep> step;
  const void* state = nullptr;  ///< prepared by the host; unchanged until the call completes
  std::byte* scratch = nullptr;
  std::int64_t units = 1;
  code::FaultSlot* fault = nullptr;
  ExecutionLimits* limits = nullptr;  ///< limits of the run; the call may end early once they request a stop
};

/// A device: owns memory and runs kernels from an in-order queue. Its addresses are handles: the host may add byte
/// offsets to them, but never reads or writes there. Thread-safe; sessions share a device.
class Device {
 public:
  /// A position in the queue.
  using Event = std::uint64_t;

  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  /// Compiles the kernel for the device; returns null if the step stays on the host. Called during planning.
  virtual std::shared_ptr<const code::CompiledStep> compile(const KernelParams& params,
                                                            const std::shared_ptr<const FusedKernel>& fused,
                                                            std::uint32_t inputs) const = 0;
  /// allocate() returns memory aligned to 64 bytes, or Code::out_of_memory. release() takes the first address of an
  /// allocation that nothing in the queue uses.
  virtual Result<std::byte*> allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;

  /// These enqueue an operation and return immediately. Until the event completes, the host must not change the source
  /// of copy_in() nor read the target of copy_out().
  virtual Event copy_in(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual Event copy_out(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual Event launch(DeviceCall call) = 0;
  /// Waits until `event` and all earlier ones have completed.
  virtual void wait(Event event) = 0;
};

/// The devices of a plan. DeviceId 1 is the first.
using Devices = std::vector<std::shared_ptr<Device>>;

}  // namespace frazil::exec
