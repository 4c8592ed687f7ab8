#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "tensor/datum.h"

namespace frazil::ref {

/// What is known of a graph's symbols while it runs: each is read from the value that it came from, as soon as that is
/// there. A loop binds the symbols of its body anew in every iteration.
class SymbolTable {
 public:
  explicit SymbolTable(const Graph& graph);

  /// Reads the symbols that come from v.
  void learn(Value v, const Datum& datum);
  void set(SymbolId symbol, std::int64_t value);
  enum class ByZero : std::uint8_t {
    nothing,  ///< x / 0 has no value
    zero,     ///< it is 0, as on the tape: constraints tell where that is wrong
  };
  /// nullopt when a symbol is not known, or where there is no value.
  std::optional<std::int64_t> eval(Dim d, ByZero quotient = ByZero::nothing);

 private:
  struct Source {
    SymbolId symbol;
    bool is_extent;
    std::int64_t index;  // axis, or element
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

/// "f32[2,3]", "a sequence of 3", "an empty optional".
std::string describe(const Datum& datum);
/// How the datum differs from what is inferred for v in kind, element type, shape or content; nullopt when it fits.
/// Symbols that come from v must have been learned.
std::optional<std::string> misfit(const Graph& graph, SymbolTable& symbols, Value v, const Datum& datum);
/// Whether the datum has the type's kind, element types and rank; extents are not compared.
bool has_kind(const Type& type, const Datum& datum);
/// has_kind, and the extents that are constant agree, those of items as well.
bool fits(const Type& type, const Datum& datum);

}  // namespace frazil::ref
