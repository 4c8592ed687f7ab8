#include "profile/summary.h"

#include <algorithm>
#include <array>
#include <map>

#include "ir/op/op.h"
#include "profile/labels.h"

namespace frazil::profile {
namespace {

class Summing {
 public:
  Summing(const Recorder& recorder, Summary& summary)
      : recorder_(recorder), summary_(summary), ns_per_tick_(recorder.clock().ns_per_tick()) {}

  void add(const PassTotals& pass) {
    ++summary_.passes;
    summary_.request_ns += static_cast<double>(pass.ticks) * ns_per_tick_;
    summary_.events += pass.events;
    for (std::size_t k = 0; k < pass.steps.size(); ++k) {
      const Plan& plan = recorder_.plans()[k]->plan;
      for (std::size_t pc = 0; pc < plan.steps.size(); ++pc) {
        if (pass.steps[k][pc].calls == 0) continue;
        const double ns = add_step(plan, plan.steps[pc], pass.steps[k][pc]);
        const std::uint32_t span = recorder_.plans()[k]->innermost[pc];
        if (span != kNone) flows_[{k, span}].total_ns += ns;
      }
      for (std::size_t i = 0; i < pass.flows[k].size(); ++i) {
        if (pass.flows[k][i].entries > 0) add_flow(k, i, pass.flows[k][i]);
      }
    }
  }

  void finish(double overhead) {
    summary_.own_ns = std::clamp(1 - 1 / overhead, 0.0, 1.0) * summary_.request_ns;
    const double in_steps = calls_ * static_cast<double>(recorder_.clock().ticks_per_read()) * ns_per_tick_;
    const double outside = std::max(0.0, summary_.own_ns - in_steps);
    finish_flows(summary_.events > 0 ? outside / static_cast<double>(summary_.events) : 0);
    for (const auto& [key, row] : rows_) summary_.rows.push_back(row);
    std::ranges::stable_sort(summary_.rows, std::ranges::greater{}, &Row::ns);
  }

 private:
  double add_step(const Plan& plan, const Step& step, const StepTotals& totals) {
    const double ns = recorder_.clock().ns_of(totals.ticks, totals.calls, ns_per_tick_);
    const std::string node = step_label(plan, step), op = op_label(plan, step), kernel(kernel_name(plan, step));
    Row& row = rows_[{node, op, kernel}];
    row.node = node, row.op = op, row.kernel = kernel;
    if (row.members.empty()) {
      for (const NodeId id : members_of(step)) row.members.push_back(node_label(plan, id));
    }
    row.calls += totals.calls;
    row.ns += ns;
    row.flops += totals.flops;
    row.read += totals.read;
    row.written += totals.written;
    row.flops_known &= totals.flops_known;
    summary_.step_ns += ns;
    calls_ += static_cast<double>(totals.calls);
    return ns;
  }

  void add_flow(std::size_t plan, std::size_t span, const FlowTotals& totals) {
    const PlanProfile& recorded = *recorder_.plans()[plan];
    const NodeId node = recorded.spans[span].node;
    Flow& flow = flows_[{plan, span}];
    flow.node = node_label(recorded.plan, node);
    flow.op = recorded.plan.graph->node(node).op->name;
    flow.loop = recorded.spans[span].loop;
    flow.totals.add(totals);
  }

  void finish_flows(double ns_per_event) {
    // Spans inside have higher numbers.
    for (auto at = flows_.rbegin(); at != flows_.rend(); ++at) {
      auto& [key, flow] = *at;
      const FlowTotals& t = flow.totals;
      const double outside = static_cast<double>(t.ticks - std::min(t.ticks, t.inner)) * ns_per_tick_;
      flow.self_ns = std::max(0.0, outside - static_cast<double>(t.own_events) * ns_per_event);
      flow.total_ns += flow.self_ns;
      summary_.flow_ns += flow.self_ns;
      const std::uint32_t parent = recorder_.plans()[key.first]->spans[key.second].parent;
      if (parent != kNone) flows_[{key.first, parent}].total_ns += flow.total_ns;
    }
    for (const auto& [key, flow] : flows_) summary_.flows.push_back(flow);
  }

  const Recorder& recorder_;
  Summary& summary_;
  const double ns_per_tick_;
  std::map<std::array<std::string, 3>, Row> rows_;
  std::map<std::pair<std::size_t, std::size_t>, Flow> flows_;
  double calls_ = 0;
};

}  // namespace

Summary summarise(const Recorder& recorder, double overhead) {
  Summary summary{.recorded = recorder.passes(),
                  .requests = recorder.requests(),
                  .shape_changes = recorder.shape_changes(),
                  .plans = recorder.plans().size()};
  Summing summing(recorder, summary);
  for (const PassTotals* pass : recorder.fastest()) summing.add(*pass);
  if (recorder.passes() == 0 && recorder.requests() > 0) summing.add(recorder.current());
  summing.finish(overhead);
  return summary;
}

}  // namespace frazil::profile
