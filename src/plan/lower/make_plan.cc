#include "plan/lower/make_plan.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "ir/edit/builder.h"
#include "ir/infer/input_symbols.h"
#include "plan/lower/lower.h"
#include "plan/memory/concurrent_steps.h"
#include "plan/model/verify_plan.h"

namespace frazil {
namespace {

/// Calls f(reg) for each register whose change requires that the step is prepared again.
void for_shape_regs(const Plan& plan, const Step& step, auto f) {
  for_slots(step, [&](SlotId s) {
    for (Reg r : plan.slot(s).dims) f(r);
    for (Reg r : plan.slot(s).strides) f(r);
  });
  if (const auto* launch = step.as<step::Launch>()) std::ranges::for_each(launch->domain, f);
}

std::vector<std::uint32_t> groups_of_registers(const Plan& plan) {
  std::vector<std::uint32_t> of(plan.registers, 0);
  for (std::uint32_t g = 0; g < plan.groups.size(); ++g) {
    for (const auto& ins : plan.groups[g].program.code) of[ins.dst] = g;
  }
  return of;
}

Fusion fuse(const Graph& graph, const Needs& needs, const PlanOptions& options, std::vector<pass::PassRun>& ran) {
  const bool enabled = options.passes.has(Pass::fuse);
  const auto begin = std::chrono::steady_clock::now();
  Fusion fusion = Fusion::of(graph, needs, enabled);
  if (!enabled) return fusion;
  const auto several = [](const FusionGroup& g) { return g.members.size() > 1; };
  pass::PassRun run{.name = name_of(Pass::fuse), .note = {}};
  const auto groups = std::ranges::count_if(fusion.groups(), several);
  std::size_t nodes = 0;
  for (const FusionGroup& g : fusion.groups()) nodes += several(g) ? g.members.size() : 0;
  run.changed = groups > 0;
  if (run.changed) run.note = fmt::format("{} nodes in {} step{}", nodes, groups, groups == 1 ? "" : "s");
  run.time = std::chrono::steady_clock::now() - begin;
  ran.push_back(std::move(run));
  return fusion;
}

}  // namespace

Result<Plan> make_plan(const Graph& graph, const PlanOptions& options, std::vector<pass::PassRun>& ran) {
  FRAZIL_CHECK(check_input_symbols(graph));
  Plan plan;
  const auto keep = [](const Graph& g, NodeId n) { return bind(g, n).has_value() || has_unranked_value(g, n); };
  FRAZIL_TRY(Graph ready,
             pass::run_passes(graph, {options.passes, options.verify, keep, may_have_channels_last_kernel}, &ran));
  auto owned = std::make_shared<Graph>(std::move(ready));
  FRAZIL_TRY(const Needs needs, Needs::of(*owned));
  const Fusion fusion = fuse(*owned, needs, options, ran);
  for (const Fusion::Rejected& r : fusion.rejected()) plan.rejections.push_back({r.producer, r.node, text_of(r.why)});
  Lowering lowering(*owned, Builder(*owned).scope(), needs, fusion, options.passes, plan);
  FRAZIL_CHECK(lowering.run());
  lowering.report(ran);
  std::vector<LoopSpan> loops = lowering.loops();
  if (options.placement) place_on_devices(plan, loops, options.placement);
  plan_memory(plan, loops);
  mark_concurrent(plan);
  std::vector<std::uint32_t> of = groups_of_registers(plan);
  lowering.symbol_groups(of);
  for (std::uint32_t i = 0; i < plan.steps.size(); ++i) {
    for_shape_regs(plan, plan.steps[i], [&](Reg r) {
      auto& dependents = plan.groups[of[r]].dependents;
      if (dependents.empty() || dependents.back() != i) dependents.push_back(i);
    });
  }
  plan.graph = std::move(owned);
  FRAZIL_CHECK(verify(plan));
  return plan;
}

}  // namespace frazil
