#include "ir/edit/own_extents.h"

#include <unordered_map>

#include <fmt/format.h>

#include "ir/edit/graph_writer.h"
#include "ir/edit/rebuild.h"

namespace frazil {
namespace {

class OwnExtents : public Rewriter {
 public:
  explicit OwnExtents(const std::vector<EqualAxes>& axes) : axes_(axes) {}

  Type input_type(const Graph& from, std::size_t index, Builder& to) override {
    const Scope& scope = from.scope();
    Type type = from.type(from.main().params[index]);
    for (const EqualAxes& axes : axes_) {
      if (axes.input != index) continue;
      std::string name = fmt::format("{}.{}", from.input_names()[index], axes.axis);
      while (to.graph().scope().find_symbol(name)) name += "'";
      Dim& extent = type.shape[axes.axis];
      extent = to.dim(name, symbol_bounds(scope, *scope.as_symbol(extent)));
    }
    return type;
  }

 private:
  const std::vector<EqualAxes>& axes_;
};

}  // namespace

std::vector<EqualAxes> equal_axes(const Graph& graph) {
  std::unordered_map<SymbolId, EqualAxes> firsts;
  std::vector<EqualAxes> repeated;
  const auto& params = graph.main().params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Type& type = graph.type(params[i]);
    for (std::size_t axis = 0; type.is_tensor() && axis < type.shape.size(); ++axis) {
      const auto symbol = graph.scope().as_symbol(type.shape[axis]);
      if (!symbol) continue;
      const auto [first, is_new] = firsts.try_emplace(*symbol, EqualAxes{i, axis, i, axis});
      if (!is_new) repeated.push_back({first->second.input, first->second.axis, i, axis});
    }
  }
  return repeated;
}

Result<Graph> with_own_extents(const Graph& graph, const std::vector<EqualAxes>& axes) {
  OwnExtents rewriter(axes);
  FRAZIL_TRY(Graph made, rebuild(graph, rewriter));
  for (const EqualAxes& one : axes) {
    if (const Tensor* given = graph.input_default(one.input)) GraphWriter(made)->input_defaults[one.input] = *given;
  }
  return made;
}

}  // namespace frazil
