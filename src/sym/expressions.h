#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sym/dim.h"
#include "sym/node.h"
#include "sym/poly.h"

namespace frazil::sym {

/// The symbols and expressions of a Scope, and the rules that keep them canonical:
/// - An expression is an atom, a product of atoms or a sum. Sums and products are expanded up to Poly::kMaxTerms terms
///   and Factors::kMax atoms; larger ones become opaque atoms.
/// - mod(a, b) is a - b * floordiv(a, b). The only division is floordiv, and constant divisors are positive.
/// - min and max are flat (up to a limit) and sorted. Bounds cannot order any two of their operands.
/// Canonical forms depend only on structure and bounds, not on the order in which symbols or nodes were made.
class Expressions {
 public:
  const Nodes& nodes() const { return nodes_; }

  Dim symbol(std::string_view name, Bounds bounds);
  Dim unbacked(Bounds bounds);
  std::optional<SymbolId> find_symbol(std::string_view name) const;
  Dim symbol_dim(SymbolId id) const { return nodes_.dim(symbols_[id].node); }
  std::string_view symbol_name(SymbolId id) const { return symbols_[id].name; }
  std::size_t symbol_count() const { return symbols_.size(); }

  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b) { return add(a, mul(b, -1)); }
  Dim mul(Dim a, Dim b);
  Dim floordiv(Dim a, Dim b);
  Dim extremum(Kind kind, Dim a, Dim b);  ///< kind: min or max

  /// Returns the node of a draft in canonical form, which must not point into nodes().
  Dim intern(const Draft& draft);
  Dim intern(const Poly& p);
  std::uint32_t monomial(const Factors& f);
  /// Adds coef * mono * p to a polynomial. Sets too_large if the product has too many atoms.
  void add_product(Poly& to, const Poly& p, std::uint32_t mono, std::int64_t coef);

 private:
  struct Symbol {
    std::string name;
    std::uint32_t node;
  };

  Dim add_symbol(std::string_view name, Bounds bounds);
  void narrow(SymbolId id, Bounds bounds);
  Dim opaque(Kind kind, Dim a, Dim b);
  Poly product(const Poly& a, const Poly& b);

  Nodes nodes_;
  std::deque<Symbol> symbols_;  // deque: names keep their addresses
  std::unordered_map<std::string, SymbolId> by_name_;
  std::uint32_t next_fresh_ = 0;
};

}  // namespace frazil::sym
