// Operators that process a whole batch if their axis is moved by one. No form expresses this.
#include <algorithm>

#include "ir/op/axis.h"
#include "ops/index/index.h"
#include "ops/view/view.h"
#include "pass/batch/site.h"

namespace frazil::pass {
namespace {

/// Batches a Gather. If the data vary, its axis moves by one. If the indices vary, the batch's axis ends up at the
/// position of their first axis, and is moved to the front.
Batched batch_gather(const BatchSite& site) {
  const bool data = site.varies(0), indices = site.varies(1);
  if (data == indices) return std::nullopt;
  const std::size_t axis = from_front(site.node.attributes<ops::GatherAttrs>().axis, site.type(0).rank());
  const Expr x{&site.to, site.in[0]}, at{&site.to, site.in[1]};
  const Expr y = ops::Gather({x, at}, {.axis = static_cast<std::int64_t>(axis) + (data ? 1 : 0)});
  if (!site.to.status()) return std::nullopt;
  if (data || axis == 0) return std::vector{y.value};
  Ints perm{static_cast<std::int64_t>(axis)};
  for (std::size_t d = 0; d < y.type().rank(); ++d) {
    if (d != axis) perm.push_back(static_cast<std::int64_t>(d));
  }
  const Expr front = ops::Transpose({y}, {.perm = std::move(perm)});
  return site.to.status() ? std::optional(std::vector{front.value}) : std::nullopt;
}

/// Batches a GatherElements whose operands both vary: it picks inside of each element.
Batched batch_gather_elements(const BatchSite& site) {
  if (!site.varies(0) || !site.varies(1)) return std::nullopt;
  const std::size_t axis = from_front(site.node.attributes<ops::GatherAttrs>().axis, site.type(0).rank());
  const Expr y = ops::GatherElements({Expr{&site.to, site.in[0]}, Expr{&site.to, site.in[1]}},
                                     {.axis = static_cast<std::int64_t>(axis) + 1});
  return site.to.status() ? std::optional(std::vector{y.value}) : std::nullopt;
}

struct OperatorRule {
  const OpDef* op;
  Batched (*make)(const BatchSite& site);
};

const OperatorRule kOperatorRules[] = {
    {&ops::Gather, batch_gather},
    {&ops::GatherElements, batch_gather_elements},
};

}  // namespace

Batched batch_by_operator(const BatchSite& site) {
  const auto rule = std::ranges::find(kOperatorRules, site.node.op, &OperatorRule::op);
  if (rule == std::end(kOperatorRules)) return std::nullopt;
  for (Value v : site.node.in) {
    if (!v || !site.from.type(v).is_tensor() || !site.from.type(v).ranked) return std::nullopt;
  }
  const auto mark = site.to.mark();
  auto made = rule->make(site);
  if (!made) site.to.rollback(mark);
  return made;
}

}  // namespace frazil::pass
