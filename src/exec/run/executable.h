#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/device/device.h"
#include "exec/native/machine_code.h"
#include "exec/run/compiled_plan.h"
#include "exec/run/specialisation_cache.h"
#include "pass/engine/passes.h"
#include "plan/model/plan.h"

namespace frazil::exec {

struct Options {
  bool reference = false;  ///< run everything on the reference executor, without passes
  PassSet passes = {};
  int verify = 0;  ///< as FRAZIL_VERIFY: how results of passes and the plan are checked
  Tier tier = Tier::interpreted;
  Devices devices = {};  ///< devices that run kernels; a step goes to the first one that can run it
};

/// A plan ready to run, shared by all sessions. Immutable to its users and thread-safe. Three parts change while
/// sessions run: entries of compiled(), machine_code(), and the specialisations.
class Executable : public std::enable_shared_from_this<Executable> {
 public:
  /// Plans the graph. Returns Code::out_of_memory if there is no memory. make() and specialisation() never throw.
  static Result<std::shared_ptr<Executable>> make(std::shared_ptr<const Graph> graph, const Options& options = {});

  /// Returns the graph as given. plan().graph is the graph after the passes.
  const Graph& graph() const { return *graph_; }
  const Options& options() const { return options_; }
  /// Returns what each pass did, in order.
  const std::vector<pass::PassRun>& passes() const { return passes_; }
  const Plan& plan() const { return plan_; }
  /// Returns the plan's compiled form. Precondition: not Options::reference.
  const CompiledPlan& compiled() const { return *compiled_; }
  CompiledPlan& compiled() { return *compiled_; }
  const MachineCode& machine_code() const { return machine_code_; }
  MachineCode& machine_code() { return machine_code_; }
  /// Returns the weights that have been packed so far. All specialisations share them.
  code::WeightRefs& packed() const { return *packed_; }
  /// Describes the passes that ran, the plan, and its machine code.
  std::string explain() const;

  /// Opens a session. Throws std::bad_alloc if there is no memory.
  std::unique_ptr<class Session> open();

  /// Returns the executable whose types follow `choices`; made once, shared by all sessions. Thread-safe. Once there
  /// are SpecialisationCache::kMaxEntries, other choices get the one that assumes nothing.
  Result<std::shared_ptr<Executable>> specialisation(const Choices& choices);
  /// Returns the choices for which there are specialisations. Thread-safe.
  std::vector<Choices> specialised() const { return specialisations_.choices(); }

 private:
  Executable(std::shared_ptr<const Graph> graph, const Options& options, std::shared_ptr<code::WeightRefs> packed);
  static Result<std::shared_ptr<Executable>> planned(std::shared_ptr<const Graph> graph, const Options& options,
                                                     std::shared_ptr<code::WeightRefs> packed, bool packaged);
  void compile();

  std::shared_ptr<const Graph> graph_;
  Options options_;
  std::vector<pass::PassRun> passes_;
  Plan plan_;
  std::optional<CompiledPlan> compiled_;
  MachineCode machine_code_;
  std::shared_ptr<code::WeightRefs> packed_;
  SpecialisationCache specialisations_;
};

}  // namespace frazil::exec
