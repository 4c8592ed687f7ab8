#include "server/pipeline/pipeline_node.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>

#include "server/core/port.h"
#include "server/request/path_record.h"

namespace frazil::server {
namespace {

void copy(const Copies& copies, std::vector<api::Array>& values) {
  std::vector<api::Array> moved;
  for (const auto& [from, to] : copies) moved.push_back(values[from]);
  for (std::size_t i = 0; i < copies.size(); ++i) values[copies[i].second] = std::move(moved[i]);
}

void run_from(const Block& block, std::size_t at, const Flow& flow, const Completion& then) {
  if (at == block.nodes.size()) {
    copy(block.results, *flow.values);
    return then(std::nullopt);
  }
  const Node& node = *block.nodes[at];
  node.uses().begun.fetch_add(1, std::memory_order_relaxed);
  node.run(flow, [&block, &uses = node.uses(), begun = Clock::now(), at, flow, then](std::optional<Refusal> why) {
    uses.ended.add(Clock::now() - begun);
    if (why && why->status() != Http::cancelled) uses.failed.fetch_add(1, std::memory_order_relaxed);
    why ? then(std::move(why)) : run_from(block, at + 1, flow, then);
  });
}

/// Returns a random number in [0, 1).
double chance() {
  thread_local std::mt19937_64 random(std::random_device{}());
  return std::uniform_real_distribution<double>()(random);
}

/// Returns a number in [0, 1) that is equal for equal texts on every machine: FNV-1a, then the finaliser of
/// MurmurHash3.
double chance_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash = (hash ^ (hash >> 33U)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33U)) * 0xc4ceb9fe1a85ec53;
  hash ^= hash >> 33U;
  return static_cast<double>(hash >> 11U) * 0x1p-53;
}

constexpr const char* kForced = "forced by the request";

/// Returns the case or arm that the request forces for a node, or null if it forces none.
template <class List>
const Block* forced_block(const Flow& flow, const std::string& node, const char* kind, const List& list) {
  const auto forced = flow.request->choices.find(node);
  if (forced == flow.request->choices.end()) return nullptr;
  const auto at = std::ranges::find(list, forced->second, [](const auto& one) { return one.block.name; });
  if (at == list.end()) throw Refusal(Http::bad_request, "node '" + node + "' has no branch '" + forced->second + "'");
  flow.note({.node = node, .kind = kind, .taken = forced->second, .why = kForced});
  return &at->block;
}

NodeView view_of_blocks(std::string_view kind, const std::vector<Block>& blocks) {
  NodeView view{.kind = kind};
  for (const Block& block : blocks) view.branches.push_back({.block = &block});
  return view;
}

class CallNode : public Node {
 public:
  CallNode(std::string name, CallParts parts) : Node(std::move(name)), parts_(std::move(parts)) {}
  Clock::duration expected() const override { return parts_.target->expected_time(); }
  NodeView view() const override { return {.kind = "run", .target = parts_.target.get()}; }

 protected:
  void start(Flow flow, Completion then) const override {
    if (flow.left() <= Clock::duration::zero()) throw Refusal(Http::timeout, "the time-out has passed");
    Call call{.caller = flow.caller,
              .identity = flow.identity,
              .arrived = Clock::now(),
              .deadline = flow.deadline,
              .target = parts_.target,
              .path = flow.path,
              .node = name()};
    if (parts_.time_out) {
      const auto limit = call.arrived + *parts_.time_out;
      call.deadline = call.deadline ? std::min(*call.deadline, limit) : limit;
    }
    call.request.priority = flow.request->priority;
    call.request.sequence = flow.request->sequence;
    call.request.parameters = flow.request->parameters;
    call.request.choices = flow.request->choices;
    call.trace = flow.trace;
    for (const auto& [input, slot] : parts_.inputs) call.request.inputs.emplace_back(input, (*flow.values)[slot]);
    for (const auto& [output, slot] : parts_.outputs) call.request.outputs.push_back({.name = output});
    if (flow.emitter != nullptr && !parts_.emits.empty()) take_parts(call, flow);
    call.done = [this, flow, then = std::move(then)](Outcome outcome) {
      if (!outcome) {
        return then(Refusal(outcome.error().status(), "node '" + name() + "': " + outcome.error().what()));
      }
      for (std::size_t i = 0; i < parts_.outputs.size(); ++i) {
        (*flow.values)[parts_.outputs[i].second] = std::move(outcome->outputs[i].second);
      }
      then(std::nullopt);
    };
    parts_.target->infer(std::move(call));
  }

