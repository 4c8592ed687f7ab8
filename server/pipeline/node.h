#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/core/statistics.h"
#include "server/model/served.h"
#include "server/pipeline/flow.h"
#include "server/pipeline/rollback.h"

// A pipeline as a tree of immutable nodes, which becomes a graph (lowering.h).
namespace frazil::server {

/// A value of a pipeline.
struct Slot {
  std::size_t id = 0;  ///< unique in the pipeline
  api::Dtype dtype = api::Dtype::f32;
  bool operator==(const Slot& other) const { return id == other.id; }
};

class Formula;
class Lowering;
class PipelineGraph;
struct Block;

/// A description of a node, for display. Valid as long as the node.
struct NodeView {
  struct Branch {
    const Block* block;
    std::string rule = {};                    ///< condition of the branch; empty: none
    Rollback* rollback = nullptr;             ///< of a split's arm; null: none
    const PipelineGraph* graph = nullptr;     ///< of a block that the node runs itself; null: it is in the outer graph
    std::optional<std::size_t> cheaper = {};  ///< the branch that runs instead if this one cannot be paid
    const Formula* when = nullptr;            ///< of a case; null: none
  };
  /// A value that iterations hand on: before the loop, in it and after it, and at the end of an iteration.
  struct Carried {
    Slot from, value;
    std::optional<Slot> next;  ///< nullopt: it does not change
  };
  using Named = std::vector<std::pair<std::string, Slot>>;
  std::string_view kind;           ///< as in the steps of a path
  const Served* target = nullptr;  ///< for a call
  std::vector<Branch> branches = {};
  std::string endpoint = {};          ///< what a host node calls, without secrets: a URL, or a file and a function
  std::int64_t most = 1;              ///< the largest number of iterations of a loop
  Named inputs = {}, outputs = {};    ///< of a call or a host node, by port
  const Formula* decision = nullptr;  ///< the key of a split, the condition of a loop; null: none
  bool draws = false;                 ///< chance may choose the arm of a split, or whether a shadow runs
  std::size_t least = 1;              ///< the number of blocks of an ensemble that must succeed
  std::vector<Carried> carried = {};  ///< of a loop
  Named emitted = {};                 ///< outputs that a loop emits
  std::vector<std::pair<std::string, std::string>> emits = {};  ///< of a call: outputs of the target, and here
};

/// Run counts of a node. Thread-safe.
struct Uses {
  std::atomic<std::uint64_t> begun = 0;
  std::atomic<std::uint64_t> failed = 0;  ///< excluding requests whose caller had left
  Timed ended;

  void begin() { begun.fetch_add(1, std::memory_order_relaxed); }
  void end(Clock::duration time, const Refusal* why) {
    ended.add(time);
    if (why != nullptr && why->status() != Http::cancelled) failed.fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t running() const {
    const std::uint64_t done = ended.count(), all = begun.load(std::memory_order_relaxed);
    return all > done ? all - done : 0;
  }
};

using StepResult = std::expected<std::vector<api::Array>, Refusal>;

/// The run of one operator of a node.
struct StepCall {
  FlowPtr flow;
  std::int64_t part;  ///< Lowering::step()
  std::vector<api::Array> inputs;
  std::function<void(StepResult)> done;  ///< called once, on any thread; must not throw
};

class Node {
 public:
  explicit Node(std::string name) : name_(std::move(name)) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& name() const { return name_; }
  /// Returns the values that the node uses or defines, including those of its blocks.
  virtual std::vector<Slot> reads() const = 0;
  virtual std::vector<Slot> writes() const = 0;
  /// Adds the node to a graph.
  virtual void lower(Lowering& to) const = 0;
  /// Runs one of its operators. Never throws; errors are passed to `done`.
  void run(StepCall call) const;
  /// Returns the expected duration of the parts that certainly run.
  virtual Clock::duration expected() const = 0;
  virtual NodeView view() const = 0;
  Uses& uses() const { return uses_; }

 protected:
  virtual void start(StepCall call) const = 0;

 private:
  std::string name_;
  mutable Uses uses_;
};

using NodePtr = std::unique_ptr<const Node>;

/// A node that is one operator of the graph.
class StepNode : public Node {
 public:
  using Node::Node;
  void lower(Lowering& to) const override;
};

/// A sequence of nodes with results.
struct Block {
  std::string name;  ///< name of the branch
  std::vector<NodePtr> nodes;
  std::vector<Slot> results;
  std::unique_ptr<std::atomic<std::uint64_t>> taken = std::make_unique<std::atomic<std::uint64_t>>(0);  ///< runs begun

  /// Returns the outer values that the block uses, without duplicates.
  std::vector<Slot> captured() const;
  Clock::duration expected() const;
};

/// Adds slots that `to` does not contain.
void add_slots(std::vector<Slot>& to, const std::vector<Slot>& more);

/// Calls a function for each guarded arm of a split, in order, including those in nested blocks.
void for_each_guard(const Block& block, const std::function<void(const Node& split, const NodeView::Branch& arm)>& f);

}  // namespace frazil::server
