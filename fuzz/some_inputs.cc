#include "some_inputs.h"

#include <algorithm>

#include "random_value.h"

namespace frazil::fuzz {
namespace {

constexpr std::int64_t kMaxElements = 4096;
constexpr int kMaxDepth = 8;

using ExtentOf = std::function<std::int64_t(Dim)>;

bool is_small(const Type& type, const ExtentOf& extent_of, int depth = 0) {
  if (depth > kMaxDepth || (type.item && !is_small(*type.item, extent_of, depth + 1))) return false;
  std::int64_t count = 1;
  return std::ranges::all_of(type.shape, [&](Dim d) {
    const std::int64_t extent = extent_of(d);
    return extent >= 0 && !__builtin_mul_overflow(count, std::max(extent, std::int64_t{1}), &count) &&
           count <= kMaxElements;
  });
}

}  // namespace

std::optional<std::vector<Datum>> some_inputs(const Graph& graph, Choices& choices) {
  const Scope& scope = graph.scope();
  std::vector<std::int64_t> symbols;
  for (SymbolId s = 0; s < scope.symbol_count(); ++s) {
    const Bounds bounds = symbol_bounds(scope, s);
    symbols.push_back(std::clamp(choices.between(0, 4), bounds.min, bounds.max));
  }
  const ExtentOf extent_of = [&](Dim d) { return eval(scope, d, symbols).value_or(0); };
  std::vector<Datum> inputs;
  for (std::size_t i = 0; i < graph.main().params.size(); ++i) {
    const Type& type = graph.type(graph.main().params[i]);
    if (!is_small(type, extent_of)) return std::nullopt;
    const bool absent = graph.input_default(i) != nullptr && choices.chance(70);
    inputs.push_back(absent ? Datum() : random_datum(type, extent_of, random_look(choices), choices));
  }
  return inputs;
}

}  // namespace frazil::fuzz
