#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>

#include "base/limits/execution_limits.h"
#include "base/os/log.h"

namespace frazil {

/// The bounds of a load, and then of planning the model.
struct LoadBounds {
  LoadLimits limits;
  std::optional<std::chrono::steady_clock::duration> time;  ///< for the load, and again for planning
  std::stop_token stop;                                     ///< a stop request ends both with Code::cancelled
  logging::SinkPtr log = nullptr;                           ///< the sink of the model's messages; null: of the process
};

/// A scope in which `bounds` apply to one load, or to the planning of one model, on its thread. Inside a run it also
/// ends when the run must stop.
///
/// In addition to the memory limit, a graph may take at most 64 MiB and 1,024 bytes for each byte of its source.
/// Functions are copied into each of their calls, so a small file can stand for a very large graph.
class LoadScope {
 public:
  /// `what` begins the messages of faults, as in "loading the model"; it must outlive the scope. `source_bytes` is the
  /// size of the file, or the approximate size that a file of the graph would have.
  LoadScope(const LoadBounds& bounds, std::string_view what, std::size_t source_bytes);
  ~LoadScope();
  LoadScope(const LoadScope&) = delete;
  LoadScope& operator=(const LoadScope&) = delete;

  /// Returns the innermost scope of this thread; null if there is none.
  static LoadScope* current() noexcept;

  const LoadLimits& limits() const noexcept { return bounds_.limits; }
  Status check();
  Status check_retyping();
  void count(std::size_t bytes) noexcept { counted_ += bytes; }
  void count_node() noexcept { ++nodes_; }
  void release(std::size_t bytes) noexcept;
  std::size_t counted() const noexcept { return counted_; }
  /// The work done so far, including that of scopes inside it: nodes visited, and the most bytes of graphs.
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
  const logging::SinkScope log_;
  const std::size_t source_bytes_, most_;
  std::optional<Clock::time_point> deadline_;
  LoadScope* const outer_;
  ExecutionLimits limits_;
  const LimitsScope scope_;
  std::size_t counted_ = 0, charged_ = 0;  ///< bytes of graphs
  std::uint64_t nodes_ = 0;                ///< nodes made
  std::uint64_t retyped_ = 0;
  Work work_;
  struct Cancel {
    LoadScope& scope;
    void operator()() const noexcept { scope.cancel(); }
  };
  const std::stop_callback<Cancel> on_stop_;
};

// These functions do nothing on a thread that neither loads nor plans.

/// Returns the fault with which the load or planning on this thread must end, if it must. Called for each node.
Status check_load();
/// Same, for a node that is typed again because the carried values of a loop were widened. Nested loops repeat it for
/// each enclosing loop, so the number is limited.
Status check_retyping();
/// Counts the memory of a part of a graph that was made.
void count_graph_bytes(std::size_t bytes) noexcept;
/// Same, for a part that is a node.
void count_graph_node(std::size_t bytes) noexcept;

/// The memory of graphs made during its lifetime. The destructor releases it unless it is kept.
class GraphMemory {
 public:
  GraphMemory() noexcept;
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  /// Keeps what has been counted so far when the object is destroyed.
  void keep() noexcept { before_ += bytes(); }

 private:
  std::size_t bytes() const noexcept;
  std::size_t before_;
};

}  // namespace frazil
