#pragma once

#include <string>
#include <unordered_map>

#include "ir/graph/graph.h"
#include "ir/text/text_lexer.h"
#include "ir/text/text_names.h"

namespace frazil {

/// Parses types into a graph's Scope. Unbacked symbols (?0) of the text map to symbols of the graph: those at the same
/// position of an inferred type, or new ones in an input's type.
class TypeReader {
 public:
  TypeReader(Tokens& tokens, Graph& graph)
      : tokens_(tokens), graph_(graph), shown_(graph.scope(), DimText::Rename::unbacked) {}

  /// Parses "dim N in 1..64", after the word `dim`.
  Status read_bounds();
  /// Parses the type at the current token. New symbols are matched with those of `expected`, if given.
  Result<Type> read(const Type* expected);
  /// Skips a type.
  Status skip();
  /// Returns an error if the type at token `at` differs from the inferred one.
  Status check(std::size_t at, std::string_view name, const Type& inferred);

 private:
  Result<Type> read(const Type* expected, int depth);
  Result<Shape> read_shape(const Type* expected);
  Result<Dim> read_dim(const Token& first, const Token& last, const Dim* expected);
  Result<Bounds> read_range();
  void meet(std::string_view text, const Dim* expected);

  Tokens& tokens_;
  Graph& graph_;
  DimText shown_;                                        // graph symbols as named in the text
  std::unordered_map<std::string, std::string> actual_;  // text symbols as named in the graph
  std::unordered_map<std::string, Bounds> bounds_;
};

}  // namespace frazil
