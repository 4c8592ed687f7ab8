#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/expression.h"
#include "server/guard.h"
#include "server/path_record.h"
#include "server/served.h"
#include "server/statistics.h"
#include "server/workers.h"

// What a pipeline does, as a tree of nodes. They are immutable; what a request has got to is its Flow.
namespace frazil::server {

using Slot = std::size_t;

/// Where the parts of a request's answer go. Used by one thread at a time.
struct Emitter {
  std::function<bool(std::vector<NamedArray>)> give;  ///< false: the request wants none of these. May throw
  bool begun = false;                                 ///< a part has been given
};

/// A request on its way through a pipeline. A cheap copy; nodes that run at the same time write different slots.
struct Flow {
  std::shared_ptr<std::vector<api::Array>> values;  ///< by slot
  std::shared_ptr<const InferRequest> request;      ///< its parameters, priority and sequence
  std::shared_ptr<Emitter> emitter;                 ///< null: one answer is wanted
  std::shared_ptr<Caller> caller;
  Tenants::Asker asker = {};  ///< of the client's request
  std::optional<Clock::time_point> deadline = {};
  Clock::time_point arrived;
  std::string trace;
  std::shared_ptr<PathRecord> path;      ///< may be null
  std::shared_ptr<const void> pipeline;  ///< keeps the nodes, also for what ends after the answer

  Expression::Values for_formula() const {
    return {.tensor = [v = values](std::size_t slot) -> const api::Array& { return (*v)[slot]; },
            .parameters = &request->parameters};
  }
  Clock::duration left() const { return deadline ? *deadline - Clock::now() : Clock::duration::max(); }
  void note(PathRecord::Step step) const {
    if (path != nullptr) path->add(std::move(step));
  }
  /// Gives a part, where they are wanted. What it throws fails the request.
  void emit(std::vector<NamedArray> part) const {
    if (emitter == nullptr || caller->gone()) return;
    const bool given = emitter->give(std::move(part));
    emitter->begun |= given;
  }
};

/// Called once when a node has ended, with why it failed if it did. On any thread; must not throw.
using Then = std::function<void(std::optional<Refusal>)>;

struct Block;

/// What a node is, for those who show it. Valid as long as the node.
struct NodeView {
  struct Branch {
    const Block* block;
    std::string rule = {};   ///< when it is taken; empty: no rule decides
    Guard* guard = nullptr;  ///< of a split's arm that has one
  };
  std::string_view kind;           ///< as in a path's steps
  const Served* target = nullptr;  ///< of a call
  std::vector<Branch> branches = {};
};

/// How often a node was run. Thread-safe.
struct Uses {
  std::atomic<std::uint64_t> begun = 0;
  std::atomic<std::uint64_t> failed = 0;  ///< without those whose caller had left
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
  /// Runs it for a request. Never throws: errors are given to `then`.
  void run(Flow flow, const Then& then) const;
  /// The time that it is expected to take: of what it certainly runs.
  virtual Clock::duration expected() const = 0;
  virtual NodeView view() const = 0;
  /// Counted by the block that it is in.
  Uses& uses() const { return uses_; }

 protected:
  virtual void start(Flow flow, Then then) const = 0;

 private:
  std::string name_;
  mutable Uses uses_;
};

using NodePtr = std::unique_ptr<const Node>;
using Copies = std::vector<std::pair<Slot, Slot>>;  ///< from, to

/// Nodes one after the other, and then values that are known under other names from there on.
struct Block {
  std::string name;  ///< of the branch
  std::vector<NodePtr> nodes;
  Copies results;
  std::unique_ptr<std::atomic<std::uint64_t>> taken = std::make_unique<std::atomic<std::uint64_t>>(0);  ///< runs begun

  void run(const Flow& flow, const Then& then) const;
  Clock::duration expected() const;
};

/// Calls a function for each arm of a split that has a guard, also of those inside of other nodes, in their order.
void for_each_guard(const Block& block, const std::function<void(const Node& split, const NodeView::Branch& arm)>& f);

/// Runs a model or another pipeline.
struct CallParts {
  std::shared_ptr<const Served> target;
  std::vector<std::pair<std::string, Slot>> inputs, outputs;
  std::vector<std::pair<std::string, std::string>> emits;  ///< of the target's parts: an output's name there and here
  std::optional<std::chrono::microseconds> time_out;
};
NodePtr call_node(std::string name, CallParts parts);

/// The first block whose formula is true; without a formula always. None: the request is refused.
struct Case {
  std::optional<Expression> when;
  Block block;
};
NodePtr switch_node(std::string name, std::vector<Case> cases);

/// One block by chance, with shares that sum to 1. Requests with equal `by` get the same one; empty: each draws anew.
/// Those of an arm whose guard has rolled it back get the baseline.
struct Arm {
  double share;
  Block block;
  std::shared_ptr<Guard> guard = nullptr;  ///< null: none
};
struct SplitParts {
  std::optional<Expression> by;
  std::vector<Arm> arms;
  std::size_t baseline = 0;  ///< the arm that others are compared with; it has no guard
};
NodePtr split_node(std::string name, SplitParts parts);

/// Runs block after block until one succeeds. One that is expected not to end before the deadline is left out, except
/// for the last. One that has emitted a part is not replaced.
NodePtr fallback_node(std::string name, std::vector<Block> blocks);

/// Runs blocks at the same time. The first that succeeds ends the others.
NodePtr race_node(std::string name, std::vector<Block> blocks, Workers& workers);

/// Runs blocks at the same time, and goes on with those that succeed; fails where they are less than `least`. The
/// results are those of the same name of the blocks: their mean, or the first ones.
struct EnsembleParts {
  std::vector<Block> blocks;
  std::size_t least;
  bool mean;                            ///< of f32 tensors of equal sizes; otherwise of the first block that succeeded
  std::vector<std::vector<Slot>> from;  ///< per result, per block
  std::vector<Slot> to;
};
NodePtr ensemble_node(std::string name, EnsembleParts parts, Workers& workers);

/// Runs its block while the formula is true, at most `most` times; the copies make the block's results the next
/// iteration's values, and what it emits is a part of the answer. A sequence that the request starts is started by the
/// first iteration, and none ends it. Requests in loops meet in the queues of the models that the block runs.
struct LoopParts {
  Copies before;
  std::optional<Expression> again;
  Block block;
  Copies next;
  std::vector<std::pair<std::string, Slot>> emits;  ///< outputs, with their values behind `next`
  std::uint64_t most;
  std::optional<Slot> count;  ///< is set to the number of iterations, i64[]
};
NodePtr loop_node(std::string name, LoopParts parts, Workers& workers);

/// Runs a block on copies of a share of the traffic. Its results and its errors are dropped.
NodePtr shadow_node(std::string name, double share, Block block, Workers& workers);

}  // namespace frazil::server
