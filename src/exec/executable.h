#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "exec/kernel_code.h"
#include "exec/pack_store.h"
#include "pass/passes.h"
#include "plan/plan.h"
#include "tensor/datum.h"

namespace frazil {

struct ExecOptions {
  bool reference = false;  ///< run everything on the reference executor, without passes
  PassSet passes = {};
  int verify = 0;  ///< as FRAZIL_VERIFY: what passes make is checked so
};

/// A plan made ready to run: what all sessions share. Immutable to its users; threads share it freely.
class Executable : public std::enable_shared_from_this<Executable> {
 public:
  /// Code::out_of_memory when there is none. Never throws, version() neither.
  static Result<std::shared_ptr<Executable>> make(std::shared_ptr<const Graph> graph, ExecOptions options = {});

  const Plan& plan() const { return plan_; }
  /// The passes that ran, and the plan.
  std::string explain() const;
  /// What each pass did, in order.
  const std::vector<PassRun>& passes() const { return passes_; }
  /// The graph as given; plan().graph is what the passes made of it.
  const Graph& graph() const { return *graph_; }
  const ExecOptions& options() const { return options_; }
  /// What weights take in packed form so far, shared with all versions.
  std::size_t packed_bytes() const { return packs_->bytes(); }
  /// Of `governor` see Session; throws std::bad_alloc when there is no memory.
  std::unique_ptr<class Session> open(std::shared_ptr<class Governor> governor = nullptr);
  /// The version whose types follow `choices`; made once, shared by all sessions. Thread-safe.
  Result<std::shared_ptr<Executable>> version(const Choices& choices);

 private:
  friend class Session;
  /// How one operand's pointer is found.
  struct Operand {
    std::uint32_t storage = kNone;  ///< kNone: absent
    Reg offset = kNoReg;
    std::uint32_t elem_size = 1;
  };
  /// A kernel step with everything that does not change between runs.
  struct Code {
    const KernelCode* kernel = nullptr;
    std::uint32_t first = 0;  ///< of its operands
    std::uint16_t inputs = 0, outputs = 0;
    bool grows = false;     ///< an output lies in growing storage
    std::size_t state = 0;  ///< offset of its state in the session
  };
  void compile();

  std::shared_ptr<const Graph> graph_;
  Plan plan_;
  std::vector<PassRun> passes_;
  ExecOptions options_;
  std::vector<Code> code_;  ///< per step
  std::vector<Operand> operands_;
  std::size_t state_bytes_ = 0;
  std::size_t max_operands_ = 0;
  std::vector<std::uint32_t> swapped_;  ///< arena storages whose place must be reset before a run
  std::shared_ptr<PackStore> packs_;
  std::mutex versions_mutex_;
  std::map<std::map<std::uint32_t, bool>, std::shared_ptr<Executable>> versions_;
};

}  // namespace frazil
