#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>

#include "base/limits/execution_limits.h"

namespace frazil {

/// What bounds a load, and then the planning of the model.
struct LoadBounds {
  LoadLimits limits;
  std::optional<std::chrono::steady_clock::duration> time;  ///< of the load; the same again of planning
  std::stop_token stop;                                     ///< a request to it ends both with Code::cancelled
};

/// Holds one load, or the planning of one model, on its thread to `bounds`, while it lives. Inside of a run it also
/// ends when the run has to.
///
/// Besides the memory limit, a graph may take at most 64 MiB and 1,024 bytes for each byte of its source: functions
/// are copied into each of their calls, so a small file can stand for a very large graph.
class LoadScope {
 public:
  /// `what` begins the messages of faults, as in "loading the model"; it must outlive the scope. `source_bytes`: of the
  /// file, or about those that a file of the graph would have.
  LoadScope(const LoadBounds& bounds, std::string_view what, std::size_t source_bytes);
  ~LoadScope();
  LoadScope(const LoadScope&) = delete;
  LoadScope& operator=(const LoadScope&) = delete;

  /// The innermost one of this thread; null: none.
  static LoadScope* current() noexcept;

  const LoadLimits& limits() const noexcept { return bounds_.limits; }
  Status check();
  Status check_retyping();
  void count(std::size_t bytes) noexcept { counted_ += bytes; }
  void count_node() noexcept { ++nodes_; }
  void release(std::size_t bytes) noexcept;
  std::size_t counted() const noexcept { return counted_; }
  /// What was done so far, with what scopes inside of it did: nodes that were looked at, and the most bytes of graphs.
  struct Work {
    std::uint64_t nodes = 0;
    std::size_t bytes = 0;
  };
  const Work& work() const noexcept { return work_; }

 private:
  using Clock = std::chrono::steady_clock;
  void cancel() noexcept { limits_.cancel(); }
  Status charge();
  std::unexpected<Fault> reason() const;

  const std::string_view what_;
  const LoadBounds bounds_;
  const std::size_t source_bytes_, most_;
  std::optional<Clock::time_point> deadline_;
  LoadScope* const outer_;
  ExecutionLimits limits_;
  const LimitsScope scope_;
  std::size_t counted_ = 0, charged_ = 0;  ///< bytes of graphs
  std::uint64_t nodes_ = 0;                ///< that were made
  std::uint64_t retyped_ = 0;
  Work work_;
  struct Cancel {
    LoadScope& scope;
    void operator()() const noexcept { scope.cancel(); }
  };
  const std::stop_callback<Cancel> on_stop_;
};

// These do nothing on a thread that neither loads nor plans.

/// The fault with which the load or the planning on this thread has to end, if it has to. Called for each node.
Status check_load();
/// The same, for a node that is typed again because the carried values of a loop were widened. Loops inside each other
/// type theirs as often as there are loops around them, so the number is limited.
Status check_retyping();
/// A part of a graph was made that takes so much memory.
void count_graph_bytes(std::size_t bytes) noexcept;
/// The part is a node.
void count_graph_node(std::size_t bytes) noexcept;

/// The memory of graphs made while it lives, which ends with it, or is kept.
class GraphMemory {
 public:
  GraphMemory() noexcept;
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  /// What was made so far lives on.
  void keep() noexcept { before_ += bytes(); }

 private:
  std::size_t bytes() const noexcept;
  std::size_t before_;
};

}  // namespace frazil
