#include "sym/node.h"

#include <algorithm>
#include <atomic>
#include <ranges>
#include <tuple>

#include "base/value/hash.h"

namespace frazil::sym {
namespace {

constexpr std::size_t kFirstSlots = 64;

#ifndef NDEBUG
std::uint32_t next_owner() {
  static std::atomic<std::uint32_t> count{0};
  return ++count & ((std::uint32_t{1} << 30) - 1);
}
#else
std::uint32_t next_owner() { return 0; }
#endif

constexpr auto by_bits = [](Dim a, Dim b) { return a.bits() < b.bits(); };

}  // namespace

std::strong_ordering Factors::operator<=>(const Factors& other) const {
  if (count != other.count) return count <=> other.count;
  for (std::size_t i = 0; i < count; ++i)
    if (atoms[i] != other.atoms[i]) return other.atoms[i].bits() <=> atoms[i].bits();
  return std::strong_ordering::equal;
}

std::optional<Factors> multiply(const Factors& a, const Factors& b) {
  Factors r;
  r.count = a.count + b.count;
  if (r.count > Factors::kMax) return std::nullopt;
  std::ranges::merge(a.view(), b.view(), r.atoms.begin(), by_bits);
  return r;
}

std::optional<Factors> divide(const Factors& a, const Factors& b) {
  if (!std::ranges::includes(a.view(), b.view(), by_bits)) return std::nullopt;
  Factors r;
  std::ranges::set_difference(a.view(), b.view(), r.atoms.begin(), by_bits);
  r.count = a.count - b.count;
  return r;
}

Factors common(const Factors& a, const Factors& b) {
  Factors r;
  const auto end = std::ranges::set_intersection(a.view(), b.view(), r.atoms.begin(), by_bits).out;
  r.count = static_cast<std::size_t>(end - r.atoms.begin());
  return r;
}

Nodes::Nodes() : owner_(next_owner()), slots_(kFirstSlots) {}

bool Nodes::owns(Dim d) const { return d.is_const() || (d.owner() == owner_ && index_of(d) < size()); }

std::uint64_t Nodes::hash_of(Dim d) const {
  return d.is_const() ? Hasher().add(static_cast<std::uint64_t>(d.value())).value() : (*this)[d].hash;
}

std::uint64_t Nodes::hash_of(const Draft& draft) const {
  const bool ordered = draft.kind == Kind::floordiv;
  Hasher h;
  h.add(static_cast<std::uint64_t>(draft.kind)).add(static_cast<std::uint64_t>(draft.constant));
  std::uint64_t unordered = 0;
  for (const Term& t : draft.terms)
    unordered += Hasher().add(nodes_[t.mono].hash).add(static_cast<std::uint64_t>(t.coef)).value();
  for (Dim d : draft.operands) ordered ? void(h.add(hash_of(d))) : void(unordered += Hasher().add(hash_of(d)).value());
  return h.add(unordered).value();
}

bool Nodes::matches(const Node& n, const Draft& draft, std::uint64_t hash) const {
  if (n.hash != hash || n.kind != draft.kind || n.constant != draft.constant) return false;
  return n.kind == Kind::sum ? std::ranges::equal(terms(n), draft.terms)
                             : std::ranges::equal(operands(n), draft.operands);
}

std::size_t Nodes::slot_of(const Draft& draft, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot] != 0 && !matches(nodes_[slots_[slot] - 1], draft, hash)) slot = (slot + 1) & mask;
  return slot;
}

std::optional<std::uint32_t> Nodes::find(const Draft& draft) const {
  const std::uint32_t found = slots_[slot_of(draft, hash_of(draft))];
  if (found == 0) return std::nullopt;
  return found - 1;
}

Nodes::Added Nodes::add(const Draft& draft) {
  const std::uint64_t hash = hash_of(draft);
  const std::size_t slot = slot_of(draft, hash);
  if (slots_[slot] != 0) return {slots_[slot] - 1, false};
  const std::uint32_t index = append(draft, hash);
  slots_[slot] = index + 1;
  if (nodes_.size() * 2 > slots_.size()) grow();
  return {index, true};
}

