#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "onnx/import/declared_types.h"
#include "onnx/import/frames.h"

namespace frazil::onnx {

/// Defines values under names of the file: in the context of a frame, in the graph, and with their declared types.
class ValueDefiner {
 public:
  ValueDefiner(Graph& graph, DeclaredTypes& declared, const Source& source, const LoadLimits& limits)
      : graph_(graph), declared_(declared), source_(source), limits_(limits) {}

  static constexpr std::size_t kNever = ~std::size_t{0};
  using Describe = std::function<std::string()>;  ///< called for faults only
  /// Gives names to a node's outputs. Values with an id of at least `rename_from` lose their current name first.
  Status define_outputs(Frame& frame, const Texts& names, const std::vector<Value>& values, const Describe& what,
                        std::size_t rename_from = kNever);
  /// Gives the values the names of the inputs of the frame's subgraph.
  Status define_params(Frame& frame, const std::vector<Value>& params);
  /// Defines the initializers of the frame's graph as constants, except those in `inputs`.
  Status define_initializers(Frame& frame, const std::set<std::string_view>& inputs = {});

 private:
  Status define(Frame& frame, std::string_view name, Value value, const Describe& what);
  Status define_constant(Frame& frame, std::string_view name, Tensor tensor);

  Graph& graph_;
  DeclaredTypes& declared_;
  const Source& source_;
  const LoadLimits& limits_;
};

}  // namespace frazil::onnx
