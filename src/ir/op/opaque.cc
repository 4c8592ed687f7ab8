#include "ir/op/opaque.h"

#include "base/limits/execution_limits.h"

namespace frazil {

Result<bool> OpaqueCall::block(Event& event) {
  constexpr std::chrono::milliseconds kPollEvery(5);
  ExecutionLimits* const limits = ExecutionLimits::current();
  while (!event.wait_for(kPollEvery)) {
    if (limits != nullptr && limits->poll()) return limits->reason();
  }
  return true;
}

}  // namespace frazil
