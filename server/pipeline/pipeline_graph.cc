#include "server/pipeline/pipeline_graph.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include <frazil/build.h>
#include <frazil/error.h>
#include <frazil/host_operator.h>

#include "server/pipeline/lowering.h"

namespace frazil::server {
namespace {

using Nodes = std::shared_ptr<const std::vector<const Node*>>;

/// Returns the flow for stateful models in a loop: the first iteration starts the request's sequence, and none ends it.
FlowPtr in_iteration(FlowPtr flow, bool first) {
  const SequencePart& sequence = flow->request->sequence;
  const bool start = sequence.start && first;
  if (sequence.id.empty() || (start == sequence.start && !sequence.end)) return flow;
  auto request = std::make_shared<InferRequest>(*flow->request);
  request->sequence.start = start;
  request->sequence.start_if_new |= sequence.start;
  request->sequence.end = false;
  Flow own = *flow;
  own.request = std::move(request);
  return std::make_shared<const Flow>(std::move(own));
}

/// One run of a graph: the context of its session. Its steps use it one after the other.
struct GraphRun {
  FlowPtr flow;
  Nodes nodes;
  std::optional<Refusal> why = {};  ///< of the failed step
  std::vector<std::pair<const Node*, Clock::time_point>> entered = {};
  std::vector<FlowPtr> outside = {};  ///< the flows around the loops in progress

  void enter_loop() {
    outside.push_back(flow);
    flow = in_iteration(flow, true);
  }
  void leave_loop() {
    flow = std::move(outside.back());
    outside.pop_back();
  }

