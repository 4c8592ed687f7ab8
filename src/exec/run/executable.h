#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/thread/mutex.h"
#include "code/abi/abi.h"
#include "exec/device/device.h"
#include "pass/engine/passes.h"
#include "plan/model/plan.h"
#include "tensor/datum.h"

namespace frazil::exec {

/// Which code runs the bodies of fused kernels.
enum class Tier : std::uint8_t {
  interpreted,  ///< tier 0: tile programs on kernels compiled ahead of time
  compiled,     ///< tier 1: machine code, made when extents need it; tile programs where none can be made
  specialised,  ///< tier 2: also machine code for a whole plan at the extents seen, made in the run that sees them
  adaptive,     ///< tier 0 at first; what takes time gets the code of tiers 1 and 2 from a thread of its own
};

/// The tier that users call "0", "1", "2" or "auto"; nothing for another text.
std::optional<Tier> tier_named(std::string_view name);

struct Options {
  bool reference = false;  ///< run everything on the reference executor, without passes
  PassSet passes = {};
  int verify = 0;  ///< as FRAZIL_VERIFY: what passes make, and the plan, are checked so
  Tier tier = Tier::interpreted;
  Devices devices = {};  ///< run the kernels that they have; a step goes to the first one that can
};

/// How one operand's pointer is found.
struct OperandCode {
  std::uint32_t storage = kNone;  ///< kNone: absent
  Reg offset = kNoReg;
  std::uint32_t elem_size = 1;
};

/// A launch step with everything that does not change between runs.
struct LaunchCode {
  std::atomic<const code::KernelEntry*> entry = nullptr;  ///< null: the session runs the step itself, or a device
  std::uint32_t first = 0;                                ///< of its operands
  std::uint16_t inputs = 0, outputs = 0;
  bool grows = false;                              ///< a result lies in growing storage
  bool grouped = false;                            ///< it may run at the same time as another step
  std::size_t state = 0;                           ///< offset of its first entry's state in a session
  const code::CompiledStep* first_step = nullptr;  ///< of its first entry or device
  bool first_emits = false;                        ///< KernelEntry::emits
};

/// One step as the interpreter reads it: a step's fields side by side, so that a loop of small steps stays in the
/// nearest cache. Kinds that need more than this are read from the plan.
struct Op {
  std::uint8_t kind = 0;  ///< position in step::Body
  std::uint32_t a = 0;    ///< register, group or number of steps; see Executable::compile
  std::uint32_t b = 0;
  std::uint32_t target = 0;
  std::int64_t number = 0;
};

/// The position of a kind of step in step::Body.
template <class T, std::size_t I = 0>
constexpr std::size_t kind() {
  if constexpr (std::is_same_v<std::variant_alternative_t<I, step::Body>, T>)
    return I;
  else
    return kind<T, I + 1>();
}

/// A plan made ready to run: what all sessions share. Immutable to its users; threads share it freely.
class Executable : public std::enable_shared_from_this<Executable> {
 public:
  /// Code::out_of_memory when there is none. Never throws, specialisation() neither.
  static Result<std::shared_ptr<Executable>> make(std::shared_ptr<const Graph> graph, Options options = {});
  Executable();
  ~Executable();

  const Plan& plan() const { return plan_; }
  /// The passes that ran, and the plan.
  std::string explain() const;
  /// What each pass did, in order.
  const std::vector<pass::PassRun>& passes() const { return passes_; }
  /// The graph as given; plan().graph is what the passes made of it.
  const Graph& graph() const { return *graph_; }
  const Options& options() const { return options_; }
  /// What tiers 1 and 2 compiled and what they could not, a line each; empty on tier 0.
  std::string explain_native() const;
  /// What weights take in packed form so far, with those of all specialisations.
  std::size_t packed_bytes() const { return packed_->bytes(); }
  code::WeightRefs& packed() const { return *packed_; }
  /// The codes of tier 2; null below it, and where none would pay.
  class PlanCodes* plan_codes() const { return plan_codes_.get(); }
  /// Where sessions ask for machine code of bodies; null on tier 0.
  const std::shared_ptr<class NativeCompiler>& native() const { return native_; }
  /// So much time was spent in a run: has code made where that pays. Adaptive tier only.
  void spent(double nanoseconds);
  /// Throws std::bad_alloc when there is no memory.
  std::unique_ptr<class Session> open();

  /// The executable whose types follow `choices`; made once, shared by all sessions. Thread-safe. Once there are
  /// kMostSpecialisations, the one that assumes nothing takes the place of new ones.
  Result<std::shared_ptr<Executable>> specialisation(const Choices& choices);
  static constexpr std::size_t kMostSpecialisations = 64;
  /// The choices for which there are specialisations. Thread-safe.
  std::vector<Choices> specialised() const;

  /// Of a step that a device runs.
  const std::shared_ptr<const code::CompiledStep>& device_step(StepIndex step) const { return device_steps_.at(step); }
  bool is_first(StepIndex step, const code::CompiledStep& code) const { return launches_[step].first_step == &code; }
  /// Code of launch step `step`, by its position in the plan.
  LaunchCode& launch(StepIndex step) const { return launches_[step]; }
  const std::vector<OperandCode>& operands() const { return operands_; }
  /// Per step.
  const std::vector<Op>& ops() const { return ops_; }
  std::size_t state_bytes() const { return state_bytes_; }
  std::size_t most_operands() const { return most_operands_; }
  /// Puts another entry in the place of launch step `step`; sessions take it up when they next reach the step. What was
  /// there stays until the executable dies. Not for a step that a device runs. Thread-safe, also while sessions run.
  void swap_entry(StepIndex step, std::shared_ptr<const code::KernelEntry> entry);
  /// How often that was done. Where it has changed, code of a plan may call what is no longer in place.
  std::uint64_t swaps() const { return swaps_.load(std::memory_order_acquire); }

 private:
  static Result<std::shared_ptr<Executable>> planned(std::shared_ptr<const Graph> graph, Options options,
                                                     bool packaged);
  void compile();
  void compile_launch(StepIndex i, const step::Launch& launch);
  void compile_on_device(StepIndex i, const step::Launch& launch);
  void keep_state(LaunchCode& code, const code::CompiledStep& step);

  std::shared_ptr<const Graph> graph_;
  Plan plan_;
  std::vector<pass::PassRun> passes_;
  Options options_;
  std::unique_ptr<LaunchCode[]> launches_;  // per step
  std::vector<OperandCode> operands_;
  std::vector<Op> ops_;
  std::size_t state_bytes_ = 0;
  std::size_t most_operands_ = 0;
  std::atomic<std::uint64_t> swaps_ = 0;
  Mutex entries_mutex_;
  std::vector<std::shared_ptr<const code::KernelEntry>> entries_;  // all that ever were in use
  std::map<StepIndex, std::shared_ptr<const code::CompiledStep>> device_steps_;
  std::shared_ptr<code::WeightRefs> packed_;
  std::shared_ptr<class NativeCompiler> native_;  // from tier 1 on
  std::unique_ptr<class PlanCodes> plan_codes_;   // of tier 2
  std::atomic<double> spent_ = 0;                 // nanoseconds since code was last asked for
  std::atomic<bool> looked_ = false;              // for code that is there already
  mutable Mutex specialisations_mutex_;
  std::map<Choices, std::shared_ptr<Executable>> specialisations_;
};

}  // namespace frazil::exec
