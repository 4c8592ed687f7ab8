#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/thread/mutex.h"
#include "code/abi/abi.h"
#include "code/native/native.h"
#include "exec/device/device.h"
#include "plan/model/plan.h"

namespace frazil::exec {

/// The location of one operand.
struct OperandCode {
  std::uint32_t storage = kNone;  ///< kNone: absent
  Reg offset = kNoReg;
  std::uint32_t elem_size = 1;
};

/// The parts of a launch step that do not change between runs.
struct LaunchCode {
  std::atomic<const code::KernelEntry*> entry = nullptr;  ///< null: the session or a device runs the step
  std::uint32_t first = 0;                                ///< index of its first operand
  std::uint16_t inputs = 0, outputs = 0;
  bool grows = false;                              ///< a result is in growing storage
  bool grouped = false;                            ///< it may run at the same time as another step
  std::size_t state = 0;                           ///< offset of its first entry's state in a session's state memory
  const code::CompiledStep* first_step = nullptr;  ///< step of its first entry or of its device
  bool first_emits = false;                        ///< its first entry has KernelEntry::emits
};

/// A step as the interpreter reads it. Its fields lie side by side, so that a loop of small steps stays in the L1
/// cache. Kinds that need more fields are read from the plan.
struct Op {
  std::uint8_t kind = 0;  ///< position in step::Body
  std::uint32_t a = 0;    ///< register, group or number of steps; see compiled_plan.cc
  std::uint32_t b = 0;
  std::uint32_t target = 0;
  std::int64_t number = 0;
};

/// Returns the position of a kind of step in step::Body.
template <class T, std::size_t I = 0>
constexpr std::size_t kind() {
  if constexpr (std::is_same_v<std::variant_alternative_t<I, step::Body>, T>)
    return I;
  else
    return kind<T, I + 1>();
}

/// Returns the device's form of a launch step; null if the device cannot run it.
std::shared_ptr<const code::CompiledStep> compile_on(const Device& device, const Plan& plan,
                                                     const step::Launch& launch);

/// A plan in the form that interpreter and launcher read, with the code of each launch step. Only entries change after
/// construction. Thread-safe.
class CompiledPlan {
 public:
  /// Takes the entries of all launch steps from hand_entry() or from their devices. `plan` must outlive this object.
  /// `native` may be null.
  CompiledPlan(const Plan& plan, const Devices& devices, const std::shared_ptr<code::NativeSource>& native);

  /// Returns the steps as the interpreter reads them, one for each step of the plan.
  const std::vector<Op>& ops() const { return ops_; }
  /// Returns the code of launch step `step`, an index in the plan.
  const LaunchCode& launch(StepIndex step) const { return launches_[step]; }
  /// Returns the operands of all launch steps; LaunchCode::first is an index in them.
  const std::vector<OperandCode>& operands() const { return operands_; }
  /// Returns the compiled form of a step that a device runs.
  const std::shared_ptr<const code::CompiledStep>& device_step(StepIndex step) const { return device_steps_.at(step); }
  /// Returns the bytes that the states of all first entries need together.
  std::size_t state_bytes() const { return state_bytes_; }
  /// Returns the number of operands and results of the step that has most.
  std::size_t max_operands() const { return max_operands_; }

  /// Replaces the entry of launch step `step`. Sessions use the new entry when they next reach the step. The old entry
  /// lives as long as this object. Not for a step that a device runs. Thread-safe, also while sessions run.
  void swap_entry(StepIndex step, std::shared_ptr<const code::KernelEntry> entry);
  /// Returns the number of calls of swap_entry(). If it has changed, code of a plan may call a replaced entry.
  std::uint64_t swaps() const { return swaps_.load(std::memory_order_acquire); }

 private:
  void add_operands(LaunchCode& code, const step::Launch& launch);
  void keep_state(LaunchCode& code, const code::CompiledStep& step);

  const Plan& plan_;
  std::vector<Op> ops_;                     // per step
  std::unique_ptr<LaunchCode[]> launches_;  // per step
  std::vector<OperandCode> operands_;
  std::map<StepIndex, std::shared_ptr<const code::CompiledStep>> device_steps_;
  std::size_t state_bytes_ = 0;
  std::size_t max_operands_ = 0;
  std::atomic<std::uint64_t> swaps_ = 0;
  Mutex entries_mutex_;
  std::vector<std::shared_ptr<const code::KernelEntry>> entries_;  // all that were ever in use
};

}  // namespace frazil::exec
