#pragma once

#include <string>
#include <unordered_map>

#include "ir/graph.h"
#include "ir/text_lexer.h"
#include "ir/text_names.h"

namespace frazil {

/// Reads types into a graph's Scope. Data-dependent symbols (?0) of the text stand for symbols of the graph: those met
/// at the same place of an inferred type, or new ones in an input's type.
class TypeReader {
 public:
  TypeReader(Tokens& tokens, Graph& graph)
      : tokens_(tokens), graph_(graph), shown_(graph.scope(), DimText::Rename::unbacked) {}

  /// A line "dim N in 1..64", behind the word `dim`.
  Status read_bounds();
  /// A type at the current token; symbols not met before are matched with those of `expected`, if given.
  Result<Type> read(const Type* expected);
  /// Passes over a type.
  Status skip();
  /// An error when the type at token `at` is not the inferred one.
  Status check(std::size_t at, std::string_view name, const Type& inferred);

 private:
  Result<Type> read(const Type* expected, int depth);
  Result<Shape> read_shape(const Type* expected);
  Result<Dim> read_dim(const Token& first, const Token& last, const Dim* expected);
  Result<Bounds> read_range();
  void meet(std::string_view text, const Dim* expected);

  Tokens& tokens_;
  Graph& graph_;
  DimText shown_;                                        // symbols of the graph as the text calls them
  std::unordered_map<std::string, std::string> actual_;  // symbols of the text as the graph calls them
  std::unordered_map<std::string, Bounds> bounds_;
};

}  // namespace frazil
