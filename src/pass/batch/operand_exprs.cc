#include <algorithm>

#include "pass/batch/site.h"

namespace frazil::pass {

std::size_t OperandExprs::add(Value v) {
  add(v, site_.now(v));
  return now_.size() - 1;
}

void OperandExprs::add(Value v, Value now) {
  from_.push_back(v);
  now_.push_back(now);
}

std::size_t OperandExprs::place(Value v) {
  const auto at = std::ranges::find(from_, v);
  return at == from_.end() ? add(v) : static_cast<std::size_t>(at - from_.begin());
}

OperandRef OperandExprs::extent(std::size_t k, std::int64_t axis) const {
  return {.operand = k, .index = axis + (site_.varying.value(from_[k]) ? 1 : 0)};
}

std::optional<OperandRef> OperandExprs::own_extent(Dim d) const {
  for (std::size_t k = 0; k < from_.size(); ++k) {
    if (!from_[k]) continue;
    const Shape& shape = site_.from.type(from_[k]).shape;
    const auto at = std::ranges::find(shape, d);
    if (at != shape.end()) return extent(k, at - shape.begin());
  }
  return std::nullopt;
}

std::optional<OperandRef> OperandExprs::symbol(SymbolId s) {
  if (s >= site_.from.scope().symbol_count()) return std::nullopt;
  if (auto own = own_extent(site_.from.scope().symbol_dim(s))) return own;
  const auto source = site_.varying.source(s, site_.id);
  if (!source || !site_.now(source->value)) return std::nullopt;
  return extent(place(source->value), static_cast<std::int64_t>(source->axis));
}

std::optional<ExtentExpr> OperandExprs::expr(Dim d) {
  if (!d.is_const()) {
    if (const auto own = own_extent(d)) return ExtentExpr(*own);
  }
  return ExtentExpr::of(site_.from.scope(), d, [this](SymbolId s) { return symbol(s); });
}

std::optional<std::vector<ExtentExpr>> OperandExprs::exprs(std::span<const Dim> dims) {
  std::vector<ExtentExpr> all;
  for (Dim d : dims) {
    auto one = expr(d);
    if (!one) return std::nullopt;
    all.push_back(*std::move(one));
  }
  return all;
}

ExtentExpr OperandExprs::batch() {
  for (std::size_t k = 0; k < from_.size(); ++k) {
    if (from_[k] && site_.varying.value(from_[k])) return ExtentExpr(OperandRef{.operand = k});
  }
  add(Value{}, site_.batch);
  return ExtentExpr(OperandRef{.operand = now_.size() - 1});
}

std::optional<std::vector<ops::ExtentCheck>> OperandExprs::checks() {
  std::vector<ops::ExtentCheck> all;
  for (const Constraint& c : site_.node.constraints) {
    auto a = expr(c.a), b = expr(c.b);
    if (!a || !b) return std::nullopt;
    all.push_back({*std::move(a), *std::move(b), std::string(c.what)});
  }
  return all;
}

}  // namespace frazil::pass
