#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sym/dim.h"
#include "sym/poly.h"
#include "sym/symbol_lists.h"

namespace frazil::sym {

/// The kind of a node. `symbol` to `big_mul` are atoms. A product has 2 to Factors::kMax atoms; a sum refers to atoms
/// and products. `big_add` and `big_mul` are sums and products too large for the canonical form: opaque, with two
/// operands.
enum class Kind : std::uint8_t { symbol, floordiv, min, max, big_add, big_mul, product, sum };

struct Node {
  Kind kind;
  SymbolLists::List symbols;  ///< that it reads
  std::uint32_t first;        ///< symbol: its SymbolId; sum: first term; others: first operand
  std::uint32_t count;
  std::uint32_t depth;    ///< greater than that of all operands
  std::int64_t constant;  ///< of a sum
  std::uint64_t hash;     ///< of the structure: equal in all Scopes, independent of numbering
  Bounds bounds;
};

/// The fields of a node before it is interned.
struct Draft {
  Kind kind;
  std::int64_t constant = 0;
  std::span<const Term> terms = {};
  std::span<const Dim> operands = {};
};

/// The atoms of a monomial, ascending, with repetition. The monomial 1 has none.
struct Factors {
  static constexpr std::size_t kMax = 8;
  std::array<Dim, kMax> atoms;
  std::size_t count = 0;

  std::span<const Dim> view() const { return {atoms.data(), count}; }
  /// Compares in graded lexicographic order.
  std::strong_ordering operator<=>(const Factors& other) const;
};

std::optional<Factors> multiply(const Factors& a, const Factors& b);  ///< nullopt: more than kMax atoms
std::optional<Factors> divide(const Factors& a, const Factors& b);    ///< nullopt: b does not divide a
Factors common(const Factors& a, const Factors& b);

inline std::uint32_t index_of(Dim d) { return static_cast<std::uint32_t>(d.bits() >> 1); }

/// Hash-consed storage. Operands of a node have lower indices than the node.
class Nodes {
 public:
  Nodes();

  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  const Node& operator[](std::uint32_t index) const { return nodes_[index]; }
  const Node& operator[](Dim d) const { return nodes_[index_of(d)]; }
  std::span<const Term> terms(const Node& n) const { return std::span(terms_).subspan(n.first, n.count); }
  std::span<const Dim> operands(const Node& n) const { return std::span(operands_).subspan(n.first, n.count); }
  /// Returns the symbols that d reads, which must not be constant; nullopt if it reads many. Valid until a node is
  /// added.
  std::optional<std::span<const SymbolId>> few_symbols(Dim d) const { return symbols_.find((*this)[d].symbols); }
  void set_bounds(std::uint32_t index, Bounds bounds) { nodes_[index].bounds = bounds; }

  /// The node of a draft. The draft passed to add() must not point into this object.
  struct Added {
    std::uint32_t index;
    bool is_new;  ///< the caller must set its bounds
  };
  Added add(const Draft& draft);
  std::optional<std::uint32_t> find(const Draft& draft) const;
  std::uint32_t add_symbol(SymbolId id, std::uint64_t name_hash, Bounds bounds);

  Dim dim(std::uint32_t index) const { return Dim::expression(index, owner_); }
  /// Returns true if the Dim belongs to this Scope or to one from which it was copied. Debug builds use it.
  bool owns(Dim d) const;

  Factors factors(std::uint32_t mono) const;
  std::optional<std::uint32_t> find_monomial(const Factors& f) const;
  std::uint32_t degree(std::uint32_t mono) const;
  /// Returns true if a comes before b in a total order that is the same in all Scopes. Operands come before their
  /// users.
  bool before(Dim a, Dim b) const;

 private:
  std::uint64_t hash_of(const Draft& draft) const;
  std::uint64_t hash_of(Dim d) const;
  bool matches(const Node& n, const Draft& draft, std::uint64_t hash) const;
  /// Returns the slot that holds the draft's node, or the free slot in which to put it.
  std::size_t slot_of(const Draft& draft, std::uint64_t hash) const;
  std::uint32_t append(const Draft& draft, std::uint64_t hash);
  std::uint32_t depth_of(const Draft& draft) const;
  void grow();
  SymbolLists::List symbols_of(const Draft& draft);

  std::uint32_t owner_ = 0;
  std::vector<Node> nodes_;
  std::vector<Term> terms_;
  std::vector<Dim> operands_;
  SymbolLists symbols_;
  std::vector<std::uint32_t> slots_;  // open addressing; index + 1, 0 is free
};

inline bool is_kind(const Nodes& nodes, Dim d, Kind kind) { return !d.is_const() && nodes[d].kind == kind; }
/// Returns an expression as a polynomial: of its terms if it is a sum, else of itself.
Poly poly_of(const Nodes& nodes, Dim d);

}  // namespace frazil::sym
