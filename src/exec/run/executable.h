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

/// The code that runs the bodies of fused kernels.
enum class Tier : std::uint8_t {
  interpreted,  ///< tier 0: tile programs on kernels compiled ahead of time
  compiled,     ///< tier 1: machine code, made when extents need it; tile programs if none can be made
  specialised,  ///< tier 2: also machine code for a whole plan at the extents seen, made by the run that sees them
  adaptive,     ///< tier 0 at first; what takes time gets the code of tiers 1 and 2 from the compile thread
};

/// Returns the tier that users call "0", "1", "2" or "auto"; nullopt for any other text.
std::optional<Tier> tier_named(std::string_view name);

struct Options {
  bool reference = false;  ///< run everything on the reference executor, without passes
  PassSet passes = {};
  int verify = 0;  ///< as FRAZIL_VERIFY: how results of passes and the plan are checked
  Tier tier = Tier::interpreted;
  Devices devices = {};  ///< devices that run kernels; a step goes to the first one that can run it
};

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
  std::uint32_t a = 0;    ///< register, group or number of steps; see Executable::compile
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

/// A plan ready to run, shared by all sessions. Immutable to its users and thread-safe.
class Executable : public std::enable_shared_from_this<Executable> {
 public:
  /// Plans the graph. Returns Code::out_of_memory if there is no memory. make() and specialisation() never throw.
  static Result<std::shared_ptr<Executable>> make(std::shared_ptr<const Graph> graph, Options options = {});
  Executable();
  ~Executable();

  const Plan& plan() const { return plan_; }
  /// Describes the passes that ran, and the plan.
  std::string explain() const;
  /// Returns what each pass did, in order.
  const std::vector<pass::PassRun>& passes() const { return passes_; }
  /// Returns the graph as given. plan().graph is the graph after the passes.
  const Graph& graph() const { return *graph_; }
  const Options& options() const { return options_; }
  /// Describes what tiers 1 and 2 compiled and what they could not, one line each. Empty on tier 0.
  std::string explain_native() const;
  /// Returns the bytes of packed weights so far, including those of all specialisations.
  std::size_t packed_bytes() const { return packed_->bytes(); }
  code::WeightRefs& packed() const { return *packed_; }
  /// Returns the codes of tier 2; null on lower tiers, and if no code would pay.
  class PlanCodes* plan_codes() const { return plan_codes_.get(); }
  /// Returns the compiler from which sessions request machine code of bodies; null on tier 0.
  const std::shared_ptr<class NativeCompiler>& native() const { return native_; }
  /// Adds the time of a run. Requests compilation if that pays. Adaptive tier only.
  void spent(double nanoseconds);
  /// Opens a session. Throws std::bad_alloc if there is no memory.
  std::unique_ptr<class Session> open();

  /// Returns the executable whose types follow `choices`; made once, shared by all sessions. Thread-safe. Once there
  /// are kMostSpecialisations, other choices get the one that assumes nothing.
  Result<std::shared_ptr<Executable>> specialisation(const Choices& choices);
  static constexpr std::size_t kMostSpecialisations = 64;
  /// Returns the choices for which there are specialisations. Thread-safe.
  std::vector<Choices> specialised() const;

  /// Returns the compiled form of a step that a device runs.
  const std::shared_ptr<const code::CompiledStep>& device_step(StepIndex step) const { return device_steps_.at(step); }
  /// Returns the code of launch step `step`, an index in the plan.
  LaunchCode& launch(StepIndex step) const { return launches_[step]; }
  const std::vector<OperandCode>& operands() const { return operands_; }
  /// Returns the steps as the interpreter reads them, one for each step of the plan.
  const std::vector<Op>& ops() const { return ops_; }
  std::size_t state_bytes() const { return state_bytes_; }
  std::size_t most_operands() const { return most_operands_; }
  /// Replaces the entry of launch step `step`. Sessions use the new entry when they next reach the step. The old entry
  /// lives as long as the executable. Not for a step that a device runs. Thread-safe, also while sessions run.
  void swap_entry(StepIndex step, std::shared_ptr<const code::KernelEntry> entry);
  /// Returns the number of calls of swap_entry(). If it has changed, code of a plan may call a replaced entry.
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
  std::vector<std::shared_ptr<const code::KernelEntry>> entries_;  // all that were ever in use
  std::map<StepIndex, std::shared_ptr<const code::CompiledStep>> device_steps_;
  std::shared_ptr<code::WeightRefs> packed_;
  std::shared_ptr<class NativeCompiler> native_;  // from tier 1 on
  std::unique_ptr<class PlanCodes> plan_codes_;   // of tier 2
  std::atomic<double> spent_ = 0;                 // nanoseconds since code was last requested
  std::atomic<bool> looked_ = false;              // whether existing code was searched for
  mutable Mutex specialisations_mutex_;
  std::map<Choices, std::shared_ptr<Executable>> specialisations_;
};

}  // namespace frazil::exec
