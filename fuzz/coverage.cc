#include "coverage.h"

#include <algorithm>

#include "ir/op/op.h"

namespace frazil::fuzz {

Coverage& Coverage::global() {
  static Coverage coverage;
  return coverage;
}

void Coverage::count(const Graph& graph, std::uint64_t Count::* what) {
  for (const NodeId n : graph.nodes()) ++(counts_[graph.node(n).op].*what);
}

std::string Coverage::table() const {
  std::vector<std::pair<const OpDef*, Count>> rows;
  for (const OpDef* op : OpRegistry::global().all()) {
    const auto it = counts_.find(op);
    rows.emplace_back(op, it == counts_.end() ? Count{} : it->second);
  }
  std::ranges::stable_sort(rows, {}, [](const auto& row) { return row.second.ran; });
  std::string out = fmt::format("{:>10} {:>10}  operator\n", "built", "ran");
  for (const auto& [op, count] : rows) out += fmt::format("{:>10} {:>10}  {}\n", count.built, count.ran, op->name);
  const auto ran = std::ranges::count_if(rows, [](const auto& row) { return row.second.ran > 0; });
  return out + fmt::format("{} of {} operators ran\n", ran, rows.size());
}

}  // namespace frazil::fuzz
