#include "sym/symbol_lists.h"

#include <algorithm>
#include <array>

namespace frazil::sym {
namespace {

constexpr SymbolLists::List kNotStored{.count = SymbolLists::kMaxSymbols + 1};

bool is_stored(SymbolLists::List list) { return list.count <= SymbolLists::kMaxSymbols; }

}  // namespace

std::optional<std::span<const SymbolId>> SymbolLists::find(List list) const {
  if (!is_stored(list)) return std::nullopt;
  return view(list);
}

SymbolLists::List SymbolLists::add(SymbolId symbol) {
  symbols_.push_back(symbol);
  return {.count = 1, .first = static_cast<std::uint32_t>(symbols_.size() - 1)};
}

SymbolLists::List SymbolLists::keep_last(List last, std::size_t before) {
  if (symbols_.size() == before) return last;
  const bool is_new = is_stored(last) && last.first >= before;
  if (is_new) std::ranges::copy(view(last), symbols_.begin() + static_cast<std::ptrdiff_t>(before));
  symbols_.resize(before + (is_new ? last.count : 0));
  return is_new ? List{.count = last.count, .first = static_cast<std::uint32_t>(before)} : last;
}

SymbolLists::List SymbolLists::unite(List a, List b) {
  if (!is_stored(a) || !is_stored(b)) return kNotStored;
  if (a.first == b.first && a.count == b.count) return a;
  if (std::ranges::includes(view(a), view(b))) return a;
  if (std::ranges::includes(view(b), view(a))) return b;
  std::array<SymbolId, 2 * kMaxSymbols> both;
  const auto count =
      static_cast<std::size_t>(std::ranges::set_union(view(a), view(b), both.begin()).out - both.begin());
  if (count > kMaxSymbols) return kNotStored;
  const List made{.count = static_cast<std::uint8_t>(count), .first = static_cast<std::uint32_t>(symbols_.size())};
  symbols_.insert(symbols_.end(), both.begin(), both.begin() + count);
  return made;
}

}  // namespace frazil::sym
