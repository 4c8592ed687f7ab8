#include "exec/native/explain_tiers.h"

namespace frazil::exec {
namespace {

struct Row {
  std::string_view tier;
  std::string why;
};

Row row_of(const Executable& executable, StepIndex i, const step::Launch& launch) {
  if (launch.device != kHost) return {"device", {}};
  const code::KernelEntry* const entry = executable.compiled().launch(i).entry.load(std::memory_order_acquire);
  if (entry == nullptr) return {"ref", "there is no kernel for it"};
  const PlanCodes* const codes = executable.machine_code().plan();
  if (codes != nullptr && codes->runs(i)) return {"2", {}};
  if (entry->emits == nullptr || !entry->emits->all) return {"kernel", {}};
  const auto& bodies = executable.machine_code().bodies();
  if (bodies == nullptr) return {"0", "no code is made on tier 0"};
  const auto& code = *static_cast<const code::TileCode*>(entry->step.code.get());
  std::string why = bodies->why_not(code);
  return {why.empty() ? "1" : "0", std::move(why)};
}

std::string nodes_of(const Plan& plan, const Step& step) {
  if (step.members.empty()) return plan.graph->describe(step.node);
  std::string text;
  for (const NodeId n : step.members) text += (text.empty() ? "" : ", ") + plan.graph->describe(n);
  return text;
}

}  // namespace

std::string explain_tiers(const Executable& executable) {
  const Plan& plan = executable.plan();
  std::string text;
  for (StepIndex i = 0; i < plan.steps.size(); ++i) {
    const auto* const launch = plan.steps[i].as<step::Launch>();
    if (launch == nullptr) continue;
    const Row row = row_of(executable, i, *launch);
    text += fmt::format("{:>5} {:<6} {}{}\n", i, row.tier, nodes_of(plan, plan.steps[i]),
                        row.why.empty() ? "" : ": " + row.why);
  }
  if (const auto* const codes = executable.machine_code().plan()) text += codes->explain();
  for (const Plan::Rejection& r : plan.rejections) {
    text += fmt::format("{} is not fused with {}: {}\n", plan.graph->describe(r.node), plan.graph->describe(r.producer),
                        r.why);
  }
  return text;
}

}  // namespace frazil::exec
