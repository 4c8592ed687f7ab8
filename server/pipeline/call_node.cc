#include <algorithm>

#include "server/access/governed.h"
#include "server/core/port.h"
#include "server/pipeline/nodes.h"

namespace frazil::server {
namespace {

class CallNode : public StepNode {
 public:
  CallNode(std::string name, CallParts parts) : StepNode(std::move(name)), parts_(std::move(parts)) {}
  std::vector<Slot> reads() const override { return slots_of(parts_.inputs); }
  std::vector<Slot> writes() const override { return slots_of(parts_.outputs); }
  Clock::duration expected() const override { return parts_.target->expected_time(); }
  NodeView view() const override {
    return {.kind = "run",
            .target = parts_.target.get(),
            .inputs = parts_.inputs,
            .outputs = parts_.outputs,
            .emits = parts_.emits};
  }

 protected:
  void start(StepCall step) const override {
    const FlowPtr& flow = step.flow;
    check_time(*flow);
    check_policy(flow->identity);
    Call call{.caller = flow->caller,
              .identity = flow->identity,
              .arrived = Clock::now(),
              .deadline = flow->deadline,
              .target = parts_.target,
              .path = flow->path,
              .cost = flow->cost,
              .recording = flow->recording,
              .trace = flow->trace,
              .node = flow->path_of(name())};
    if (parts_.time_out && !is_replay(flow->recording)) {
      const auto limit = call.arrived + *parts_.time_out;
      call.deadline = call.deadline ? std::min(*call.deadline, limit) : limit;
    }
    call.request.priority = flow->request->priority;
    call.request.sequence = flow->request->sequence;
    call.request.parameters = flow->request->parameters;
    call.request.choices = flow->request->choices;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      call.request.inputs.emplace_back(parts_.inputs[i].first, std::move(step.inputs[i]));
    }
    for (const auto& [output, slot] : parts_.outputs) call.request.outputs.push_back({.name = output});
    if (flow->emitter != nullptr && !parts_.emits.empty()) take_parts(call, flow);
    call.done = [this, flow, done = std::move(step.done)](Outcome outcome) { done(result_of(std::move(outcome))); };
    parts_.target->infer(std::move(call));
  }

 private:
  /// Throws Refusal (forbidden) if the policy rejects the call.
  void check_policy(const Tenants::Identity& identity) const {
    const CallPolicy& policy = parts_.policy;
    if (policy.governor == nullptr) return;
    const Served& target = *parts_.target;
    const auto reason = policy.governor->check_dispatch(decisions_, tenant_of(identity), [&] {
      return govern::DispatchQuestion{.by = policy.by,
                                      .caller = policy.caller,
                                      .model = target.name(),
                                      .version = target.version(),
                                      .digest = target.digest(),
                                      .explicit_version = policy.explicit_version};
    });
    if (reason) {
      throw refused_by_policy(
          "node '" + name() + "' to run version " + target.version() + " of '" + target.name() + "'", *reason);
    }
  }

  /// Refuses a call whose time-out has passed, or had passed when a replayed request ran.
  void check_time(const Flow& flow) const {
    const std::string node = flow.path_of(name());
    const bool replay = is_replay(flow.recording);
    const bool late = replay ? flow.recording->next_kind(node) == "late" : flow.left() <= Clock::duration::zero();
    if (!late) return;
    if (replay) {
      (void)flow.recording->next(node, "late");
    } else if (flow.recording != nullptr) {
      flow.recording->add({.node = node, .kind = "late"});
    }
    throw Refusal(Http::timeout, "the time-out has passed");
  }

  static std::vector<Slot> slots_of(const std::vector<std::pair<std::string, Slot>>& named) {
    std::vector<Slot> slots;
    for (const auto& [port, slot] : named) slots.push_back(slot);
    return slots;
  }

  StepResult result_of(Outcome outcome) const {
    if (!outcome) {
      return std::unexpected(outcome.error().after("node '" + name() + "': "));
    }
    std::vector<api::Array> values;
    for (std::size_t i = 0; i < parts_.outputs.size(); ++i) values.push_back(std::move(outcome->outputs[i].second));
    return values;
  }

  /// Emits the target's parts as parts of this request.
  void take_parts(Call& call, const FlowPtr& flow) const {
    for (const auto& [there, here] : parts_.emits) {
      if (!position_of(parts_.target->outputs(), there)) call.request.outputs.push_back({.name = there});
    }
    call.part = [this, flow](const InferResponse& part) {
      std::vector<NamedArray> values;
      for (const auto& [there, here] : parts_.emits) {
        const auto value = std::ranges::find(part.outputs, there, &NamedArray::first);
        if (value != part.outputs.end()) values.emplace_back(here, value->second);
      }
      flow->emit(std::move(values));
    };
  }

  CallParts parts_;
  mutable govern::KeptDecisions decisions_;
};

}  // namespace

NodePtr call_node(std::string name, CallParts parts) {
  return std::make_unique<CallNode>(std::move(name), std::move(parts));
}

}  // namespace frazil::server
