#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "base/limits/load_scope.h"
#include "ir/graph/graph.h"
#include "ir/text/parse_type.h"
#include "ir/text/text.h"
#include "ir/text/text_lexer.h"

namespace frazil {

/// Reads weights of a text: their declarations, and their uses as @name.
class WeightReader {
 public:
  WeightReader(Tokens& tokens, TypeReader& types, Graph& graph, const WeightSource& source, const LoadLimits& limits)
      : tokens_(tokens), types_(types), graph_(graph), source_(source), limits_(limits) {}

  /// Reads "@w: f32[2]", after the word `weight`.
  Status declare();
  /// Reads a typed literal or the name of a weight, whose tensor must have the declared type.
  Result<Tensor> tensor();
  /// Reads the name of a weight. Returns the constant that all uses of the name share.
  Result<Value> constant();

 private:
  Tokens& tokens_;
  TypeReader& types_;
  Graph& graph_;
  const WeightSource& source_;
  const LoadLimits& limits_;
  std::unordered_map<std::string, std::size_t> declared_;  // tokens of types
  std::unordered_map<std::string, Value> constants_;
};

}  // namespace frazil
