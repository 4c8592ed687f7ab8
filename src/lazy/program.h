#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "exec/session.h"
#include "lazy/cone.h"

namespace frazil::lazy {

/// How the programs of a process run.
struct RunOptions {
  exec::Options options;
  std::function<std::unique_ptr<exec::Session>(exec::Executable&)> open;  ///< a session of a program
};
/// Programs and sessions that are made from now on have them. Thread-safe.
void set_run_options(RunOptions options);

/// A graph made ready to run, on one set of inputs or on many at once. Thread-safe.
class Program {
 public:
  explicit Program(std::shared_ptr<const Graph> graph)
      : graph_(std::move(graph)), last_types_(graph_->main().results.size()) {}

  const Graph& graph() const { return *graph_; }
  std::size_t inputs() const { return graph_->main().params.size(); }
  std::size_t outputs() const { return graph_->main().results.size(); }

  /// Plans the graph, as the first run otherwise does.
  Status ready();
  /// Runs the graph once.
  Status run(std::span<const Datum> inputs, std::vector<Datum>& outputs);
  /// Runs the graph for each element of a batch: inputs of which `stacked` is set have the elements along a first axis,
  /// and so have all results. Code::unsupported where the graph's results cannot be stacked.
  Status run_batch(const std::vector<bool>& stacked, std::span<const Datum> inputs, std::vector<Datum>& outputs);
  /// Memory for the results of so many elements, as run() takes it, going by those of an earlier run.
  std::vector<Datum> lent_results(std::size_t elements) const;
  /// The types of an element's results.
  void remember(std::span<const KnownType* const> types);
  /// The passes that ran and the plan.
  Result<std::string> explain();

 private:
  struct Form {
    std::shared_ptr<exec::Executable> executable;
    std::vector<std::unique_ptr<exec::Session>> free;  // sessions that nobody uses now
    std::optional<Fault> fault;                        // it cannot be made
  };
  /// The form for `stacked`; none stacked: the graph itself.
  Result<Form*> form(const std::vector<bool>& stacked);
  Status make(const std::vector<bool>& stacked, Form& form) const;
  /// A run that other threads and signals can cancel, also before it starts.
  struct Running {
    std::atomic<exec::Session*> session = nullptr;
    std::atomic<bool> stop = false;
  };
  Status run_form(const std::vector<bool>& stacked, std::span<const Datum> inputs, std::vector<Datum>& outputs,
                  Running& running);

  std::shared_ptr<const Graph> graph_;
  std::vector<std::atomic<const KnownType*>> last_types_;  // null: unknown
  Mutex mutex_;                                            // of forms_
  std::map<std::vector<bool>, Form> forms_;
};

/// A program, and which leaves of a cone are its inputs: those that are no constants in it.
struct Found {
  std::shared_ptr<Program> program;
  /// By input: positions among the leaves; several are tensors that the input has one behind the other.
  std::vector<std::vector<std::uint32_t>> inputs;
  std::vector<HeldRef> parameters;  ///< which stay, as they are known by their addresses
};
/// The program of a cone; cones with equal keys share one. Parameters are constants in it, and so are literals as long
/// as few different ones are seen in their place. Keeps a bounded number of programs. Thread-safe.
Result<std::shared_ptr<const Found>> find_program(const Cone& cone);

/// Counts of the process since its start.
struct ProgramCounts {
  std::uint64_t made = 0, found = 0;
};
ProgramCounts program_counts();

}  // namespace frazil::lazy
