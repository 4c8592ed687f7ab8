#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"
#include "tensor/datum.h"

namespace frazil::ref {

/// The values of a graph's symbols during a run. Each is read from its source value as soon as that is computed. A loop
/// rebinds the symbols of its body in every iteration.
class SymbolTable {
 public:
  explicit SymbolTable(const Graph& graph);

  /// Reads the symbols whose source is v.
  void bind_from(Value v, const Datum& datum);
  void set(SymbolId symbol, std::int64_t value);
  enum class ByZero : std::uint8_t {
    nothing,  ///< x / 0 has no value
    zero,     ///< x / 0 is 0, as in plans: constraints report where that is wrong
  };
  /// Returns nullopt if a symbol is unknown or the expression has no value.
  std::optional<std::int64_t> eval(Dim d, ByZero quotient = ByZero::nothing);

 private:
  struct Source {
    SymbolId symbol;
    bool is_extent;
    std::int64_t index;  // axis or element
  };
  struct Code {
    std::size_t from, to;
    std::uint32_t result;
    std::vector<SymbolId> symbols;
  };
  const Code& code_of(Dim d);

  const Graph& graph_;
  std::unordered_map<std::uint32_t, std::vector<Source>> sources_;  // by value
  std::vector<bool> known_;
  DimProgram program_;
  std::vector<std::int64_t> registers_;
  std::unordered_map<std::uint64_t, Code> codes_;  // by Dim::bits
};

/// Returns text such as "f32[2,3]", "a sequence of 3" or "an empty optional".
std::string describe(const Datum& datum);
/// Returns how the datum differs from the inferred type or known value of v; nullopt if it fits. Call bind_from() for v
/// first.
std::optional<std::string> type_mismatch(const Graph& graph, SymbolTable& symbols, Value v, const Datum& datum);
/// Returns whether the datum has the type's kind, element types and rank. Does not compare extents.
bool has_kind(const Type& type, const Datum& datum);
/// Returns whether has_kind() holds and all constant extents agree, including those of items.
bool fits(const Type& type, const Datum& datum);

}  // namespace frazil::ref