 private:
  /// Emits the target's parts as parts of this request.
  void take_parts(Call& call, const Flow& flow) const {
    for (const auto& [there, here] : parts_.emits) {
      if (!position_of(parts_.target->outputs(), there)) call.request.outputs.push_back({.name = there});
    }
    call.part = [this, flow](InferResponse part) {
      std::vector<NamedArray> values;
      for (const auto& [there, here] : parts_.emits) {
        const auto value = std::ranges::find(part.outputs, there, &NamedArray::first);
        if (value != part.outputs.end()) values.emplace_back(here, value->second);
      }
      flow.emit(std::move(values));
    };
  }

  CallParts parts_;
};

class SwitchNode : public Node {
 public:
  SwitchNode(std::string name, std::vector<Case> cases) : Node(std::move(name)), cases_(std::move(cases)) {}
  Clock::duration expected() const override {
    auto least = Clock::duration::max();
    for (const Case& one : cases_) least = std::min(least, one.block.expected());
    return least;
  }
  NodeView view() const override {
    NodeView view{.kind = "switch"};
    for (const Case& one : cases_) {
      view.branches.push_back({.block = &one.block, .rule = one.when ? one.when->text() : "otherwise"});
    }
    return view;
  }

 protected:
  void start(Flow flow, Completion then) const override {
    if (const Block* const forced = forced_block(flow, name(), "switch", cases_)) return forced->run(flow, then);
    std::string why;
    for (const Case& one : cases_) {
      bool taken = true;
      if (one.when) {
        const auto values = flow.for_formula();
        taken = one.when->is_true_for(values);
        why += (why.empty() ? "" : "; ") + one.when->text() + " is " + (taken ? "true" : "false") + " for " +
               text_of(one.when->subject(values));
      }
      if (!taken) continue;
      flow.note({.node = name(), .kind = "switch", .taken = one.block.name, .why = why});
      return one.block.run(flow, then);
    }
    throw Refusal(Http::bad_request, "node '" + name() + "': no case applies: " + why);
  }

 private:
  std::vector<Case> cases_;
};

class SplitNode : public Node {
 public:
  SplitNode(std::string name, SplitParts parts) : Node(std::move(name)), parts_(std::move(parts)) {
    for (const Arm& arm : parts_.arms) {
      if (arm.rollback != nullptr) rollbacks_.push_back(arm.rollback.get());
    }
  }
  Clock::duration expected() const override {
    auto least = Clock::duration::max();
    for (const Arm& arm : parts_.arms) least = std::min(least, arm.block.expected());
    return least;
  }
  NodeView view() const override {
    NodeView view{.kind = "split"};
    for (const Arm& arm : parts_.arms) {
      view.branches.push_back(
          {.block = &arm.block, .rule = "share " + text_of(Scalar(arm.share)), .rollback = arm.rollback.get()});
    }
    return view;
  }

 protected:
  void start(Flow flow, Completion then) const override {
    if (const Block* const forced = forced_block(flow, name(), "split", parts_.arms)) return forced->run(flow, then);
    const std::string key = parts_.by ? text_of(parts_.by->value(flow.for_formula())) : "";
    const double drawn = key.empty() ? chance() : chance_of(name() + '\n' + key);
    const Arm* arm = &arm_at(drawn);
    std::string why = (key.empty() ? "drew " : "'" + key + "' gives ") + text_of(Scalar(drawn));
    if (arm->rollback != nullptr && arm->rollback->rolled_back()) {
      why += "; '" + arm->block.name + "' is rolled back";
      arm = &parts_.arms[parts_.baseline];
    }
    flow.note({.node = name(), .kind = "split", .taken = arm->block.name, .why = std::move(why)});
    arm->block.run(flow, rollbacks_.empty() ? then : counted(*arm, flow, std::move(then)));
  }

