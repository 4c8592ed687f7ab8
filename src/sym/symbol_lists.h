#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sym/dim.h"

namespace frazil::sym {

/// The symbols that nodes read, ascending, without duplicates. A node whose symbols are those of an operand shares its
/// list. Lists of more than kMaxSymbols symbols are not stored.
class SymbolLists {
 public:
  static constexpr std::size_t kMaxSymbols = 16;
  struct List {
    std::uint8_t count = 0;  ///< kMaxSymbols + 1 for a list that is not stored
    std::uint32_t first = 0;
  };

  /// Returns nullopt for a list that is not stored. The span is valid until a list is added.
  std::optional<std::span<const SymbolId>> find(List list) const;
  List add(SymbolId symbol);
  /// Returns the union of a range of lists.
  template <class Lists>
  List unite(Lists&& lists) {
    const std::size_t before = symbols_.size();
    List all;
    for (const List list : lists) all = unite(all, list);
    return keep_last(all, before);
  }

 private:
  std::span<const SymbolId> view(List list) const { return std::span(symbols_).subspan(list.first, list.count); }
  List unite(List a, List b);
  /// Removes the unions that are stored from `before` on, except `last`, which is stored there.
  List keep_last(List last, std::size_t before);

  std::vector<SymbolId> symbols_;
};

}  // namespace frazil::sym
