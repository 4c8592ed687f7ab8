#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/op/op.h"
#include "model_writer.h"
#include "onnx/import/import.h"
#include "ops/core/registry.h"

namespace frazil::test {

inline Result<Graph> import(const Message& bytes, const ImportOptions& options = {}) {
  link_operators();
  return import_onnx_bytes(std::as_bytes(std::span(bytes)), nullptr, {}, options);
}
inline Result<Graph> import(const GraphSpec& spec, const ModelSpec& model_spec = {}) {
  return import(model(graph(spec), model_spec));
}

/// The graph, or a test failure and an empty one.
inline Graph imported(Result<Graph> result) {
  EXPECT_TRUE(result.has_value()) << result.error().text();
  return result ? std::move(*result) : Graph();
}

/// Operators of a block in order: "Shape Reshape".
inline std::string op_names(const Graph& g, BlockId block = Graph::kMain) {
  std::string names;
  for (const NodeId id : g.block(block).nodes) names += (names.empty() ? "" : " ") + std::string(g.node(id).op->name);
  return names;
}
inline const Node& node_at(const Graph& g, std::size_t i, BlockId block = Graph::kMain) {
  return g.node(g.block(block).nodes.at(i));
}
inline std::string type_of(const Graph& g, Value v) { return str(g.type(v), g.scope()); }
inline std::string output_type(const Graph& g, std::size_t i = 0) { return type_of(g, g.main().results.at(i)); }
/// Elements of the integer constant that is input `i` of a node.
inline std::vector<std::int64_t> ints_at(const Graph& g, const Node& n, std::size_t i) {
  const Constant* c = i < n.in.size() && n.in[i] ? g.constant(n.in[i]) : nullptr;
  EXPECT_NE(c, nullptr) << "input " << i;
  std::vector<std::int64_t> values;
  for (std::int64_t k = 0; c && k < c->tensor.count(); ++k) values.push_back(c->tensor.integer_at(k));
  return values;
}
inline void expect_attr(const Node& n, std::string_view name, const AttrValue& expected) {
  const AttrField* field = n.op->attrs.find(name);
  ASSERT_NE(field, nullptr) << name;
  const auto given = field->get(n.attrs.get());
  EXPECT_TRUE(given && same(*given, expected)) << name;
}

/// The import fails with this code and a one-line message that contains every part.
inline void expect_fault(const Result<Graph>& result, Code code, std::initializer_list<std::string_view> parts) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(name_of(result.error().code), name_of(code)) << result.error().text();
  for (const auto part : parts) EXPECT_THAT(result.error().text(), testing::HasSubstr(part));
  EXPECT_THAT(result.error().text(), testing::Not(testing::HasSubstr("\n")));
}

}  // namespace frazil::test
