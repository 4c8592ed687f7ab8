#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/core/statistics.h"
#include "server/core/workers.h"
#include "server/model/served.h"
#include "server/pipeline/expression.h"
#include "server/pipeline/rollback.h"
#include "server/request/path_record.h"

// A pipeline as a tree of immutable nodes. The state of a request is its Flow.
namespace frazil::server {

using Slot = std::size_t;

/// Receives the parts of a request's answer. Used by one thread at a time.
struct Emitter {
  std::function<bool(std::vector<NamedArray>)> give;  ///< false: the request wants none of these. May throw
  bool begun = false;                                 ///< a part was sent
};

/// The state of a request in a pipeline. A cheap copy; concurrent nodes write different slots.
struct Flow {
  std::shared_ptr<std::vector<api::Array>> values;  ///< by slot
  std::shared_ptr<const InferRequest> request;      ///< for its parameters, priority and sequence
  std::shared_ptr<Emitter> emitter;                 ///< null: no parts are wanted
  std::shared_ptr<Caller> caller;
  Tenants::Identity identity = {};  ///< of the client's request
  std::optional<Clock::time_point> deadline = {};
  Clock::time_point arrived;
  std::string trace;
  std::shared_ptr<PathRecord> path;      ///< may be null
  std::shared_ptr<const void> pipeline;  ///< keeps the nodes alive, also for work that ends after the answer

  Expression::Values for_formula() const {
    return {.tensor = [v = values](std::size_t slot) -> const api::Array& { return (*v)[slot]; },
            .parameters = &request->parameters};
  }
  /// Returns a flow with a copy of the values, whose path and parts are dropped.
  Flow without_effects() const {
    Flow own = *this;
    own.values = std::make_shared<std::vector<api::Array>>(*values);
    own.path = nullptr;
    own.emitter = nullptr;
    return own;
  }
  Clock::duration left() const { return deadline ? *deadline - Clock::now() : Clock::duration::max(); }
  void note(PathRecord::Step step) const {
    if (path != nullptr) path->add(std::move(step));
  }
  /// Sends a part if parts are wanted. An exception fails the request.
  void emit(std::vector<NamedArray> part) const {
    if (emitter == nullptr || caller->disconnected()) return;
    const bool given = emitter->give(std::move(part));
    emitter->begun |= given;
  }
};

/// Called once when a node has ended, with the refusal if it failed. Any thread; must not throw.
using Completion = std::function<void(std::optional<Refusal>)>;

struct Block;

/// A description of a node, for display. Valid as long as the node.
struct NodeView {
  struct Branch {
    const Block* block;
    std::string rule = {};         ///< condition of the branch; empty: none
    Rollback* rollback = nullptr;  ///< of a split's arm; null: none
  };
  std::string_view kind;           ///< as in the steps of a path
  const Served* target = nullptr;  ///< for a call
  std::vector<Branch> branches = {};
};

/// Run counts of a node. Thread-safe.
struct Uses {
  std::atomic<std::uint64_t> begun = 0;
  std::atomic<std::uint64_t> failed = 0;  ///< excluding requests whose caller had left
  Timed ended;

  std::uint64_t running() const {
    const std::uint64_t done = ended.count(), all = begun.load(std::memory_order_relaxed);
    return all > done ? all - done : 0;
  }
};

class Node {
 public:
  explicit Node(std::string name) : name_(std::move(name)) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& name() const { return name_; }
  /// Runs the node for a request. Never throws; errors are passed to `then`.
  void run(Flow flow, const Completion& then) const;
  /// Returns the expected duration of the parts that certainly run.
  virtual Clock::duration expected() const = 0;
  virtual NodeView view() const = 0;
  /// Updated by the enclosing block.
  Uses& uses() const { return uses_; }

 protected:
  virtual void start(Flow flow, Completion then) const = 0;

 private:
  std::string name_;
  mutable Uses uses_;
};

using NodePtr = std::unique_ptr<const Node>;
using Copies = std::vector<std::pair<Slot, Slot>>;  ///< from, to

/// A sequence of nodes, and copies of slots that are made at its end.
struct Block {
  std::string name;  ///< name of the branch
  std::vector<NodePtr> nodes;
  Copies results;
  std::unique_ptr<std::atomic<std::uint64_t>> taken = std::make_unique<std::atomic<std::uint64_t>>(0);  ///< runs begun

  void run(const Flow& flow, const Completion& then) const;
  Clock::duration expected() const;
};

/// Calls a function for each guarded arm of a split, in order, including those in nested blocks.
void for_each_guard(const Block& block, const std::function<void(const Node& split, const NodeView::Branch& arm)>& f);

/// Calls a model or another pipeline.
struct CallParts {
  std::shared_ptr<const Served> target;
  std::vector<std::pair<std::string, Slot>> inputs, outputs;
  std::vector<std::pair<std::string, std::string>> emits;  ///< name of an output in the target, and here
  std::optional<std::chrono::microseconds> time_out;
};
NodePtr call_node(std::string name, CallParts parts);

/// Runs the first block whose formula is true. A block without a formula always matches. Refuses the request if no
/// block matches.
struct Case {
  std::optional<Expression> when;
  Block block;
};
NodePtr switch_node(std::string name, std::vector<Case> cases);

/// Runs one block chosen at random by shares that sum to 1. Requests with equal `by` use the same block; without `by`
/// each request draws again. Requests of a rolled-back arm use the baseline.
struct Arm {
  double share;
  Block block;
  std::shared_ptr<Rollback> rollback = nullptr;  ///< null: none
};
struct SplitParts {
  std::optional<Expression> by;
  std::vector<Arm> arms;
  std::size_t baseline = 0;  ///< the arm that others are compared with; has no rollback
};
NodePtr split_node(std::string name, SplitParts parts);

/// Runs blocks in order until one succeeds. A block that is expected to miss the deadline is skipped, except the last
/// one. No further block runs after a block that has emitted a part.
NodePtr fallback_node(std::string name, std::vector<Block> blocks);

/// Runs blocks concurrently. The first success cancels the others.
NodePtr race_node(std::string name, std::vector<Block> blocks, Workers& workers);

/// Runs blocks concurrently and fails if fewer than `least` succeed. Each result combines the values of the same name:
/// their mean, or the value of the first successful block.
struct EnsembleParts {
  std::vector<Block> blocks;
  std::size_t least;
  bool mean;                            ///< for f32 tensors of equal sizes; otherwise the first success
  std::vector<std::vector<Slot>> from;  ///< per result, per block
  std::vector<Slot> to;
};
NodePtr ensemble_node(std::string name, EnsembleParts parts, Workers& workers);

/// Runs its block while the formula is true, at most `most` times. The copies carry the block's results to the next
/// iteration, and each iteration may emit a part of the answer. A sequence that the request starts is started by the
/// first iteration, and no iteration ends it. Requests in loops can be batched in the models' queues.
struct LoopParts {
  Copies before;
  std::optional<Expression> again;
  Block block;
  Copies next;
  std::vector<std::pair<std::string, Slot>> emits;  ///< outputs and their slots, after the copies of `next`
  std::uint64_t most;
  std::optional<Slot> count;  ///< receives the number of iterations, i64[]
};
NodePtr loop_node(std::string name, LoopParts parts, Workers& workers);

/// Runs a block on copies of a share of the traffic. Its results and errors are discarded.
NodePtr shadow_node(std::string name, double share, Block block, Workers& workers);

}  // namespace frazil::server
