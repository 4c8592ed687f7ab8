#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "code/native/native_plan.h"

namespace frazil::exec {

/// The launches of a plan that generated code may call.
class NativeCalls {
 public:
  /// `steps`: the number of steps of the plan; 0 if no code is generated for it.
  explicit NativeCalls(std::size_t steps) : calls_(steps) {}

  bool possible() const { return !calls_.empty(); }
  /// Allows code to call a prepared launch, which needs `scratch_bytes` bytes of scratch memory.
  void offer(StepIndex pc, const code::NativeCall& call, std::size_t scratch_bytes) {
    calls_[pc] = call;
    scratch_bytes_ = std::max(scratch_bytes_, scratch_bytes);
  }
  void withdraw(StepIndex pc) {
    if (possible()) calls_[pc].run = nullptr;
  }
  void withdraw_all() {
    for (code::NativeCall& c : calls_) c.run = nullptr;
  }
  /// Returns the array of NativeFrame::calls.
  code::NativeCall* data() { return possible() ? calls_.data() : nullptr; }
  /// Returns the bytes of scratch memory that suffice for any launch offered so far.
  std::size_t scratch_bytes() const { return scratch_bytes_; }

 private:
  std::vector<code::NativeCall> calls_;  // per step
  std::size_t scratch_bytes_ = 0;
};

}  // namespace frazil::exec
