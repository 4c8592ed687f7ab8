#pragma once

#include <map>
#include <memory>

#include "exec/runner.h"

namespace frazil::exec {

/// The plans of one session's graph. Types follow one side of each If whose branches differ in rank; where a guard
/// misses, the plan of the other side takes over: at the guard or, where that cannot be, from the beginning of the
/// request. A request that begins anew too often ends in a plan whose types follow neither side, which has no guards.
class Specialisations {
 public:
  Specialisations(std::shared_ptr<Executable> first, RunContext& context);

  Status run(std::span<const Datum> inputs, std::vector<Datum>& outputs);
  void drop_memory();
  /// After a run.
  void let_go();

 private:
  /// The runner like `now`, with the other side taken at the guard.
  Result<Runner*> other_side(const Runner& now, const GuardMiss& miss);
  /// The runner whose types follow `choices`.
  Result<Runner*> runner(const Choices& choices);

  RunContext& context_;
  std::shared_ptr<Executable> first_;
  std::unique_ptr<Runner> first_runner_;
  std::map<Choices, std::unique_ptr<Runner>> others_;  // null: it could not be made
  Runner* current_;                                    ///< the one that served last
};

}  // namespace frazil::exec
