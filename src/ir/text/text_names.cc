#include "ir/text/text_names.h"

#include <algorithm>

#include "sym/name.h"

namespace frazil {
namespace {

/// Returns the end of the name that starts at `from`; `from` if none does.
std::size_t name_end(std::string_view text, std::size_t from) {
  std::size_t to = from;
  if (text[from] == '`') {
    for (++to; to < text.size() && text[to] != '`'; ++to) to += text[to] == '\\';
    return std::min(to + 1, text.size());
  }
  if (!sym::starts_name(text[from])) return from;
  while (to < text.size() && sym::continues_name(text[to])) ++to;
  return to;
}

}  // namespace

std::string rename_symbols(std::string_view text, const std::function<const std::string*(std::string_view)>& with) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = name_end(text, at);
    if (end == at) {
      out += text[at++];
      continue;
    }
    const std::string_view name = text.substr(at, end - at);
    const std::string* renamed = with(name);
    out += renamed ? std::string_view(*renamed) : name;
    at = end;
  }
  return out;
}

std::string DimText::name(SymbolId symbol) const {
  const auto it = names_.find(symbol);
  return it == names_.end() ? std::string(scope_.symbol_name(symbol)) : it->second;
}

void DimText::set_name(SymbolId symbol, std::string name) {
  taken_.insert(name);
  names_[symbol] = std::move(name);
  order_.push_back(symbol);
}

std::string DimText::marked(Dim d, SymbolId symbol) const {
  Scope scope;
  constexpr Bounds kAny{Dim::kMin, Dim::kMax};
  std::unordered_map<std::string, std::string> to;
  for (SymbolId s : scope_.symbols_of(d)) {
    const std::string shown = sym::quoted_name(s == symbol                         ? "$this"
                                               : renames(s) && !names_.contains(s) ? "$other"
                                                                                   : name(s));
    scope.symbol(shown, kAny);
    to[sym::quoted_name(scope_.symbol_name(s))] = shown;
  }
  const std::string text = rename_symbols(scope_.str(d), [&](std::string_view n) {
    const auto it = to.find(std::string(n));
    return it == to.end() ? nullptr : &it->second;
  });
  const auto parsed = parse_dim(scope, text);
  return parsed ? scope.str(*parsed) : text;
}

std::vector<SymbolId> DimText::unnamed(Dim d) const {
  std::vector<SymbolId> found = scope_.symbols_of(d);
  std::erase_if(found, [&](SymbolId s) { return !renames(s) || names_.contains(s); });
  if (found.size() < 2) return found;
  std::vector<std::pair<std::string, SymbolId>> keys;
  for (SymbolId s : found) keys.emplace_back(marked(d, s), s);
  std::ranges::sort(keys);
  for (std::size_t i = 0; i < keys.size(); ++i) found[i] = keys[i].second;
  return found;
}

std::string DimText::expression(Dim d) {
  std::unordered_map<std::string, std::string> to;
  for (SymbolId s : scope_.symbols_of(d)) {
    const std::string shown = name(s);
    shown_.symbol(shown, symbol_bounds(scope_, s));
    to[sym::quoted_name(scope_.symbol_name(s))] = sym::quoted_name(shown);
  }
  const std::string text = rename_symbols(scope_.str(d), [&](std::string_view n) {
    const auto it = to.find(std::string(n));
    return it == to.end() ? nullptr : &it->second;
  });
  const auto parsed = parse_dim(shown_, text);
  return parsed ? shown_.str(*parsed) : text;
}

std::string DimText::str(Dim d) {
  if (d.is_const()) return fmt::format("{}", d.value());
  if (const auto it = known_.find(d.bits()); it != known_.end()) return it->second;
  for (SymbolId s : unnamed(d)) {
    std::string name;
    do name = fmt::format("{}{}", rename_ == Rename::all ? "s" : "?", next_++);
    while (taken_.contains(name));
    set_name(s, std::move(name));
  }
  const auto symbols = scope_.symbols_of(d);
  const bool plain = std::ranges::none_of(symbols, [&](SymbolId s) { return renames(s); });
  return known_[d.bits()] = plain ? scope_.str(d) : expression(d);
}

std::string DimText::str(const Type& type) {
  std::string out, close;
  const Type* t = &type;
  for (; t->item; t = t->item.get()) {
    out += t->kind == Type::Kind::sequence   ? "seq<"
           : t->kind == Type::Kind::optional ? "opt<"
                                             : fmt::format("map<{}, ", name_of(t->elem));
    close += '>';
  }
  out += name_of(t->elem);
  if (!t->ranked) return out + "[...]" + close;
  for (std::size_t i = 0; i < t->rank(); ++i) out += (i == 0 ? "[" : ",") + str(t->shape[i]);
  return out + (t->rank() == 0 ? "[]" : "]") + close;
}

}  // namespace frazil
