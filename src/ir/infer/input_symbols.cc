#include "ir/infer/input_symbols.h"

#include <algorithm>
#include <unordered_set>

namespace frazil {
namespace {

using Symbols = std::unordered_set<SymbolId>;

Symbols given_symbols(const Graph& graph) {
  Symbols given;
  for (Value v : graph.main().params) {
    if (!graph.type(v).is_tensor()) continue;
    for (Dim d : graph.type(v).shape) {
      if (const auto symbol = graph.scope().as_symbol(d)) given.insert(*symbol);
    }
  }
  return given;
}

}  // namespace

Status check_input_symbols(const Graph& graph) {
  const Symbols given = given_symbols(graph);
  for (std::size_t i = 0; i < graph.main().params.size(); ++i) {
    const Type& type = graph.type(graph.main().params[i]);
    for (const Type* t = &type; t; t = t->item.get()) {
      for (Dim d : t->shape) {
        for (SymbolId s : graph.scope().symbols_of(d)) {
          if (given.contains(s)) continue;
          return fail(Code::unsupported, "input '{}' is {}, but no tensor input has an axis of extent {}",
                      graph.input_names()[i], str(type, graph.scope()), graph.scope().symbol_name(s));
        }
      }
    }
  }
  return {};
}

}  // namespace frazil