 private:
  const Arm& arm_at(double drawn) const {
    double sum = 0;
    for (const Arm& arm : parts_.arms) {
      sum += arm.share;
      if (drawn < sum) return arm;
    }
    return parts_.arms.back();
  }

  /// Wraps `then` to report the end of an arm's request to the guards. `flow` keeps this node alive.
  Completion counted(const Arm& arm, const Flow& flow, Completion then) const {
    return [this, &arm, flow, begun = Clock::now(), then = std::move(then)](std::optional<Refusal> why) {
      const auto now = Clock::now();
      if (!why || why->status() != Http::bad_request) {
        if (!why || why->status() != Http::cancelled) count(arm, begun, now, why.has_value());
      } else if (&arm != &parts_.arms[parts_.baseline]) {
        count_unless_clients(arm, flow, begun, now);
      }
      then(std::move(why));
    };
  }

  /// Counts a request that an arm refuses, unless the baseline refuses it, too.
  void count_unless_clients(const Arm& arm, const Flow& flow, Clock::time_point begun, Clock::time_point now) const {
    Flow own = flow.without_effects();
    own.caller = std::make_shared<Caller>();
    parts_.arms[parts_.baseline].block.run(own, [this, &arm, own, begun, now](const std::optional<Refusal>& why) {
      if (!why || why->status() != Http::bad_request) count(arm, begun, now, true);
    });
  }

  void count(const Arm& arm, Clock::time_point begun, Clock::time_point now, bool failed) const {
    if (&arm == &parts_.arms[parts_.baseline]) {
      for (Rollback* const guard : rollbacks_) guard->count(Rollback::Side::baseline, now, now - begun, failed);
    } else if (arm.rollback != nullptr) {
      arm.rollback->count(Rollback::Side::arm, now, now - begun, failed);
    }
  }

  SplitParts parts_;
  std::vector<Rollback*> rollbacks_;
};

class FallbackNode : public Node {
 public:
  FallbackNode(std::string name, std::vector<Block> blocks) : Node(std::move(name)), blocks_(std::move(blocks)) {}
  Clock::duration expected() const override {
    auto least = Clock::duration::max();
    for (const Block& block : blocks_) least = std::min(least, block.expected());
    return least;
  }
  NodeView view() const override { return view_of_blocks("fallback", blocks_); }

 protected:
  void start(Flow flow, Completion then) const override { from(0, flow, then, ""); }

 private:
  void from(std::size_t at, const Flow& flow, const Completion& then, const std::string& before) const {
    std::string why = before;
    while (at + 1 < blocks_.size() && blocks_[at].expected() >= flow.left()) {
      why += "'" + blocks_[at].name + "' would not end in time; ";
      ++at;
    }
    flow.note({.node = name(), .kind = "fallback", .taken = blocks_[at].name, .why = why});
    blocks_[at].run(flow, [this, at, flow, then, why](std::optional<Refusal> failed) {
      const bool begun = flow.emitter != nullptr && flow.emitter->begun;
      const bool last = at + 1 == blocks_.size() || begun || flow.caller->disconnected();
      if (!failed || last) return then(std::move(failed));
      from(at + 1, flow, then, why + "'" + blocks_[at].name + "' failed: " + failed->what() + "; ");
    });
  }

  std::vector<Block> blocks_;
};

/// Runs blocks concurrently, each with its own caller. These callers leave when the request's caller leaves.
class Together : public std::enable_shared_from_this<Together> {
 public:
  using Ended = std::function<void(std::size_t block, std::optional<Refusal> why)>;

