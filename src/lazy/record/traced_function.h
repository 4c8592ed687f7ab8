#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/thread/mutex.h"
#include "lazy/program/function.h"
#include "lazy/record/node.h"

namespace frazil::lazy {

/// Code that becomes a graph when it is first called with arguments of some element types and ranks: extents are
/// symbols, equal ones the same symbol; 0 and 1 are themselves. Thread-safe.
class TracedFunction {
 public:
  /// Gets traced arguments (lazy/record/trace.h) and returns results. May throw.
  using Body = std::function<Result<std::vector<Handle>>(std::span<const Handle>)>;
  TracedFunction(std::string name, Body body) : name_(std::move(name)), body_(std::move(body)) {}

  const std::string& name() const { return name_; }
  /// The graph for arguments like these. Code::bad_input for omitted ones, Code::unsupported for those that are no
  /// tensors. An argument whose type is not known runs.
  Result<const Function*> graph_for(std::span<const Ref> arguments);
  /// Names of the graph's inputs and results by position; without a function x0, x1, ... and y0, y1, ...
  struct Names {
    std::function<std::string(std::size_t)> input, output;
  };
  Result<Graph> trace(std::span<const Ref> like, const Names& names = {}) const;

 private:
  using Signature = std::vector<std::uint64_t>;
  /// The graph for arguments of these types, which most calls have again.
  struct Last {
    static constexpr std::size_t kMost = 8;
    std::array<const KnownType*, kMost> types{};
    std::size_t count = 0;
    const Function* function = nullptr;
  };
  static bool is_for(const Last& known, std::span<const Ref> arguments);
  Result<const Function*> find_or_make(const Signature& signature, std::span<const Ref> arguments);
  void remember(std::span<const Ref> arguments, const Function& function);

  const std::string name_;
  const Body body_;
  Mutex mutex_;
  std::map<Signature, Owner<Function>> graphs_;  // under the mutex
  std::deque<Last> lasts_;                       // under the mutex; each stays as it is
  std::atomic<const Last*> last_ = nullptr;
};

}  // namespace frazil::lazy
