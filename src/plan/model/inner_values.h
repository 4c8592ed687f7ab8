#pragma once

#include <memory>
#include <unordered_map>
#include <variant>
#include <vector>

#include "plan/analyse/dataflow.h"
#include "plan/analyse/needs.h"
#include "plan/model/plan.h"

namespace frazil {

/// A way to read one value of a plan's graph while the plan runs.
struct InnerValue {
  /// The value lies in a slot.
  struct Stored {
    SlotId slot;
  };
  /// The value exists only inside a fused kernel. `kernel` computes it from the operands of the step at `at`. Its first
  /// store is the value; a second store, over the whole domain, is the producer's result.
  struct Cut {
    std::shared_ptr<const FusedKernel> kernel;
    std::vector<SlotId> in;
    std::vector<Reg> domain;
    std::vector<Reg> dims;  ///< extents of the value; kNoReg: 1
  };
  /// Shape arithmetic that no step runs. Graph::known_value() returns the elements.
  struct Known {};
  /// The number of an iteration.
  struct Counter {
    Reg number = kNoReg;
  };
  /// A constant of the graph.
  struct Weight {};

  Value value{};
  /// The value can be read before step `at` if the previous step was one of [from, at), or if `always` is set. The
  /// condition is necessary because jumps may lead to `at`, too.
  StepIndex at = 0, from = 0;
  bool always = false;
  std::variant<Stored, Cut, Known, Counter, Weight> how = Weight{};
  std::vector<Reg> iterations;  ///< of the loops around it, outermost first: each counts iterations from 0
};

/// Finds where the values of a plan's graph can be read. `plan` must outlive it.
class InnerValueFinder {
 public:
  explicit InnerValueFinder(const Plan& plan);
  /// Returns Code::unsupported with the reason for a value that no step of the plan makes.
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
  std::vector<StepIndex> after_;                                  // per node: the step after its last one
};

}  // namespace frazil
