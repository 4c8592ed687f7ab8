#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph/type.h"
#include "sym/dim.h"

namespace frazil {

/// Returns `text` of a Dim with each symbol name replaced by the result of `with`, quoted if necessary. Null keeps the
/// name.
std::string rename_symbols(std::string_view text, const std::function<const std::string*(std::string_view name)>& with);

/// Dims as text, with symbols named in order of first appearance. Equal structures give equal text, regardless of how
/// the symbols of their Scopes are numbered.
class DimText {
 public:
  enum class Rename : std::uint8_t {
    unbacked,  ///< unbacked symbols become ?0, ?1, ...; others keep their names
    all,       ///< every symbol becomes s0, s1, ...
  };
  DimText(const Scope& scope, Rename rename) : scope_(scope), rename_(rename) {}

  std::string str(Dim d);
  std::string str(const Type& type);
  /// Returns the symbols of d that are to be renamed and have no name yet, in an order independent of their numbers.
  std::vector<SymbolId> unnamed(Dim d) const;
  void set_name(SymbolId symbol, std::string name);
  /// Returns renamed symbols in the order in which they were named.
  const std::vector<SymbolId>& named() const { return order_; }
  std::string name(SymbolId symbol) const;

 private:
  bool renames(SymbolId symbol) const { return rename_ == Rename::all || is_unbacked(scope_, symbol); }
  std::string expression(Dim d);
  std::string marked(Dim d, SymbolId symbol) const;

  const Scope& scope_;
  Rename rename_;
  Scope shown_;
  std::unordered_map<SymbolId, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::vector<SymbolId> order_;
  std::unordered_map<std::uint64_t, std::string> known_;  // by Dim::bits()
  std::size_t next_ = 0;
};

}  // namespace frazil
