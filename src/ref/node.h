#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "tensor/datum.h"

namespace frazil::ref {

/// Steps that a run may still take.
struct Budget {
  std::uint64_t limit, left;
  explicit Budget(std::uint64_t steps) : limit(steps), left(steps) {}
  Status spend() {
    if (left == 0) return fail(Code::limit, "more than {} steps", limit);
    --left;
    return {};
  }
};

/// run_node of ref.h within a budget.
Result<std::vector<Datum>> run_one(const Graph& graph, NodeId node, std::span<const std::optional<Datum>> inputs,
                                   Budget& budget);

}  // namespace frazil::ref
