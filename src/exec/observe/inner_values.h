#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "exec/run/launcher.h"
#include "plan/model/inner_values.h"
#include "ref/ref.h"

namespace frazil::exec {

/// Hands the values that an observer watches to it while one plan runs.
class InnerValues {
 public:
  InnerValues(RunContext& context, const Executable& executable, const Values& values, Memory& memory,
              const Launcher& launcher);

  /// Before a run: finds what the observer watches now. Code::unsupported for a value that nothing makes, unless the
  /// observer goes without.
  Status begin();
  /// True when there is anything to hand out while steps run.
  bool any() const { return !points_.empty(); }
  /// In front of step `at`, behind step `before`; kNone: the run begins there.
  Status show(StepIndex at, StepIndex before) { return has_point_[at] ? show_all(at, before) : Status{}; }

 private:
  struct Watch {
    std::size_t index = 0;  ///< of Observer::watched()
    InnerValue where;
    std::optional<std::int64_t> copy;                  ///< which one of those that unrolling made
    std::shared_ptr<const code::KernelEntry> entry{};  ///< of a cut kernel
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
  const Launcher& launcher_;
  std::optional<InnerValueFinder> finder_;
  std::vector<WatchedValue> watched_;  // that points_ are for
  std::map<StepIndex, std::vector<Watch>> points_;
  std::vector<bool> has_point_;  // per step
  std::vector<std::pair<std::size_t, std::string>> missing_;
};

/// The same for a run of the reference executor.
class ReferenceValues : public ValueListener {
 public:
  ReferenceValues(Observer& observer) : observer_(observer) {}
  void begin(const Graph& graph) override;
  void defined(Value v, const Datum& value, std::span<const std::int64_t> iterations) override;

 private:
  Observer& observer_;
  std::multimap<std::uint32_t, std::size_t> watched_;  // by value
};

}  // namespace frazil::exec
