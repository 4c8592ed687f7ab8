#include "server/service/request_costs.h"

#include <algorithm>

#include "server/pipeline/pipeline.h"

namespace frazil::server {
namespace {

/// Returns the worker time until the deadline in nanoseconds; nullopt without a deadline.
std::optional<double> time_bound(const std::optional<Clock::time_point>& deadline, double width) {
  if (!deadline) return std::nullopt;
  return std::max(static_cast<double>(Nanoseconds(*deadline - Clock::now()).count()), 0.0) * width;
}

/// Returns what to reserve of a bound, given the measured costs of earlier requests.
double scaled(double bound, const CostRatio& ratio, Reserve reserve) {
  return bound * (reserve == Reserve::forecast ? ratio.high() : std::max(ratio.high(), 1.0));
}

/// Returns the usual cost of a run of a model or pipeline in nanoseconds; nullopt if a part has not run yet.
std::optional<double> usual_cost(const Served& target);

/// Adds the costs of nodes. A block counts as often as it has run for each time that its node has.
std::optional<double> usual_cost(const Block& block) {
  double sum = 0;
  for (const NodePtr& node : block.nodes) {
    const NodeView view = node->view();
    if (view.target != nullptr) {
      const auto cost = usual_cost(*view.target);
      if (!cost) return std::nullopt;
      sum += *cost;
    }
    const auto times = static_cast<double>(node->uses().begun.load(std::memory_order_relaxed));
    if (view.branches.empty() || view.kind == "shadow") continue;
    if (times == 0) return std::nullopt;
    for (const NodeView::Branch& branch : view.branches) {
      const auto runs = static_cast<double>(branch.block->taken->load(std::memory_order_relaxed));
      if (runs == 0) continue;
      const auto cost = usual_cost(*branch.block);
      if (!cost) return std::nullopt;
      sum += runs / times * *cost;
    }
  }
  return sum;
}

std::optional<double> usual_cost(const Served& target) {
  if (const auto* const pipeline = dynamic_cast<const Pipeline*>(&target)) return usual_cost(pipeline->block());
  const Clock::duration cost = expected_cost(target);
  if (cost <= Clock::duration::zero()) return std::nullopt;
  return static_cast<double>(Nanoseconds(cost).count());
}

}  // namespace

void RequestCosts::open(Call& call, const Served& target, bool replay) {
  RequestCost::Payer payer{.ledger = target.counts().costs()};
  if (replay) {
    payer.account = CostAccount::replay;
  } else {
    payer.tenant = call.identity.name();
    payer.budget = budgets_.of(payer.tenant);
    payer.price = budgets_.price(target.name());
  }
  call.cost = std::make_shared<RequestCost>(std::move(payer));
}

void RequestCosts::settle_at_end(Call& call) const {
  call.done = [cost = call.cost, other = workers_.other(), done = std::move(call.done)](Outcome outcome) {
    BusyScope::charge_all();
    cost->settle();
    BusyScope::replace(*cost, other);
    const BusyScope rest(other);
    done(std::move(outcome));
  };
}

std::optional<Refusal> RequestCosts::reserve(Call& call, const Served& target) {
  const auto budget = budgets_.of(call.identity.name());
  if (!budget->is_limited()) return std::nullopt;
  if (const auto limit = budget->time_limit()) {
    const auto until = call.arrived + std::chrono::duration_cast<Clock::duration>(*limit);
    call.deadline = call.deadline ? std::min(*call.deadline, until) : until;
  }
  auto deadline = call.deadline;
  if (const auto usual = target.usual_limit(); usual && !deadline) deadline = call.arrived + *usual;
  const RequestBounds::Result found = bounds_.of(target, call.request.inputs);
  const auto time = time_bound(deadline, found.bounds->width);
  std::optional<double> cost = found.bounds->cost_ns;
  if (cost) cost = scaled(*cost, *found.ratio, budgets_.reserve());
  if (time) cost = std::min(cost.value_or(*time), *time);
  const auto unbounded = [&](const char* rule, const char* what, const char* remedy) {
    const std::string why =
        std::string("budget: ") + what + " of the request has no bound (" + found.bounds->why + "): " + remedy;
    return refused(budget->refuse(rule, why, 0, Http::bad_request), call, target);
  };
  if (!cost) return unbounded("unbounded", "the cost", "send a time-out, which bounds it");
  const bool memory = budget->limits_memory();
  if (memory && !found.bounds->memory_bytes) {
    return unbounded("unbounded", "the memory", "the model needs a memory_limit in the configuration");
  }
  call.cost->set_ratio(found.ratio);
  const auto result = call.cost->reserve(*cost, memory ? *found.bounds->memory_bytes : 0, found.bounds, deadline);
  return result ? std::nullopt : std::optional(refused(result.error(), call, target));
}

/// Records a refusal in the audit log, and returns it.
Refusal RequestCosts::refused(const OverBudget& why, const Call& call, const Served& target) const {
  target.counts().add_unread(call.identity, call.arrived, why.refusal);
  if (audit_ == nullptr) return why.refusal;
  govern::Json event = {{"kind", "refuse"},
                        {"hook", "run"},
                        {"rule", "budget." + why.rule},
                        {"reason", why.refusal.what()},
                        {"model", target.name()}};
  if (!call.identity.name().empty()) event["tenant"] = call.identity.name();
  try {
    (void)audit_->append(std::move(event));
  } catch (const std::exception&) {
    return {Http::unavailable, "the refusal could not be recorded in the audit log"};
  }
  return why.refusal;
}

RequestCosts::Expected RequestCosts::forecast(const Served& target, const std::vector<NamedArray>& inputs) {
  const RequestBounds::Result found = bounds_.of(target, inputs);
  Expected expected{.cost_ns = found.bounds->cost_ns, .memory_bytes = found.bounds->memory_bytes};
  const bool is_pipeline = dynamic_cast<const Pipeline*>(&target) != nullptr;
  if (expected.cost_ns && found.ratio->usual() > 0 && !is_pipeline) {
    *expected.cost_ns *= found.ratio->usual();
  } else if (const auto usual = usual_cost(target)) {
    expected.cost_ns = usual;
  }
  return expected;
}

}  // namespace frazil::server
