#include <algorithm>
#include <random>

#include "server/core/json_text.h"
#include "server/pipeline/choice.h"
#include "server/pipeline/lowering.h"
#include "server/pipeline/nodes.h"
#include "server/pipeline/pipeline_graph.h"

namespace frazil::server {
namespace {

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

std::string share_rule(double share) { return "share " + number_text(share); }

/// The operands of its step are those of the arms, then the value of `by`.
class SplitNode : public StepNode {
 public:
  SplitNode(std::string name, SplitParts parts, std::vector<Slot> results)
      : StepNode(std::move(name)), parts_(std::move(parts)), results_(std::move(results)) {
    for (const Arm& arm : parts_.arms) {
      if (arm.rollback != nullptr) rollbacks_.push_back(arm.rollback.get());
      add_slots(operands_, arm.block.captured());
    }
    for (const Arm& arm : parts_.arms) graphs_.emplace_back(arm.block, operands_);
  }
  std::vector<Slot> reads() const override {
    std::vector<Slot> slots = operands_;
    if (parts_.by) add_slots(slots, parts_.by->reads());
    return slots;
  }
  std::vector<Slot> writes() const override { return results_; }
  Clock::duration expected() const override { return least_expected(parts_.arms); }
  NodeView view() const override {
    NodeView view{.kind = "split",
                  .decision = parts_.by ? &*parts_.by : nullptr,
                  .draws = !parts_.by || parts_.by->is_text()};  // an empty text is not a key
    for (std::size_t i = 0; i < parts_.arms.size(); ++i) {
      const Arm& arm = parts_.arms[i];
      view.branches.push_back({.block = &arm.block,
                               .rule = share_rule(arm.share),
                               .rollback = arm.rollback.get(),
                               .graph = &graphs_[i].graph(),
                               .cheaper = arm.cheaper});
    }
    return view;
  }
  void lower(Lowering& to) const override {
    std::vector<api::Term> operands = to.values(operands_);
    if (parts_.by) operands.push_back(to.value(*parts_.by));
    to.define(results_, to.step(*this, std::move(operands), results_));
  }

 protected:
  void start(StepCall call) const override {
    const FlowPtr& flow = call.flow;
    const std::int64_t forced = forced_block(*flow, name(), "split", parts_.arms);
    if (forced >= 0) return graphs_[static_cast<std::size_t>(forced)].run(flow, call.inputs, std::move(call.done));
    if (const auto recorded = flow->forced(name(), "split")) {
      const std::int64_t at = index_of_block(*flow, name(), *recorded, parts_.arms);
      flow->decided({.node = name(), .kind = "split", .taken = *recorded, .why = "as recorded"});
      return graphs_[static_cast<std::size_t>(at)].run(flow, call.inputs, std::move(call.done));
    }
    const std::string key = parts_.by ? value_text(call.inputs.back()) : "";
    const double drawn = key.empty() ? chance() : chance_of(name() + '\n' + key);
    std::size_t arm = arm_at(drawn);
    std::string why = (key.empty() ? "drew " : "'" + key + "' gives ") + number_text(drawn);
    const auto& rollback = parts_.arms[arm].rollback;
    const bool rolled_back = rollback != nullptr && rollback->rolled_back();
    if (rolled_back) {
      why += "; '" + parts_.arms[arm].block.name + "' is rolled back";
      arm = parts_.baseline;
    }
    if (const Afforded entered = afforded(*flow, name(), "split", parts_.arms, arm); entered.branch != arm) {
      arm = entered.branch;
      why = entered.why;
    }
    flow->decided({.node = name(),
                   .kind = "split",
                   .taken = parts_.arms[arm].block.name,
                   .why = std::move(why),
                   .key = key.empty() ? std::nullopt : std::optional(key),
                   .rolled_back = rolled_back});
    if (!rollbacks_.empty()) call.done = counted(arm, call);
    graphs_[arm].run(flow, call.inputs, std::move(call.done));
  }

