#pragma once

#include <memory>
#include <unordered_map>
#include <variant>
#include <vector>

#include "plan/analyse/dataflow.h"
#include "plan/analyse/needs.h"
#include "plan/model/plan.h"

namespace frazil {

/// How one value of a plan's graph is read while the plan runs.
struct InnerValue {
  /// It lies in a slot.
  struct Stored {
    SlotId slot;
  };
  /// It exists inside a fused kernel only: `kernel` computes it from the operands of the step at `at`. Its first store
  /// is the value; a second one, of the whole domain, is the producer's.
  struct Cut {
    std::shared_ptr<const FusedKernel> kernel;
    std::vector<SlotId> in;
    std::vector<Reg> domain;
    std::vector<Reg> dims;  ///< of the value; kNoReg: 1
  };
  /// Shape arithmetic, which no step runs: Graph::known_value tells the elements.
  struct Known {};
  /// The number of an iteration.
  struct Counter {
    Reg number = kNoReg;
  };
  /// A constant of the graph.
  struct Weight {};

  Value value{};
  /// It is there in front of this step, where the step before was one of [from, at) or `always` is set: jumps lead
  /// there as well.
  StepIndex at = 0, from = 0;
  bool always = false;
  std::variant<Stored, Cut, Known, Counter, Weight> how = Weight{};
  std::vector<Reg> iterations;  ///< of the loops around it, outermost first: a register that counts from 0
};

/// Finds where the values of a plan's graph can be read. `plan` outlives it.
class InnerValueFinder {
 public:
  explicit InnerValueFinder(const Plan& plan);
  /// Code::unsupported with the reason for a value that no step of the plan makes.
  Result<InnerValue> find(Value v) const;

 private:
  struct Range {
    StepIndex begin = 0, end = 0;
    const PlannedRegion* region = nullptr;  ///< null: the graph's own steps
  };

  void find_ends();
  const Range* range_of(Value v) const;
  StepIndex defined_after(Value v, const Range& range) const;
  bool is_there(SlotId slot, StepIndex step) const;
  bool stored(Value v, const Range& range, InnerValue& found) const;
  bool cut(Value v, InnerValue& found) const;
  bool cut(const Origin& origin, StepIndex step, InnerValue& found) const;
  bool known(Value v, const Range& range, InnerValue& found) const;
  bool counter(Value v, const Range& range, InnerValue& found) const;
  bool is_in_device_step(Value v) const;
  std::vector<Reg> iterations(Value v) const;

  const Plan& plan_;
  const DefinedAt defined_;
  std::unordered_map<std::uint32_t, Range> ranges_;               // per block
  std::unordered_map<std::uint32_t, std::vector<SlotId>> slots_;  // per value
  std::unordered_map<std::uint32_t, StepIndex> fused_step_;       // per node
  std::vector<StepIndex> after_;                                  // per node: its last step is before this one
};

}  // namespace frazil
