#include <algorithm>

#include "sym/bounds.h"
#include "sym/dim.h"
#include "sym/impl.h"
#include "sym/reach.h"
#include "sym/saturate.h"

namespace frazil {

Scope::Scope() : impl_(std::make_unique<Impl>()) {}
Scope::~Scope() = default;
Scope::Scope(Scope&&) noexcept = default;
Scope& Scope::operator=(Scope&&) noexcept = default;
Scope::Scope(const Scope& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}

Scope& Scope::operator=(const Scope& other) {
  if (this != &other) impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}

Dim Scope::symbol(std::string_view name, Bounds bounds) { return impl_->symbol(name, bounds); }
Dim Scope::unbacked(Bounds bounds) { return impl_->unbacked(bounds); }

Dim Scope::add(Dim a, Dim b) { return impl_->add(impl_->own(a), impl_->own(b)); }
Dim Scope::sub(Dim a, Dim b) { return impl_->sub(impl_->own(a), impl_->own(b)); }
Dim Scope::mul(Dim a, Dim b) { return impl_->mul(impl_->own(a), impl_->own(b)); }
Dim Scope::floordiv(Dim a, Dim b) { return impl_->floordiv(impl_->own(a), impl_->own(b)); }
Dim Scope::min(Dim a, Dim b) { return impl_->extremum(sym::Kind::min, impl_->own(a), impl_->own(b)); }
Dim Scope::max(Dim a, Dim b) { return impl_->extremum(sym::Kind::max, impl_->own(a), impl_->own(b)); }

Dim Scope::broadcast(Dim a, Dim b) {
  if (b == Dim(1) || equal(a, b) == Proof::yes) return a;
  if (a == Dim(1) || b.is_const()) return b;
  if (a.is_const()) return a;
  constexpr std::size_t kMaxParts = 16;
  const std::vector<std::uint64_t> of_a = impl_->broadcast_parts(a), of_b = impl_->broadcast_parts(b);
  std::vector<std::uint64_t> parts;
  std::ranges::set_union(of_a, of_b, std::back_inserter(parts));
  if (parts == of_a) return a;
  if (parts == of_b) return b;
  if (const auto it = impl_->broadcast_of.find(parts); it != impl_->broadcast_of.end()) return it->second;
  const Dim made = floordiv(mul(a, b), max(1, min(a, b)));
  if (parts.size() > kMaxParts) return made;
  impl_->parts_of_broadcast.emplace(made.bits(), parts);
  impl_->broadcast_of.emplace(std::move(parts), made);
  return made;
}

Bounds Scope::bounds(Dim d) const { return sym::bounds_of(impl_->nodes(), impl_->own(d)); }

Proof Scope::equal(Dim a, Dim b) const {
  const Bounds d = sym::difference(impl_->nodes(), impl_->own(a), impl_->own(b));
  if (d == Bounds{0, 0}) return Proof::yes;
  return d.min > 0 || d.max < 0 || sym::never_equal(impl_->nodes(), a, b) ? Proof::no : Proof::maybe;
}

Proof Scope::less(Dim a, Dim b) const {
  const Bounds d = sym::difference(impl_->nodes(), impl_->own(b), impl_->own(a));
  return d.min > 0 ? Proof::yes : d.max <= 0 ? Proof::no : Proof::maybe;
}

Proof Scope::less_equal(Dim a, Dim b) const {
  const Bounds d = sym::difference(impl_->nodes(), impl_->own(b), impl_->own(a));
  return d.min >= 0 ? Proof::yes : d.max < 0 ? Proof::no : Proof::maybe;
}

std::size_t Scope::symbol_count() const { return impl_->symbol_count(); }
std::string_view Scope::symbol_name(SymbolId id) const { return impl_->symbol_name(id); }
Dim Scope::symbol_dim(SymbolId id) const { return impl_->symbol_dim(id); }
std::optional<SymbolId> Scope::find_symbol(std::string_view name) const { return impl_->find_symbol(name); }

std::optional<SymbolId> Scope::as_symbol(Dim d) const {
  if (!sym::is_kind(impl_->nodes(), impl_->own(d), sym::Kind::symbol)) return std::nullopt;
  return impl_->nodes()[d].first;
}

std::vector<SymbolId> Scope::symbols_of(Dim d) const { return sym::symbols_of(impl_->nodes(), impl_->own(d)); }

Dim ceildiv(Scope& scope, Dim a, Dim b) { return scope.mul(scope.floordiv(scope.mul(a, -1), b), -1); }
Dim mod(Scope& scope, Dim a, Dim b) { return scope.sub(a, scope.mul(b, scope.floordiv(a, b))); }

Dim product(Scope& scope, std::span<const Dim> dims) {
  Dim r = 1;
  for (Dim d : dims) r = scope.mul(r, d);
  return r;
}

std::optional<std::int64_t> constant_of(const Scope& scope, Dim d) {
  const Bounds b = scope.bounds(d);
  if (b.min != b.max) return std::nullopt;
  return b.min;
}

Bounds symbol_bounds(const Scope& scope, SymbolId id) { return scope.bounds(scope.symbol_dim(id)); }

bool is_unbacked(const Scope& scope, SymbolId id) {
  const std::string_view name = scope.symbol_name(id);
  return name.size() > 1 && name[0] == '?' &&
         std::ranges::all_of(name.substr(1), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::int64_t> eval(const Scope& scope, Dim d, std::span<const std::int64_t> symbol_values) {
  DimProgram program;
  DimRegisters known;
  for (SymbolId id : scope.symbols_of(d))
    if (id >= symbol_values.size()) return std::nullopt;
  const std::uint32_t result = scope.emit(d, program, known);
  std::vector<std::int64_t> regs(program.registers);
  std::ranges::copy(symbol_values.first(std::min(symbol_values.size(), scope.symbol_count())), regs.begin());
  if (!program.run(regs, 0, program.code.size())) return std::nullopt;
  return regs[result];
}

}  // namespace frazil
