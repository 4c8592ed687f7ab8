#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/thread/mutex.h"
#include "ir/graph/graph.h"
#include "lazy/program/memo.h"
#include "lazy/record/counted.h"
#include "lazy/record/operation.h"

namespace frazil::lazy {

/// A graph whose calls are recorded as one node. Nodes share its ownership. Immutable to its callers; thread-safe.
class Function : public Counted {
 public:
  explicit Function(Graph graph);

  const std::string& name() const { return graph_->name; }
  const Graph& graph() const { return *graph_; }
  const Operation& operation() const { return operation_; }
  /// Returns true if equal arguments give equal results: no node draws random numbers or keeps state.
  bool pure() const { return pure_; }
  Memo& memo() const { return memo_; }

  /// The function in two halves: the part that depends on some arguments alone, and the rest.
  struct SplitFunction {
    Owner<Function> early, late;
    std::vector<std::uint32_t> late_arguments;  ///< that `late` takes before the results of `early`
  };
  /// Splits the function for a set of arguments (bit i: argument i). Returns null if the early half has no expensive
  /// operator. Computed once per set.
  const SplitFunction* halves(std::uint32_t early_arguments) const;

 private:
  std::shared_ptr<const Graph> graph_;
  Operation operation_;
  bool pure_ = true;
  mutable Memo memo_;
  mutable Mutex mutex_;
  mutable std::map<std::uint32_t, std::optional<SplitFunction>> halves_;  // guarded by the mutex
};

}  // namespace frazil::lazy