std::uint32_t Nodes::append(const Draft& draft, std::uint64_t hash) {
  const bool sum = draft.kind == Kind::sum;
  const std::size_t first = sum ? terms_.size() : operands_.size();
  const std::size_t count = sum ? draft.terms.size() : draft.operands.size();
  terms_.insert(terms_.end(), draft.terms.begin(), draft.terms.end());
  operands_.insert(operands_.end(), draft.operands.begin(), draft.operands.end());
  nodes_.push_back({.kind = draft.kind,
                    .symbols = symbols_of(draft),
                    .first = static_cast<std::uint32_t>(first),
                    .count = static_cast<std::uint32_t>(count),
                    .depth = depth_of(draft),
                    .constant = draft.constant,
                    .hash = hash,
                    .bounds = {Dim::kMin, Dim::kMax}});
  return size() - 1;
}

SymbolLists::List Nodes::symbols_of(const Draft& draft) {
  if (!draft.terms.empty()) {
    return symbols_.unite(draft.terms | std::views::transform([&](const Term& t) { return nodes_[t.mono].symbols; }));
  }
  return symbols_.unite(draft.operands | std::views::transform([&](Dim d) {
                          return d.is_const() ? SymbolLists::List{} : (*this)[d].symbols;
                        }));
}

std::uint32_t Nodes::depth_of(const Draft& draft) const {
  std::uint32_t depth = 0;
  for (const Term& t : draft.terms) depth = std::max(depth, nodes_[t.mono].depth);
  for (Dim d : draft.operands) depth = std::max(depth, d.is_const() ? 0 : (*this)[d].depth);
  return depth + 1;
}

bool Nodes::before(Dim a, Dim b) const {
  if (a.is_const() || b.is_const()) return a.is_const() && (!b.is_const() || a.value() < b.value());
  const Node& x = (*this)[a];
  const Node& y = (*this)[b];
  return std::tuple(x.depth, x.hash, a.bits()) < std::tuple(y.depth, y.hash, b.bits());
}

void Nodes::grow() {
  slots_.assign(slots_.size() * 2, 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (nodes_[i].kind == Kind::symbol) continue;
    std::size_t slot = nodes_[i].hash & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = i + 1;
  }
}

std::uint32_t Nodes::add_symbol(SymbolId id, std::uint64_t name_hash, Bounds bounds) {
  nodes_.push_back({.kind = Kind::symbol,
                    .symbols = symbols_.add(id),
                    .first = id,
                    .count = 0,
                    .depth = 0,
                    .constant = 0,
                    .hash = name_hash,
                    .bounds = bounds});
  return size() - 1;
}

Factors Nodes::factors(std::uint32_t mono) const {
  Factors f;
  if (mono == kUnit) return f;
  const Node& n = nodes_[mono];
  if (n.kind == Kind::product) {
    std::ranges::copy(operands(n), f.atoms.begin());
    f.count = n.count;
  } else {
    f.atoms[0] = dim(mono);
    f.count = 1;
  }
  return f;
}

std::optional<std::uint32_t> Nodes::find_monomial(const Factors& f) const {
  if (f.count == 0) return kUnit;
  if (f.count == 1) return index_of(f.atoms[0]);
  return find({.kind = Kind::product, .operands = f.view()});
}

std::uint32_t Nodes::degree(std::uint32_t mono) const {
  if (mono == kUnit) return 0;
  return nodes_[mono].kind == Kind::product ? nodes_[mono].count : 1;
}

Poly poly_of(const Nodes& nodes, Dim d) {
  if (d.is_const()) return Poly(d.value());
  const Node& n = nodes[d];
  if (n.kind == Kind::sum) return Poly(n.constant, nodes.terms(n));
  const Term term{index_of(d), 1};
  return Poly(0, {&term, 1});
}

}  // namespace frazil::sym