  void enter(const Node& node) {
    node.uses().begin();
    entered.emplace_back(&node, Clock::now());
  }
  void leave() {
    const auto [node, began] = entered.back();
    entered.pop_back();
    node->uses().end(Clock::now() - began, why ? &*why : nullptr);
  }
};

/// Gives the results of a step. A step without results has an output that nothing uses.
void give(const api::HostReply& reply, std::vector<api::Array> results) {
  if (results.empty()) results.push_back(api::Array::scalar(true));
  reply.give(std::move(results));
}

/// Runs a part of a node, and gives its results to the graph.
void run_part(const std::shared_ptr<GraphRun>& run, const Node& node, StepCall call, const api::HostReply& reply) {
  const bool whole = call.part == Lowering::kWhole;
  if (whole) node.uses().begin();
  call.done = [run, &node, whole, reply, began = Clock::now()](StepResult result) {
    if (whole) node.uses().end(Clock::now() - began, result ? nullptr : &result.error());
    if (result) return give(reply, std::move(*result));
    run->why = result.error();
    reply.fail(std::make_exception_ptr(std::move(result.error())));
  };
  node.run(std::move(call));
}

/// Returns the run of an operator's call. Throws api::Error (unsupported) outside of a pipeline.
std::shared_ptr<GraphRun> run_of(const api::HostStart& start) {
  if (start.context == nullptr) throw api::Error(api::Code::unsupported, "it runs in a pipeline of a server only");
  return std::static_pointer_cast<GraphRun>(start.context);
}

void start_step(api::HostStart start, const api::HostReply& reply) {
  const auto run = run_of(start);
  const Node& node = *run->nodes->at(static_cast<std::size_t>(start.attributes.integer("step")));
  const std::int64_t part = start.attributes.integer("part");
  if (part == Lowering::kWhole || part >= Lowering::kIterated) {
    if (part == Lowering::kIterated) run->flow = in_iteration(run->flow, false);
    return run_part(run, node, {.flow = run->flow, .part = part, .inputs = std::move(start.inputs), .done = {}}, reply);
  }
  if (part == Lowering::kEnterLoop) run->enter_loop();
  if (part == Lowering::kEnter || part == Lowering::kEnterLoop) run->enter(node);
  if (part == Lowering::kLeaveLoop) run->leave_loop();
  if (part == Lowering::kLeave || part == Lowering::kLeaveLoop) run->leave();
  give(reply, {});
}

/// Returns the type for a text of kStepOperator's `results`.
api::TensorType result_type(std::string_view text) {
  const bool scalar = text.ends_with("[]");
  if (scalar) text.remove_suffix(2);
  for (auto d = api::Dtype::boolean; d <= api::Dtype::u2; d = static_cast<api::Dtype>(static_cast<int>(d) + 1)) {
    if (api::name_of(d) == text) return {.dtype = d, .dims = {}, .ranked = scalar};
  }
  throw api::Error(api::Code::bad_model, "there is no element type '" + std::string(text) + "'");
}

void register_step() {
  constexpr std::size_t kMaxResults = 1024;
  api::HostOperator op = operator_named(kStepOperator, "Runs a part of a pipeline's node");
  op.inputs = 0;
  op.variadic = true;
  op.outputs = kMaxResults;
  op.attributes = {{"step", 0}, {"part", 0}, {"results", std::vector<std::string>{}}};
  op.pure = false;
  op.effects = true;
  op.types = [](const api::NodeAttributes& attributes, std::span<const api::TensorType>) {
    std::vector<api::TensorType> types;
    for (const std::string& text : attributes.texts("results")) types.push_back(result_type(text));
    return types;
  };
  op.start = [](api::HostStart start, const api::HostReply& reply) { start_step(std::move(start), reply); };
  api::register_operator(std::move(op));
}

api::Model build(const std::string& name, const Block& block, const std::vector<Slot>& inputs,
                 std::vector<const Node*>& nodes) {
  static std::once_flag once;
  std::call_once(once, [] {
    register_step();
    register_formula_operators();
  });
  api::GraphBuilder graph(name);
  Lowering lowering(graph, nodes);
  for (const Slot& slot : inputs) {
    lowering.define({slot}, std::array{graph.input("in" + std::to_string(slot.id), slot.dtype)});
  }
  std::size_t k = 0;
  for (const api::Term result : lowering.block(block)) graph.output("out" + std::to_string(k++), result);
  return graph.build();
}

api::PoolOptions pool_options() {
  // Steps do the work: machine code for what is between them gains nothing.
  return {.session = {.tier = "0", .threads = 1},
          .max_sessions = std::numeric_limits<std::size_t>::max(),
          .max_idle = PipelineGraph::kMaxIdle};
}

}  // namespace

api::HostOperator operator_named(const std::string& name, std::string doc) {
  const std::size_t dot = name.rfind('.');
  return {.name = name.substr(dot + 1), .domain = name.substr(0, dot), .doc = std::move(doc)};
}

const InferRequest& request_of(const api::HostStart& start) { return *run_of(start)->flow->request; }

PipelineGraph::PipelineGraph(const std::string& name, const Block& block, const std::vector<Slot>& inputs)
    : model_([&] {
        auto nodes = std::make_shared<std::vector<const Node*>>();
        api::Model model = build(name, block, inputs, *nodes);
        nodes_ = std::move(nodes);
        return model;
      }()),
      pool_(model_, pool_options()) {}

void PipelineGraph::run(FlowPtr flow, std::vector<api::Array> inputs, std::function<void(StepResult)> done) const try {
  const auto run = std::make_shared<GraphRun>(GraphRun{.flow = std::move(flow), .nodes = nodes_});
  auto lease = std::make_shared<std::optional<api::SessionPool::Lease>>(pool_.acquire());
  api::Session& session = ***lease;
  session.set_context(run);
  const auto here = [](const std::function<void()>& part) { part(); };
  session.start(std::move(inputs), here, [run, lease, done](api::Results results, const std::exception_ptr& error) {
    lease->reset();
    if (error == nullptr) return done(std::vector<api::Array>(results.begin(), results.end()));
    try {
      std::rethrow_exception(error);
    } catch (...) {
      if (!run->why) run->why = refusal_of_exception();
    }
    while (!run->entered.empty()) run->leave();
    done(std::unexpected(*run->why));
  });
} catch (...) {
  done(std::unexpected(refusal_of_exception()));
}

OwnGraph::OwnGraph(const Block& block, const std::vector<Slot>& operands) : block_(&block) {
  const std::vector<Slot> inputs = block.captured();
  for (const Slot& slot : inputs) {
    positions_.push_back(static_cast<std::size_t>(std::ranges::find(operands, slot) - operands.begin()));
  }
  graph_ = std::make_unique<const PipelineGraph>(block.name, block, inputs);
}

void OwnGraph::run(FlowPtr flow, const std::vector<api::Array>& operands, std::function<void(StepResult)> done) const {
  block_->taken->fetch_add(1, std::memory_order_relaxed);
  std::vector<api::Array> inputs;
  for (const std::size_t at : positions_) inputs.push_back(operands[at]);
  graph_->run(std::move(flow), std::move(inputs), std::move(done));
}

}  // namespace frazil::server