  Together(const Flow& flow, std::size_t count) : caller_(flow.caller), callers_(count) {
    for (auto& caller : callers_) caller = std::make_shared<Caller>();
    hook_.emplace(*caller_, [this] { leave(); });
  }
  void run_one(std::size_t i, const Block& block, const Flow& flow, std::shared_ptr<std::vector<api::Array>> values,
               Workers& workers, const Ended& ended) {
    Flow own = flow;
    own.caller = callers_[i];
    own.values = std::move(values);
    workers.post([self = shared_from_this(), &block, own, i, ended] {
      block.run(own, [self, i, ended](std::optional<Refusal> why) { ended(i, std::move(why)); });
    });
  }
  void leave() {
    for (const auto& caller : callers_) caller->leave();
  }

 private:
  std::shared_ptr<Caller> caller_;  // the hook refers to it
  std::vector<std::shared_ptr<Caller>> callers_;
  std::optional<Caller::Hook> hook_;
};

class RaceNode : public Node {
 public:
  RaceNode(std::string name, std::vector<Block> blocks, Workers& workers)
      : Node(std::move(name)), blocks_(std::move(blocks)), workers_(workers) {}
  Clock::duration expected() const override {
    auto least = Clock::duration::max();
    for (const Block& block : blocks_) least = std::min(least, block.expected());
    return least;
  }
  NodeView view() const override { return view_of_blocks("race", blocks_); }

 protected:
  /// Runs each block on its own copy of the values, so that a late block changes nothing.
  void start(Flow flow, Completion then) const override {
    struct State {
      std::mutex mutex;
      bool decided = false;
      std::size_t failed = 0;
    };
    const auto state = std::make_shared<State>();
    const auto together = std::make_shared<Together>(flow, blocks_.size());
    std::vector<std::shared_ptr<std::vector<api::Array>>> values;
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      values.push_back(std::make_shared<std::vector<api::Array>>(*flow.values));
    const auto ended = [this, state, together, values, flow, then](std::size_t i, std::optional<Refusal> why) {
      {
        const std::scoped_lock lock(state->mutex);
        if (why && ++state->failed < blocks_.size()) return;
        if (std::exchange(state->decided, true)) return;
      }
      if (!why) {
        *flow.values = *values[i];
        flow.note({.node = name(), .kind = "race", .taken = blocks_[i].name});
        together->leave();
      }
      then(std::move(why));
    };
    for (std::size_t i = 0; i < blocks_.size(); ++i) together->run_one(i, blocks_[i], flow, values[i], workers_, ended);
  }

 private:
  std::vector<Block> blocks_;
  Workers& workers_;
};

class EnsembleNode : public Node {
 public:
  EnsembleNode(std::string name, EnsembleParts parts, Workers& workers)
      : Node(std::move(name)), parts_(std::move(parts)), workers_(workers) {}
  Clock::duration expected() const override {
    auto most = Clock::duration::zero();
    for (const Block& block : parts_.blocks) most = std::max(most, block.expected());
    return most;
  }
  NodeView view() const override { return view_of_blocks("ensemble", parts_.blocks); }

 protected:
  void start(Flow flow, Completion then) const override {
    struct State {
      std::mutex mutex;
      std::vector<std::optional<Refusal>> failed;
      std::size_t running;
    };
    const auto state = std::make_shared<State>();
    state->running = parts_.blocks.size();
    state->failed.resize(parts_.blocks.size());
    const auto together = std::make_shared<Together>(flow, parts_.blocks.size());
    const auto ended = [this, state, together, flow, then](std::size_t i, std::optional<Refusal> why) {
      {
        const std::scoped_lock lock(state->mutex);
        state->failed[i] = std::move(why);
        if (--state->running > 0) return;
      }
      try {
        combine(state->failed, flow);
        then(std::nullopt);
      } catch (...) {
        then(refusal_of_exception());
      }
    };
    for (std::size_t i = 0; i < parts_.blocks.size(); ++i) {
      together->run_one(i, parts_.blocks[i], flow, flow.values, workers_, ended);
    }
  }

