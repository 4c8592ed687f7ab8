#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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

  Bounds bounds(Dim d) const;
  /// Returns the bounds of a - b.
  Bounds difference(Dim a, Dim b) const;
  /// Returns true if divisibility shows that a and b differ for all symbol values.
  bool never_meet(Dim a, Dim b) const;

  const Nodes& nodes() const { return nodes_; }
  const Node& node(Dim d) const { return nodes_[d]; }
  bool is_kind(Dim d, Kind kind) const { return !d.is_const() && nodes_[d].kind == kind; }
  Poly poly(Dim d) const;

  /// Returns the operands of a node as Dims, including monomials.
  std::vector<Dim> children(Dim d) const;
  /// Returns all non-constant sub-expressions of d, including d, operands first. Leaves out those for which `skip`
  /// returns true, together with what only they use.
  std::vector<Dim> reach(Dim d, const std::function<bool(Dim)>& skip = {}) const;
  /// Returns d rebuilt with its operands replaced by `with`.
  Dim rebuild(Dim d, const std::function<Dim(Dim)>& with);

 private:
  struct Symbol {
    std::string name;
    std::uint32_t node;
  };

  Dim add_symbol(std::string_view name, Bounds bounds);
  void narrow(SymbolId id, Bounds bounds);

  std::uint32_t cons(const Draft& draft);
  Dim cons_dim(const Draft& draft) { return nodes_.dim(cons(draft)); }
  std::uint32_t monomial(const Factors& f);
  Dim intern(const Poly& p);
  Dim opaque(Kind kind, Dim a, Dim b);
  Poly product(const Poly& a, const Poly& b);
  void add_product(Poly& to, const Poly& p, std::uint32_t mono, std::int64_t coef);

  struct Division;
  Dim divide_by_const(Dim a, std::int64_t k);
  void reduce(Division& q) const;
  bool merge_nested(Division& q) const;
  Poly take_multiples(Poly& n, const Poly& d);
  std::optional<Poly> exact_quotient(Poly n, const Poly& d);
  void cancel_common(Poly& n, Poly& d, bool nonzero);
  Factors common_factors(const Poly& n, const Poly& d) const;
  Poly divided_by(const Poly& p, const Factors& f);
  std::pair<std::uint32_t, std::int64_t> leading(const Poly& p) const;
  std::optional<std::int64_t> small_quotient(const Poly& n, const Poly& d) const;
  Dim floordiv_atom(const Poly& n, const Poly& d);

  std::vector<Dim> flat_operands(Kind kind, Dim a) const;
  bool superfluous(Kind kind, Dim a, Dim beside) const;

  Bounds node_bounds(const Node& n) const;
  Bounds product_bounds(std::span<const Dim> atoms) const;
  Bounds mono_bounds(std::uint32_t mono) const { return nodes_[mono].bounds; }
  Bounds interval(const Poly& p) const;
  Bounds bounds(const Poly& p) const;
  struct Relaxation;
  Bounds without_quotients(const Poly& p) const;
  std::optional<Dim> last_quotient(const Poly& p, std::optional<Dim> before) const;
  std::optional<Poly> product_within(const Poly& within, const Poly& p, Dim atom) const;
  bool eliminate(Dim quotient, Relaxation& r) const;
  Poly extreme_remainder(Dim d, bool greatest) const;
  void tighten(Bounds& best, const Relaxation& r) const;
  Term leading_of(const Poly& p) const;
  Bounds without_extrema(const Poly& p, int depth) const;
  std::size_t extremum_operands(const Poly& p) const;
  Bounds with_operand(const Poly& p, const Term& extremum, Dim operand, int depth) const;

  Nodes nodes_;
  std::deque<Symbol> symbols_;  // deque: names keep their addresses
  std::unordered_map<std::string, SymbolId> by_name_;
  std::uint32_t next_fresh_ = 0;
};

}  // namespace frazil::sym
