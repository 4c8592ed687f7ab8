#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "exec/memory/memory.h"
#include "exec/run/executable.h"
#include "plan/model/inner_values.h"
#include "ref/ref.h"

namespace frazil::exec {

/// The inner values of one plan that an observer watches. Passes them to the observer during a run.
class InnerValues {
 public:
  InnerValues(RunContext& context, const Executable& executable, const Values& values, Memory& memory);

  /// Finds the values that the observer watches; called before a run. Returns Code::unsupported for a value that the
  /// plan does not make, unless Observer::without() accepts that.
  Status begin();
  /// Returns true if there are values to pass on while steps run.
  bool any() const { return !points_.empty(); }
  /// Passes on the values that are complete before step `at`. `before` is the step that ran last; kNone at the start of
  /// a run.
  Status show(StepIndex at, StepIndex before) { return has_point_[at] ? show_all(at, before) : Status{}; }

 private:
  struct Watch {
    std::size_t index = 0;  ///< index in Observer::watched()
    InnerValue where;
    std::optional<std::int64_t> copy;                  ///< the copy's number, if unrolling made several
    std::shared_ptr<const code::KernelEntry> entry{};  ///< for InnerValue::Cut
  };

  Status find_all();
  Status find(std::size_t index);
  Status show_all(StepIndex at, StepIndex before);
  Status show(const Watch& watch);
  Result<Datum> read(const Watch& watch);
  Result<Datum> compute(const InnerValue::Cut& cut, Elem elem, const code::KernelEntry& entry) const;
  Result<Datum> known(Value v) const;

  RunContext& context_;
  const Executable& executable_;
  const Values& values_;
  Memory& memory_;
  std::optional<InnerValueFinder> finder_;
  std::vector<WatchedValue> watched_;  // the values that points_ was made for
  std::map<StepIndex, std::vector<Watch>> points_;
  std::vector<bool> has_point_;  // per step
  std::vector<std::pair<std::size_t, std::string>> missing_;
};

/// The watched values of a run of the reference executor.
class ReferenceValues : public ValueListener {
 public:
  ReferenceValues(Observer& observer) : observer_(observer) {}
  void begin(const Graph& graph) override;
  void defined(Value v, const Datum& value, std::span<const std::int64_t> iterations) override;

 private:
  Observer& observer_;
  std::multimap<std::uint32_t, std::size_t> watched_;  // value id to index in Observer::watched()
};

}  // namespace frazil::exec