 private:
  void combine(const std::vector<std::optional<Refusal>>& failed, const Flow& flow) const {
    std::vector<std::size_t> good;
    std::string why;
    for (std::size_t i = 0; i < failed.size(); ++i) {
      if (!failed[i])
        good.push_back(i);
      else
        why += "'" + parts_.blocks[i].name + "' failed: " + failed[i]->what() + "; ";
    }
    flow.note({.node = name(),
               .kind = "ensemble",
               .taken = std::to_string(good.size()) + " of " + std::to_string(failed.size()),
               .why = why});
    if (good.size() < parts_.least) {
      const auto first = std::ranges::find_if(failed, [](const auto& f) { return f.has_value(); });
      throw Refusal((*first)->status(), "node '" + name() + "': " + why + "needs " + std::to_string(parts_.least));
    }
    for (std::size_t k = 0; k < parts_.to.size(); ++k) {
      api::Array result = (*flow.values)[parts_.from[k][good.front()]];
      if (parts_.mean) result = mean_of(k, good, flow);
      (*flow.values)[parts_.to[k]] = std::move(result);
    }
  }

  api::Array mean_of(std::size_t k, const std::vector<std::size_t>& good, const Flow& flow) const {
    api::Array mean(api::Dtype::f32, (*flow.values)[parts_.from[k][good.front()]].sizes());
    const auto to = mean.mutable_values<float>();
    for (const std::size_t i : good) {
      const api::Array& one = (*flow.values)[parts_.from[k][i]];
      if (one.dtype() != api::Dtype::f32 || one.sizes() != mean.sizes()) {
        throw Refusal(Http::bad_request, "node '" + name() + "': the mean needs f32 tensors of equal sizes");
      }
      const auto from = one.values<float>();
      for (std::size_t e = 0; e < to.size(); ++e) to[e] += from[e] / static_cast<float>(good.size());
    }
    return mean;
  }

  EnsembleParts parts_;
  Workers& workers_;
};

/// Adapts the request for stateful models: the first iteration starts the request's sequence, and none ends it.
Flow in_iteration(Flow flow, bool first) {
  const SequencePart& sequence = flow.request->sequence;
  const bool start = sequence.start && first;
  if (sequence.id.empty() || (start == sequence.start && !sequence.end)) return flow;
  auto request = std::make_shared<InferRequest>(*flow.request);
  request->sequence.start = start;
  request->sequence.start_if_new |= sequence.start;
  request->sequence.end = false;
  flow.request = std::move(request);
  return flow;
}

class LoopNode : public Node {
 public:
  LoopNode(std::string name, LoopParts parts, Workers& workers)
      : Node(std::move(name)), parts_(std::move(parts)), workers_(workers) {}
  Clock::duration expected() const override { return parts_.again ? Clock::duration::zero() : parts_.block.expected(); }
  NodeView view() const override {
    const std::string rule = parts_.again ? "while " + parts_.again->text() : "";
    return {.kind = "loop", .branches = {{.block = &parts_.block, .rule = rule}}};
  }

 protected:
  void start(Flow flow, Completion then) const override {
    copy(parts_.before, *flow.values);
    iterate(in_iteration(flow, true), then, 0);
  }

 private:
  void iterate(const Flow& flow, const Completion& then, std::uint64_t done) const try {
    if (flow.caller->disconnected()) throw Refusal(Http::cancelled, "the caller has disconnected");
    const bool more = done < parts_.most && (!parts_.again || parts_.again->is_true_for(flow.for_formula()));
    if (!more) {
      if (parts_.count) (*flow.values)[*parts_.count] = api::Array::scalar(static_cast<std::int64_t>(done));
      flow.note({.node = name(), .kind = "loop", .taken = std::to_string(done) + " iterations"});
      return then(std::nullopt);
    }
    parts_.block.run(flow, [this, flow, then, done](std::optional<Refusal> why) {
      if (why) return then(std::move(why));
      end_iteration(flow, then, done + 1);
    });
  } catch (...) {
    then(refusal_of_exception());
  }

