#include <algorithm>

#include <fmt/format.h>

#include "ops/generic/extent_text.h"
#include "pass/batch/site.h"

namespace frazil::pass {

std::size_t OperandTexts::add(Value v) {
  add(v, site_.now(v));
  return now_.size() - 1;
}

void OperandTexts::add(Value v, Value now) {
  from_.push_back(v);
  now_.push_back(now);
}

std::size_t OperandTexts::place(Value v) {
  const auto at = std::ranges::find(from_, v);
  return at == from_.end() ? add(v) : static_cast<std::size_t>(at - from_.begin());
}

std::optional<std::string> OperandTexts::own_extent(Dim d) const {
  for (std::size_t k = 0; k < from_.size(); ++k) {
    if (!from_[k]) continue;
    const Shape& shape = site_.from.type(from_[k]).shape;
    const auto at = std::ranges::find(shape, d);
    if (at != shape.end())
      return fmt::format("d{}_{}", k, at - shape.begin() + (site_.varying.value(from_[k]) ? 1 : 0));
  }
  return std::nullopt;
}

std::optional<std::string> OperandTexts::symbol(SymbolId s) {
  if (s >= site_.from.scope().symbol_count()) return std::nullopt;
  if (auto own = own_extent(site_.from.scope().symbol_dim(s))) return own;
  const auto source = site_.varying.source(s, site_.id);
  if (!source || !site_.now(source->value)) return std::nullopt;
  const std::size_t k = place(source->value);
  return fmt::format("d{}_{}", k, source->axis + (site_.varying.value(source->value) ? 1 : 0));
}

std::optional<std::string> OperandTexts::text(Dim d) {
  if (!d.is_const()) {
    if (auto own = own_extent(d)) return own;
  }
  return ops::write_extent(site_.from.scope(), d, [this](SymbolId s) { return symbol(s); });
}

std::optional<std::vector<std::string>> OperandTexts::texts(std::span<const Dim> dims) {
  std::vector<std::string> all;
  for (Dim d : dims) {
    auto one = text(d);
    if (!one) return std::nullopt;
    all.push_back(std::move(*one));
  }
  return all;
}

std::string OperandTexts::batch() {
  for (std::size_t k = 0; k < from_.size(); ++k) {
    if (from_[k] && site_.varying.value(from_[k])) return fmt::format("d{}_0", k);
  }
  add(Value{}, site_.batch);
  return fmt::format("d{}_0", now_.size() - 1);
}

std::optional<std::vector<std::string>> OperandTexts::checks() {
  std::vector<std::string> all;
  for (const Constraint& c : site_.node.constraints) {
    const auto a = text(c.a), b = text(c.b);
    if (!a || !b) return std::nullopt;
    all.push_back(fmt::format("{} == {}: {}", *a, *b, c.what));
  }
  return all;
}

}  // namespace frazil::pass
