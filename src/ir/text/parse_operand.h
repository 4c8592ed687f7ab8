#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/limits/load_scope.h"
#include "ir/graph/graph.h"
#include "ir/text/parse_weight.h"
#include "ir/text/text_lexer.h"

namespace frazil {

/// Reads the values that nodes, blocks and the graph use. Stores the names that are visible at the current token.
class OperandReader {
 public:
  OperandReader(Tokens& tokens, WeightReader& weights, Graph& graph, const LoadLimits& limits)
      : tokens_(tokens), weights_(weights), graph_(graph), limits_(limits) {}

  /// Gives a value the name at token `at`. Returns an error if the name is visible already.
  Status define(std::size_t at, Value value);
  /// Returns the number of visible names.
  std::size_t visible() const { return visible_.size(); }
  /// Hides all names but the first `count`.
  void hide_after(std::size_t count);

  /// Reads a visible name, a weight, a literal, or `_` for no value.
  Result<Value> read();
  /// Reads operands up to the token `close`, exclusive.
  Result<std::vector<Value>> read_list(std::string_view close);

 private:
  Result<std::string> key(std::size_t at);
  bool is_number(std::size_t at) const;

  Tokens& tokens_;
  WeightReader& weights_;
  Graph& graph_;
  const LoadLimits& limits_;
  std::unordered_map<std::string, Value> names_;
  std::vector<std::string> visible_;
  std::unordered_map<std::string, Value> literals_;
};

}  // namespace frazil