  void end_iteration(const Flow& flow, const Completion& then, std::uint64_t done) const try {
    copy(parts_.next, *flow.values);
    if (!parts_.emits.empty() && flow.emitter != nullptr) {
      std::vector<NamedArray> values;
      for (const auto& [output, slot] : parts_.emits) values.emplace_back(output, (*flow.values)[slot]);
      flow.emit(std::move(values));
    }
    workers_.post(
        [this, next = done == 1 ? in_iteration(flow, false) : flow, then, done] { iterate(next, then, done); });
  } catch (...) {
    then(refusal_of_exception());
  }

  LoopParts parts_;
  Workers& workers_;
};

class ShadowNode : public Node {
 public:
  ShadowNode(std::string name, double share, Block block, Workers& workers)
      : Node(std::move(name)), share_(share), block_(std::move(block)), workers_(workers) {}
  Clock::duration expected() const override { return Clock::duration::zero(); }
  NodeView view() const override {
    return {.kind = "shadow", .branches = {{.block = &block_, .rule = "share " + text_of(Scalar(share_))}}};
  }

 protected:
  void start(Flow flow, Completion then) const override {
    if (chance() < share_) {
      Flow own = flow.without_effects();
      own.caller = std::make_shared<Caller>();
      flow.note({.node = name(), .kind = "shadow", .taken = block_.name});
      workers_.post([this, own] { block_.run(own, [own](const std::optional<Refusal>&) {}); });
    }
    then(std::nullopt);
  }

 private:
  double share_;
  Block block_;
  Workers& workers_;
};

}  // namespace

void Node::run(Flow flow, const Completion& then) const {
  try {
    start(std::move(flow), then);
  } catch (...) {
    then(refusal_of_exception());
  }
}

void Block::run(const Flow& flow, const Completion& then) const {
  taken->fetch_add(1, std::memory_order_relaxed);
  run_from(*this, 0, flow, then);
}

Clock::duration Block::expected() const {
  auto sum = Clock::duration::zero();
  for (const NodePtr& node : nodes) sum += node->expected();
  return sum;
}

void for_each_guard(const Block& block, const std::function<void(const Node& split, const NodeView::Branch& arm)>& f) {
  for (const NodePtr& node : block.nodes) {
    for (const NodeView::Branch& branch : node->view().branches) {
      if (branch.rollback != nullptr) f(*node, branch);
      for_each_guard(*branch.block, f);
    }
  }
}

NodePtr call_node(std::string name, CallParts parts) {
  return std::make_unique<CallNode>(std::move(name), std::move(parts));
}
NodePtr switch_node(std::string name, std::vector<Case> cases) {
  return std::make_unique<SwitchNode>(std::move(name), std::move(cases));
}
NodePtr split_node(std::string name, SplitParts parts) {
  return std::make_unique<SplitNode>(std::move(name), std::move(parts));
}
NodePtr fallback_node(std::string name, std::vector<Block> blocks) {
  return std::make_unique<FallbackNode>(std::move(name), std::move(blocks));
}
NodePtr race_node(std::string name, std::vector<Block> blocks, Workers& workers) {
  return std::make_unique<RaceNode>(std::move(name), std::move(blocks), workers);
}
NodePtr ensemble_node(std::string name, EnsembleParts parts, Workers& workers) {
  return std::make_unique<EnsembleNode>(std::move(name), std::move(parts), workers);
}
NodePtr loop_node(std::string name, LoopParts parts, Workers& workers) {
  return std::make_unique<LoopNode>(std::move(name), std::move(parts), workers);
}
NodePtr shadow_node(std::string name, double share, Block block, Workers& workers) {
  return std::make_unique<ShadowNode>(std::move(name), share, std::move(block), workers);
}

}  // namespace frazil::server
