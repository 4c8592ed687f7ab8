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

/// Code that becomes a graph when it is first called with arguments of some element types and ranks. Extents are
/// symbols, the same symbol for equal extents; 0 and 1 are constants. Thread-safe.
class TracedFunction {
 public:
  /// Takes traced arguments (lazy/record/trace.h) and returns results. May throw.
  using Body = std::function<Result<std::vector<Handle>>(std::span<const Handle>)>;
  TracedFunction(std::string name, Body body) : name_(std::move(name)), body_(std::move(body)) {}

  const std::string& name() const { return name_; }
  /// Returns the graph for arguments like these. Runs an argument whose type is unknown. Returns Code::bad_input for
  /// omitted arguments and Code::unsupported for arguments that are not tensors.
  Result<const Function*> graph_for(std::span<const Ref> arguments);
  /// Names of the graph's inputs and results, by position. The default is x0, x1, ... and y0, y1, ...
  struct Names {
    std::function<std::string(std::size_t)> input, output;
  };
  Result<Graph> trace(std::span<const Ref> like, const Names& names = {}) const;

 private:
  using Signature = std::vector<std::uint64_t>;
  /// The graph for arguments of these types. Most calls have the same again.
  struct Last {
    static constexpr std::size_t kMaxTypes = 8;
    std::array<const KnownType*, kMaxTypes> types{};
    std::size_t count = 0;
    const Function* function = nullptr;
  };
  static bool is_for(const Last& known, std::span<const Ref> arguments);
  Result<const Function*> find_or_make(const Signature& signature, std::span<const Ref> arguments);
  void remember(std::span<const Ref> arguments, const Function& function);

  const std::string name_;
  const Body body_;
  Mutex mutex_;
  std::map<Signature, Owner<Function>> graphs_;  // guarded by the mutex
  std::deque<Last> lasts_;                       // guarded by the mutex; elements do not change
  std::atomic<const Last*> last_ = nullptr;
};

}  // namespace frazil::lazy
