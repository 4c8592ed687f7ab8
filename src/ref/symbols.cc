#include "ref/symbols.h"

#include <algorithm>

#include <fmt/format.h>

namespace frazil::ref {

SymbolTable::SymbolTable(const Graph& graph) : graph_(graph), known_(graph.scope().symbol_count()) {
  program_.registers = static_cast<std::uint32_t>(known_.size());
  registers_.resize(known_.size());
  for (SymbolId s = 0; s < known_.size(); ++s) {
    if (const auto origin = graph.origin(s)) sources_[origin->value.id].push_back({s, false, origin->index});
    if (const auto extent = graph.extent_origin(s)) sources_[extent->value.id].push_back({s, true, extent->axis});
  }
}

void SymbolTable::set(SymbolId symbol, std::int64_t value) {
  registers_[symbol] = Dim(value).value();
  known_[symbol] = true;
}

void SymbolTable::bind_from(Value v, const Datum& datum) {
  const auto it = sources_.find(v.id);
  if (it == sources_.end() || !datum.is_tensor()) return;
  const Tensor& t = datum.tensor();
  for (const Source& s : it->second) {
    if (s.is_extent && s.index < static_cast<std::int64_t>(t.rank())) {
      set(s.symbol, t.sizes()[static_cast<std::size_t>(s.index)]);
    }
    if (!s.is_extent && s.index < t.count()) set(s.symbol, t.integer_at(s.index));
  }
}

const SymbolTable::Code& SymbolTable::code_of(Dim d) {
  const auto [it, fresh] = codes_.try_emplace(d.bits());
  if (!fresh) return it->second;
  Code& code = it->second;
  DimRegisters none;
  code.symbols = graph_.scope().symbols_of(d);
  code.from = program_.code.size();
  code.result = graph_.scope().emit(d, program_, none);
  code.to = program_.code.size();
  registers_.resize(program_.registers);
  return code;
}

std::optional<std::int64_t> SymbolTable::eval(Dim d, ByZero quotient) {
  if (d.is_const()) return d.value();
  const Code& code = code_of(d);
  if (!std::ranges::all_of(code.symbols, [&](SymbolId s) { return known_[s]; })) return std::nullopt;
  const bool defined = program_.run(registers_, code.from, code.to);
  return defined || quotient == ByZero::zero ? std::optional(registers_[code.result]) : std::nullopt;
}

std::string describe(const Datum& datum) {
  if (datum.is_tensor()) return datum.tensor().type_str();
  if (datum.is_sequence()) return fmt::format("a sequence of {}", datum.sequence().items.size());
  if (datum.is_map()) return fmt::format("a map of {}", datum.map().items.size());
  return "an empty optional";
}

bool has_kind(const Type& type, const Datum& datum) {
  switch (type.kind) {
    case Type::Kind::tensor:
      return datum.is_tensor() && datum.tensor().defined() && datum.tensor().elem() == type.elem &&
             (!type.ranked || datum.tensor().rank() == type.rank());
    case Type::Kind::sequence:
      return datum.is_sequence() &&
             std::ranges::all_of(datum.sequence().items, [&](const Datum& d) { return has_kind(*type.item, d); });
    case Type::Kind::optional: return datum.empty() || has_kind(*type.item, datum);
    case Type::Kind::map:
      return datum.is_map() && std::ranges::all_of(datum.map().items, [&](const auto& entry) {
               return entry.first.elem() == type.elem && has_kind(*type.item, entry.second);
             });
  }
  return false;
}

namespace {

bool constant_extents_agree(const Type& type, const Datum& datum) {
  if (type.kind == Type::Kind::optional) return datum.empty() || constant_extents_agree(*type.item, datum);
  if (type.kind == Type::Kind::sequence) {
    return std::ranges::all_of(datum.sequence().items,
                               [&](const Datum& d) { return constant_extents_agree(*type.item, d); });
  }
  if (type.kind == Type::Kind::map) {
    return std::ranges::all_of(datum.map().items,
                               [&](const auto& entry) { return constant_extents_agree(*type.item, entry.second); });
  }
  for (std::size_t d = 0; d < type.shape.size(); ++d) {
    if (type.shape[d].is_const() && type.shape[d].value() != datum.tensor().sizes()[d]) return false;
  }
  return true;
}

}  // namespace

bool fits(const Type& type, const Datum& datum) { return has_kind(type, datum) && constant_extents_agree(type, datum); }

std::optional<std::string> type_mismatch(const Graph& graph, SymbolTable& symbols, Value v, const Datum& datum) {
  const Type& type = graph.type(v);
  const auto difference = [&](std::string_view where) {
    return fmt::format("gives {}, inferred {}{}", describe(datum), str(type, graph.scope()), where);
  };
  if (!has_kind(type, datum)) return difference("");
  if (!type.is_tensor()) return std::nullopt;
  const Tensor& t = datum.tensor();
  for (std::size_t d = 0; d < type.shape.size(); ++d) {
    const auto extent = symbols.eval(type.shape[d]);
    if (extent && *extent != t.sizes()[d]) return difference(fmt::format(", where extent {} is {}", d, *extent));
  }
  const std::vector<Dim>* known = graph.known_value(v);
  if (!known) return std::nullopt;
  if (static_cast<std::int64_t>(known->size()) != t.count()) return difference(" with another element count");
  for (std::size_t i = 0; i < known->size(); ++i) {
    const auto want = symbols.eval((*known)[i]);
    const std::int64_t got = t.integer_at(static_cast<std::int64_t>(i));
    if (want && Dim(*want) != Dim(got))
      return difference(fmt::format(", where element {} is {}, not {}", i, *want, got));
  }
  return std::nullopt;
}

}  // namespace frazil::ref
