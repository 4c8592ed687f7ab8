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

/// One run of a kernel on a device's queue. Addresses are the device's.
struct DeviceCall {
  std::vector<std::byte*> pointers;  ///< of the operands, then of the results; null for an absent one
  std::size_t inputs = 0;
  std::shared_ptr<const code::CompiledStep> step;
  const void* state = nullptr;  ///< that the host prepared; stays as it is until the call is done
  std::byte* scratch = nullptr;
  std::int64_t units = 1;
  code::FaultSlot* fault = nullptr;
  ExecutionLimits* limits = nullptr;  ///< of the run; once these ask to stop, the call need not be finished
};

/// Something with a memory of its own that runs kernels. Its addresses are handles: they can be moved by bytes, and the
/// host never reads or writes there. What is put into its queue is done in that order. Thread-safe: sessions share it.
class Device {
 public:
  /// A place in the queue.
  using Event = std::uint64_t;

  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  /// Compiles the kernel for the device; null for one that stays on the host. Called while a plan is made.
  virtual std::shared_ptr<const code::CompiledStep> compile(const KernelParams& params,
                                                            const std::shared_ptr<const FusedKernel>& fused,
                                                            std::uint32_t inputs) const = 0;
  /// Memory aligned to 64 bytes; Code::out_of_memory. Released by its first address, with nothing left in the queue
  /// that uses it.
  virtual Result<std::byte*> allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;

  /// These return at once; the host's bytes stay as they are, or are not there yet, until the event is over.
  virtual Event copy_in(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual Event copy_out(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual Event launch(DeviceCall call) = 0;
  /// Returns when the event, and all before it, are over.
  virtual void wait(Event event) = 0;
};

/// The devices of a plan; DeviceId 1 is the first.
using Devices = std::vector<std::shared_ptr<Device>>;

}  // namespace frazil::exec