 private:
  using Done = std::function<void(StepResult)>;

  std::size_t arm_at(double drawn) const {
    double sum = 0;
    for (std::size_t i = 0; i < parts_.arms.size(); ++i) {
      sum += parts_.arms[i].share;
      if (drawn < sum) return i;
    }
    return parts_.arms.size() - 1;
  }

  /// Wraps `call.done` to report the end of an arm's request to the guards. The call's flow keeps this node alive.
  Done counted(std::size_t arm, const StepCall& call) const {
    return
        [this, arm, flow = call.flow, inputs = call.inputs, begun = Clock::now(), done = call.done](StepResult result) {
          const auto now = Clock::now();
          const auto status = result ? std::nullopt : std::optional(result.error().status());
          if (status != Http::bad_request) {
            const bool of_arm = status != Http::cancelled && status != Http::forbidden;
            if (of_arm) count(arm, begun, now, status.has_value());
          } else if (arm != parts_.baseline) {
            count_unless_clients(arm, flow, inputs, begun, now);
          }
          done(std::move(result));
        };
  }

  /// Counts a request that an arm refuses, unless the baseline refuses it, too.
  void count_unless_clients(std::size_t arm, const FlowPtr& flow, const std::vector<api::Array>& inputs,
                            Clock::time_point begun, Clock::time_point now) const {
    const FlowPtr own = beside(*flow, CostAccount::guard);
    graphs_[parts_.baseline].run(own, inputs, [this, arm, own, begun, now](const StepResult& result) {
      if (result || result.error().status() != Http::bad_request) count(arm, begun, now, true);
    });
  }

  void count(std::size_t arm, Clock::time_point begun, Clock::time_point now, bool failed) const {
    if (arm == parts_.baseline) {
      for (Rollback* const guard : rollbacks_) guard->count(Rollback::Side::baseline, now, now - begun, failed);
    } else if (parts_.arms[arm].rollback != nullptr) {
      parts_.arms[arm].rollback->count(Rollback::Side::arm, now, now - begun, failed);
    }
  }

  SplitParts parts_;
  std::vector<Slot> results_, operands_;
  std::vector<OwnGraph> graphs_;
  std::vector<Rollback*> rollbacks_;
};

class ShadowNode : public StepNode {
 public:
  ShadowNode(std::string name, double share, Block block, Workers& workers)
      : StepNode(std::move(name)),
        share_(share),
        block_(std::move(block)),
        operands_(block_.captured()),
        graph_(block_, operands_),
        workers_(workers) {}
  std::vector<Slot> reads() const override { return operands_; }
  std::vector<Slot> writes() const override { return {}; }
  Clock::duration expected() const override { return Clock::duration::zero(); }
  NodeView view() const override {
    return {.kind = "shadow",
            .branches = {{.block = &block_, .rule = share_rule(share_), .graph = &graph_.graph()}},
            .draws = share_ > 0 && share_ < 1};
  }

 protected:
  void start(StepCall call) const override {
    if (!is_replay(call.flow->recording) && chance() < share_) {
      call.flow->note({.node = name(), .kind = "shadow", .taken = block_.name});
      workers_.post([this, own = beside(*call.flow, CostAccount::shadow), inputs = std::move(call.inputs)] {
        const BusyScope scope(own->cost);
        graph_.run(own, inputs, [own](const StepResult&) {});
      });
    }
    call.done(std::vector<api::Array>{});
  }

 private:
  double share_;
  Block block_;
  std::vector<Slot> operands_;
  OwnGraph graph_;
  Workers& workers_;
};

}  // namespace

NodePtr split_node(std::string name, SplitParts parts, std::vector<Slot> results) {
  return std::make_unique<SplitNode>(std::move(name), std::move(parts), std::move(results));
}
NodePtr shadow_node(std::string name, double share, Block block, Workers& workers) {
  return std::make_unique<ShadowNode>(std::move(name), share, std::move(block), workers);
}

}  // namespace frazil::server
