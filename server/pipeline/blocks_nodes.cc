#include <algorithm>
#include <mutex>

#include "server/pipeline/nodes.h"
#include "server/pipeline/pipeline_graph.h"

// Nodes that run several blocks.
namespace frazil::server {
namespace {

/// A node with blocks that run as graphs of their own.
class BlocksNode : public StepNode {
 public:
  BlocksNode(std::string name, std::string_view kind, std::vector<Block> blocks, std::vector<Slot> results)
      : StepNode(std::move(name)), kind_(kind), blocks_(std::move(blocks)), results_(std::move(results)) {
    for (const Block& block : blocks_) add_slots(operands_, block.captured());
    for (const Block& block : blocks_) graphs_.emplace_back(block, operands_);
  }
  std::vector<Slot> reads() const override { return operands_; }
  std::vector<Slot> writes() const override { return results_; }
  /// Returns the least expected duration of a block.
  Clock::duration expected() const override {
    auto least = Clock::duration::max();
    for (const Block& block : blocks_) least = std::min(least, block.expected());
    return least;
  }
  NodeView view() const override {
    NodeView view{.kind = kind_};
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      view.branches.push_back({.block = &blocks_[i], .graph = &graphs_[i].graph()});
    }
    return view;
  }

 protected:
  const std::vector<Block>& blocks() const { return blocks_; }
  const OwnGraph& graph(std::size_t i) const { return graphs_[i]; }
  /// Returns the block whose result the request or its replay uses; nullopt if they force none.
  std::optional<std::size_t> forced_block_of(const Flow& flow) const {
    const auto chosen = flow.request->choices.find(flow.path_of(name()));
    const bool by_request = chosen != flow.request->choices.end();
    const auto name_of_block = by_request ? std::optional(chosen->second) : flow.forced(name(), kind_);
    if (!name_of_block) return std::nullopt;
    const auto at = std::ranges::find(blocks_, *name_of_block, &Block::name);
    if (at == blocks_.end())
      throw Refusal(Http::bad_request, "node '" + flow.path_of(name()) + "' has no block '" + *name_of_block + "'");
    return static_cast<std::size_t>(at - blocks_.begin());
  }
  /// Records that a block gave the node's result, which it returns.
  StepResult used(std::size_t i, const Flow& flow, const Flow& block, StepResult result) const {
    if (flow.recording == nullptr) return result;
    join_block(flow, block);
    flow.recording->took(flow.path_of(name()), std::string(kind_), blocks_[i].name);
    return result;
  }

 private:
  std::string_view kind_;
  std::vector<Block> blocks_;
  std::vector<Slot> results_, operands_;
  std::vector<OwnGraph> graphs_;
};

class FallbackNode : public BlocksNode {
 public:
  FallbackNode(std::string name, std::vector<Block> blocks, std::vector<Slot> results)
      : BlocksNode(std::move(name), "fallback", std::move(blocks), std::move(results)) {}

 protected:
  void start(StepCall call) const override { from(0, std::make_shared<const StepCall>(std::move(call)), ""); }

 private:
  void from(std::size_t at, const std::shared_ptr<const StepCall>& call, const std::string& before) const {
    const FlowPtr& flow = call->flow;
    std::string why = before;
    const std::optional<std::size_t> forced = forced_block_of(*flow);
    if (forced) at = *forced;
    while (!forced && at + 1 < blocks().size() && blocks()[at].expected() >= flow->left()) {
      why += "'" + blocks()[at].name + "' would not end in time; ";
      ++at;
    }
    flow->note({.node = name(), .kind = "fallback", .taken = blocks()[at].name, .why = why});
    const FlowPtr tried = forked(*flow);
    graph(at).run(tried, call->inputs, [this, at, call, why, tried, forced](StepResult result) {
      const Flow& own = *call->flow;
      const bool begun = own.emitter != nullptr && own.emitter->begun;
      const bool last = forced || at + 1 == blocks().size() || begun || own.caller->disconnected();
      if (result || last) return call->done(used(at, own, *tried, std::move(result)));
      from(at + 1, call, why + "'" + blocks()[at].name + "' failed: " + result.error().what() + "; ");
    });
  }
};

/// Runs blocks concurrently, each with its own caller. These callers leave when the request's caller leaves.
class Together : public std::enable_shared_from_this<Together> {
 public:
  using Ended = std::function<void(std::size_t block, StepResult result)>;

  Together(const Flow& flow, std::size_t count) : caller_(flow.caller), flows_(count) {
    for (FlowPtr& own : flows_) own = forked(*with_caller(flow, std::make_shared<Caller>()));
    hook_.emplace(*caller_, [this] { leave(); });
  }
  void run_one(std::size_t i, const OwnGraph& graph, const std::shared_ptr<const StepCall>& call, Workers& workers,
               const Ended& ended) {
    workers.post([self = shared_from_this(), &graph, call, i, ended] {
      const BusyScope scope(self->flows_[i]->cost);
      graph.run(self->flows_[i], call->inputs, [self, i, ended](StepResult result) { ended(i, std::move(result)); });
    });
  }
  /// Returns the flow of a block.
  const FlowPtr& flow(std::size_t block) const { return flows_[block]; }
  void leave() {
    for (const FlowPtr& flow : flows_) flow->caller->leave();
  }

 private:
  std::shared_ptr<Caller> caller_;  // the hook refers to it
  std::vector<FlowPtr> flows_;
  std::optional<Caller::Hook> hook_;
};

class RaceNode : public BlocksNode {
 public:
  RaceNode(std::string name, std::vector<Block> blocks, std::vector<Slot> results, Workers& workers)
      : BlocksNode(std::move(name), "race", std::move(blocks), std::move(results)), workers_(workers) {}

