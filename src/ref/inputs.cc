#include "ref/inputs.h"

#include <unordered_map>

#include "ir/infer/input_symbols.h"
#include "ref/symbols.h"

namespace frazil::ref {
namespace {

class InputCheck {
 public:
  explicit InputCheck(const Graph& graph) : graph_(graph), symbols_(graph) {}

  Result<Datum> value(std::size_t i, std::span<const Datum> inputs) {
    if (i < inputs.size() && !missing(inputs[i])) return inputs[i];
    if (const Tensor* given = graph_.input_default(i)) return Datum(*given);
    if (type(i).kind == Type::Kind::optional) return Datum();
    return fail(Code::bad_input, "input '{}' is missing: expected {}", name(i), str(type(i), graph_.scope()));
  }

  /// Checks kind, element type, rank and constant extents. Binds plain symbols.
  Status check(std::size_t i, const Datum& datum) {
    if (!fits(type(i), datum)) return expected(i, datum, "");
    if (!type(i).is_tensor()) return {};
    for (std::size_t d = 0; d < type(i).shape.size(); ++d) {
      const Dim dim = type(i).shape[d];
      const std::int64_t extent = datum.tensor().sizes()[d];
      if (dim.is_const() && dim.value() != extent) return expected(i, datum, "");
      if (const auto symbol = graph_.scope().as_symbol(dim)) FRAZIL_CHECK(bind(i, *symbol, extent, datum));
    }
    return {};
  }

  /// Checks extents that are expressions of symbols.
  Status check_expressions(std::size_t i, const Datum& datum) {
    if (!datum.is_tensor()) return {};
    for (std::size_t d = 0; d < type(i).shape.size(); ++d) {
      const auto extent = symbols_.eval(type(i).shape[d]);
      if (!extent || *extent == datum.tensor().sizes()[d]) continue;
      return expected(i, datum, fmt::format(" with {} = {}", graph_.scope().str(type(i).shape[d]), *extent));
    }
    return {};
  }

 private:
  static bool missing(const Datum& d) { return d.empty() || (d.is_tensor() && !d.tensor().defined()); }
  const std::string& name(std::size_t i) const { return graph_.input_names()[i]; }
  const Type& type(std::size_t i) const { return graph_.type(graph_.main().params[i]); }

  Status expected(std::size_t i, const Datum& datum, std::string_view note) const {
    return fail(Code::bad_input, "input '{}': expected {}{}, got {}", name(i), str(type(i), graph_.scope()), note,
                describe(datum));
  }

  Status bind(std::size_t i, SymbolId symbol, std::int64_t extent, const Datum& datum) {
    const Bounds bounds = symbol_bounds(graph_.scope(), symbol);
    const std::string_view spelled = graph_.scope().symbol_name(symbol);
    if (extent < bounds.min || extent > bounds.max) {
      return expected(i, datum, fmt::format(" with {} in [{}, {}]", spelled, bounds.min, bounds.max));
    }
    const auto [it, fresh] = bound_.try_emplace(symbol, extent, i);
    symbols_.set(symbol, it->second.first);
    if (it->second.first == extent) return {};
    return expected(i, datum,
                    fmt::format(" with {} = {} as in input '{}'", spelled, it->second.first, name(it->second.second)));
  }

  const Graph& graph_;
  SymbolTable symbols_;
  std::unordered_map<SymbolId, std::pair<std::int64_t, std::size_t>> bound_;  // extent, input
};

}  // namespace

Result<std::vector<Datum>> bind_inputs(const Graph& graph, std::span<const Datum> inputs) {
  const std::size_t count = graph.main().params.size();
  if (inputs.size() > count) return fail(Code::bad_input, "expected {} inputs, got {}", count, inputs.size());
  FRAZIL_CHECK(check_input_symbols(graph));
  InputCheck check(graph);
  std::vector<Datum> values;
  for (std::size_t i = 0; i < count; ++i) {
    FRAZIL_TRY(Datum value, check.value(i, inputs));
    FRAZIL_CHECK(check.check(i, value));
    values.push_back(std::move(value));
  }
  for (std::size_t i = 0; i < count; ++i) FRAZIL_CHECK(check.check_expressions(i, values[i]));
  return values;
}

}  // namespace frazil::ref
