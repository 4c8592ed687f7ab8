#include "sym/expressions.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/value/hash.h"
#include "sym/bounds.h"
#include "sym/interval.h"
#include "sym/saturate.h"

namespace frazil::sym {
namespace {

Bounds valid(Bounds b) {
  b = {saturate(b.min), saturate(b.max)};
  return empty(b) ? kUnbounded : b;
}

void sort_pair(Dim& a, Dim& b) {
  if (b.bits() < a.bits()) std::swap(a, b);
}

// A node that was not flattened stays as it is, so that the text of nested nodes parses back to the same node.
std::vector<Dim> flat_operands(const Nodes& nodes, Kind kind, Dim a) {
  if (!is_kind(nodes, a, kind)) return {a};
  const auto operands = nodes.operands(nodes[a]);
  if (std::ranges::any_of(operands, [&](Dim o) { return is_kind(nodes, o, kind); })) return {a};
  return {operands.begin(), operands.end()};
}

bool superfluous(const Nodes& nodes, Kind kind, Dim a, Dim beside) {
  const Bounds d = kind == Kind::max ? difference(nodes, beside, a) : difference(nodes, a, beside);
  return d.min >= 0;
}

}  // namespace

Dim Expressions::symbol(std::string_view name, Bounds bounds) {
  const auto id = find_symbol(name);
  if (!id) return add_symbol(name, bounds);
  narrow(*id, valid(bounds));
  return symbol_dim(*id);
}

Dim Expressions::unbacked(Bounds bounds) {
  std::string name;
  do name = fmt::format("?{}", next_fresh_++);
  while (find_symbol(name));
  return add_symbol(name, bounds);
}

std::optional<SymbolId> Expressions::find_symbol(std::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  if (it == by_name_.end()) return std::nullopt;
  return it->second;
}

Dim Expressions::add_symbol(std::string_view name, Bounds bounds) {
  const SymbolId id = static_cast<SymbolId>(symbols_.size());
  const std::uint32_t node = nodes_.add_symbol(id, Hasher().add(name).value(), valid(bounds));
  symbols_.push_back({std::string(name), node});
  by_name_.emplace(name, id);
  return nodes_.dim(node);
}

void Expressions::narrow(SymbolId id, Bounds bounds) {
  const std::uint32_t first = symbols_[id].node;
  const Bounds old = nodes_[first].bounds;
  const Bounds now = intersect(old, bounds);
  if (empty(now) || now == old) return;
  nodes_.set_bounds(first, now);
  for (std::uint32_t i = first + 1; i < nodes_.size(); ++i)
    if (nodes_[i].kind != Kind::symbol) nodes_.set_bounds(i, bounds_of(nodes_, nodes_[i]));
}

std::uint32_t Expressions::monomial(const Factors& f) {
  if (f.count == 0) return kUnit;
  if (f.count == 1) return index_of(f.atoms[0]);
  return index_of(intern(Draft{.kind = Kind::product, .operands = f.view()}));
}

Dim Expressions::intern(const Draft& draft) {
  const auto [index, is_new] = nodes_.add(draft);
  if (is_new) nodes_.set_bounds(index, bounds_of(nodes_, nodes_[index]));
  return nodes_.dim(index);
}

Dim Expressions::intern(const Poly& p) {
  if (p.is_const()) return p.constant();
  if (p.is_monomial() && p.terms()[0].coef == 1) return nodes_.dim(p.terms()[0].mono);
  return intern(Draft{.kind = Kind::sum, .constant = p.constant(), .terms = p.terms()});
}

Dim Expressions::opaque(Kind kind, Dim a, Dim b) {
  sort_pair(a, b);
  const Dim operands[] = {a, b};
  return intern(Draft{.kind = kind, .operands = operands});
}

Dim Expressions::add(Dim a, Dim b) {
  if (a.is_const() && b.is_const()) return sat_add(a.value(), b.value());
  if (a == 0) return b;
  if (b == 0) return a;
  Poly p = poly_of(nodes_, a);
  p.add(poly_of(nodes_, b));
  return p.too_large() ? opaque(Kind::big_add, a, b) : intern(p);
}

Dim Expressions::mul(Dim a, Dim b) {
  if (a.is_const() && b.is_const()) return sat_mul(a.value(), b.value());
  if (a.is_const()) std::swap(a, b);
  if (b == 1) return a;
  if (b.is_const()) {
    Poly p = poly_of(nodes_, a);
    p.scale(b.value());
    return intern(p);
  }
  sort_pair(a, b);
  const Poly p = product(poly_of(nodes_, a), poly_of(nodes_, b));
  return p.too_large() ? opaque(Kind::big_mul, a, b) : intern(p);
}

Poly Expressions::product(const Poly& a, const Poly& b) {
  Poly r;
  for (const Term& t : a.terms()) add_product(r, b, t.mono, t.coef);
  add_product(r, b, kUnit, a.constant());
  return r;
}

void Expressions::add_product(Poly& to, const Poly& p, std::uint32_t mono, std::int64_t coef) {
  if (coef == 0 || to.too_large()) return;
  const Factors by = nodes_.factors(mono);
  to.add_term(mono, sat_mul(p.constant(), coef));
  for (const Term& t : p.terms()) {
    const auto f = multiply(nodes_.factors(t.mono), by);
    if (!f) return to.set_too_large();
    to.add_term(monomial(*f), sat_mul(t.coef, coef));
    if (to.too_large()) return;
  }
}

Dim Expressions::extremum(Kind kind, Dim a, Dim b) {
  constexpr std::size_t kMaxOperands = 16;
  if (nodes_.before(b, a)) std::swap(a, b);
  std::vector<Dim> operands = flat_operands(nodes_, kind, a);
  std::vector<Dim> others = flat_operands(nodes_, kind, b);
  if (operands.size() + others.size() > kMaxOperands) {
    operands = {a};
    others = {b};
  }
  std::erase_if(others, [&](Dim x) {
    return std::ranges::any_of(operands, [&](Dim y) { return superfluous(nodes_, kind, x, y); });
  });
  std::erase_if(operands, [&](Dim x) {
    return std::ranges::any_of(others, [&](Dim y) { return superfluous(nodes_, kind, x, y); });
  });
  operands.insert(operands.end(), others.begin(), others.end());
  std::ranges::sort(operands, {}, &Dim::bits);
  return operands.size() == 1 ? operands[0] : intern(Draft{.kind = kind, .operands = operands});
}

}  // namespace frazil::sym
