#include "sym/reach.h"

#include <algorithm>
#include <queue>

namespace frazil::sym {
namespace {

template <class Visit>
void visit_operands(const Nodes& nodes, Dim d, const Visit& visit) {
  const Node& n = nodes[d];
  if (n.kind == Kind::symbol) return;
  if (n.kind == Kind::sum) {
    for (const Term& t : nodes.terms(n)) visit(nodes.dim(t.mono));
  } else {
    for (const Dim o : nodes.operands(n)) visit(o);
  }
}

}  // namespace

std::vector<Dim> reach(const Nodes& nodes, Dim d, const std::function<bool(Dim)>& skip) {
  std::vector<Dim> found;
  std::priority_queue<std::uint32_t> open;
  const auto visit = [&](Dim x) {
    if (!x.is_const() && !(skip && skip(x))) open.push(index_of(x));
  };
  visit(d);
  // Users have higher indices than operands. A node is thus popped after all its users, and its duplicates are
  // adjacent.
  while (!open.empty()) {
    const Dim next = nodes.dim(open.top());
    while (!open.empty() && open.top() == index_of(next)) open.pop();
    found.push_back(next);
    visit_operands(nodes, next, visit);
  }
  std::ranges::reverse(found);
  return found;
}

std::vector<SymbolId> symbols_of(const Nodes& nodes, Dim d) {
  if (d.is_const()) return {};
  if (const auto few = nodes.few_symbols(d)) return {few->begin(), few->end()};
  std::vector<SymbolId> found;
  for (Dim x : reach(nodes, d)) {
    if (is_kind(nodes, x, Kind::symbol)) found.push_back(nodes[x].first);
  }
  return found;
}

}  // namespace frazil::sym
