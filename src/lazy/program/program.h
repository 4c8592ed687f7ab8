#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/thread/mutex.h"
#include "exec/run/session.h"
#include "lazy/record/known_type.h"

namespace frazil::lazy {

/// Options for running the programs of a process.
struct RunOptions {
  exec::Options options;
  std::function<std::unique_ptr<exec::Session>(exec::Executable&)> open;  ///< opens a session of a program
};
/// Sets the options of programs and sessions that are made afterwards. Thread-safe.
void set_run_options(RunOptions options);

/// A graph made ready to run, on one set of inputs or on a batch. Thread-safe.
class Program {
 public:
  explicit Program(std::shared_ptr<const Graph> graph)
      : graph_(std::move(graph)), last_types_(graph_->main().results.size()) {}

  const Graph& graph() const { return *graph_; }
  std::size_t inputs() const { return graph_->main().params.size(); }
  std::size_t outputs() const { return graph_->main().results.size(); }

  /// Plans the graph. Otherwise the first run does that.
  Status ready();
  /// Runs the graph once.
  Status run(std::span<const Datum> inputs, std::vector<Datum>& outputs);
  /// Runs the graph for each element of a batch. Inputs whose `stacked` is set have the elements along a first axis,
  /// and so do all results. Returns Code::unsupported if the graph's results cannot be stacked.
  Status run_batch(const std::vector<bool>& stacked, std::span<const Datum> inputs, std::vector<Datum>& outputs);
  /// Returns memory for the results of `elements` elements, in the form that run() takes. Its size follows from an
  /// earlier run.
  std::vector<Datum> borrowed_results(std::size_t elements) const;
  /// Stores the types of one element's results.
  void remember(std::span<const KnownType* const> types);
  /// Describes the passes that ran and the plan.
  Result<std::string> explain();

  /// Returns the bytes of graphs and plans, estimated from their nodes.
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  /// Returns the bytes that sessions keep between runs.
  std::size_t session_bytes() const { return session_bytes_.load(std::memory_order_relaxed); }
  /// Closes the idle sessions. The next run opens a new one.
  void close_sessions();

 private:
  struct Form {
    std::shared_ptr<exec::Executable> executable;
    std::vector<std::unique_ptr<exec::Session>> free;  // idle sessions
    std::optional<Fault> fault;                        // set if the form cannot be made
  };
  /// Returns the form that runs a batch of inputs stacked as in `stacked`, and makes it on first use. If no input is
  /// stacked, the form runs graph() itself.
  Result<Form*> form(const std::vector<bool>& stacked);
  Status make(const std::vector<bool>& stacked, Form& form) const;
  /// A run that other threads and signal handlers can cancel, even before it starts.
  struct Running {
    std::atomic<exec::Session*> session = nullptr;
    std::atomic<bool> stop = false;
  };
  Status run_form(const std::vector<bool>& stacked, std::span<const Datum> inputs, std::vector<Datum>& outputs,
                  Running& running);

  std::shared_ptr<const Graph> graph_;
  std::vector<std::atomic<const KnownType*>> last_types_;  // null: unknown
  Mutex mutex_;                                            // guards forms_
  std::map<std::vector<bool>, Form> forms_;
  std::atomic<std::size_t> bytes_ = 0, session_bytes_ = 0;
};

}  // namespace frazil::lazy