 protected:
  void start(StepCall step) const override {
    struct State {
      std::mutex mutex;
      bool decided = false;
      std::size_t failed = 0;
    };
    const auto call = std::make_shared<const StepCall>(std::move(step));
    const auto state = std::make_shared<State>();
    const auto together = std::make_shared<Together>(*call->flow, blocks().size());
    const auto ended = [this, state, together, call](std::size_t i, StepResult result) {
      {
        const std::scoped_lock lock(state->mutex);
        if (!result && ++state->failed < blocks().size()) return;
        if (std::exchange(state->decided, true)) return;
      }
      if (result) {
        call->flow->note({.node = name(), .kind = "race", .taken = blocks()[i].name});
        together->leave();
      }
      call->done(used(i, *call->flow, *together->flow(i), std::move(result)));
    };
    if (const auto forced = forced_block_of(*call->flow)) {
      return graph(*forced).run(call->flow, call->inputs, [this, call, at = *forced](StepResult result) {
        call->done(used(at, *call->flow, *call->flow, std::move(result)));
      });
    }
    for (std::size_t i = 0; i < blocks().size(); ++i) together->run_one(i, graph(i), call, workers_, ended);
  }

 private:
  Workers& workers_;
};

class EnsembleNode : public BlocksNode {
 public:
  EnsembleNode(std::string name, EnsembleParts parts, std::vector<Slot> results, Workers& workers)
      : BlocksNode(std::move(name), "ensemble", std::move(parts.blocks), std::move(results)),
        least_(parts.least),
        mean_(parts.mean),
        workers_(workers) {}
  NodeView view() const override {
    NodeView view = BlocksNode::view();
    view.least = least_;
    return view;
  }
  Clock::duration expected() const override {
    auto most = Clock::duration::zero();
    for (const Block& block : blocks()) most = std::max(most, block.expected());
    return most;
  }

 protected:
  void start(StepCall step) const override {
    struct State {
      std::mutex mutex;
      std::vector<std::optional<StepResult>> results;
      std::size_t running;
    };
    const auto call = std::make_shared<const StepCall>(std::move(step));
    const auto state = std::make_shared<State>();
    state->running = blocks().size();
    state->results.resize(blocks().size());
    const auto together = std::make_shared<Together>(*call->flow, blocks().size());
    const auto ended = [this, state, together, call](std::size_t i, StepResult result) {
      {
        const std::scoped_lock lock(state->mutex);
        state->results[i] = std::move(result);
        if (--state->running > 0) return;
      }
      for (std::size_t k = 0; k < blocks().size(); ++k) join_block(*call->flow, *together->flow(k));
      try {
        call->done(combined(state->results, *call->flow));
      } catch (...) {
        call->done(std::unexpected(refusal_of_exception()));
      }
    };
    for (std::size_t i = 0; i < blocks().size(); ++i) together->run_one(i, graph(i), call, workers_, ended);
  }

 private:
  std::vector<api::Array> combined(const std::vector<std::optional<StepResult>>& results, const Flow& flow) const {
    std::vector<std::size_t> good;
    std::string why;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (*results[i])
        good.push_back(i);
      else
        why += "'" + blocks()[i].name + "' failed: " + results[i]->error().what() + "; ";
    }
    flow.decided({.node = name(),
                  .kind = "ensemble",
                  .taken = std::to_string(good.size()) + " of " + std::to_string(results.size()),
                  .why = why});
    if (good.size() < least_) {
      const auto first = std::ranges::find_if(results, [](const auto& result) { return !result->has_value(); });
      throw Refusal((*first)->error().status(), "node '" + name() + "': " + why + "needs " + std::to_string(least_));
    }
    std::vector<api::Array> values = **results[good.front()];
    for (std::size_t k = 0; mean_ && k < values.size(); ++k) {
      std::vector<api::Array> all;
      for (const std::size_t i : good) all.push_back((**results[i])[k]);
      values[k] = mean_of(all);
    }
    return values;
  }

  api::Array mean_of(const std::vector<api::Array>& all) const {
    api::Array mean(api::Dtype::f32, all.front().sizes());
    const auto to = mean.mutable_values<float>();
    for (const api::Array& one : all) {
      if (one.dtype() != api::Dtype::f32 || one.sizes() != mean.sizes()) {
        throw Refusal(Http::bad_request, "node '" + name() + "': the mean needs f32 tensors of equal sizes");
      }
      const auto from = one.values<float>();
      for (std::size_t e = 0; e < to.size(); ++e) to[e] += from[e] / static_cast<float>(all.size());
    }
    return mean;
  }

  std::size_t least_;
  bool mean_;
  Workers& workers_;
};

}  // namespace

NodePtr fallback_node(std::string name, std::vector<Block> blocks, std::vector<Slot> results) {
  return std::make_unique<FallbackNode>(std::move(name), std::move(blocks), std::move(results));
}
NodePtr race_node(std::string name, std::vector<Block> blocks, std::vector<Slot> results, Workers& workers) {
  return std::make_unique<RaceNode>(std::move(name), std::move(blocks), std::move(results), workers);
}
NodePtr ensemble_node(std::string name, EnsembleParts parts, std::vector<Slot> results, Workers& workers) {
  return std::make_unique<EnsembleNode>(std::move(name), std::move(parts), std::move(results), workers);
}

}  // namespace frazil::server
