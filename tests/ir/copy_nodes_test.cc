#include "ir/edit/copy_nodes.h"

#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "ops/core/registry.h"

namespace frazil {
namespace {

Graph read(const std::string& text) {
  link_operators();
  auto graph = parse(text);
  EXPECT_TRUE(graph) << graph.error().text();
  return graph ? std::move(*graph) : Graph();
}

/// Copies all nodes of the graph to one with the same inputs.
std::string copied_nodes(const Graph& from, std::string_view last_name = {}) {
  Graph to;
  Builder main(to);
  NodeCopier copier(from, to);
  for (const Value v : from.main().params) {
    copier.bind(v, main.input(from.value_name(v), copier.type_of(v, main).value()).value);
  }
  for (const NodeId id : from.main().nodes) {
    const bool last = id == from.main().nodes.back();
    const Status done = copier.copy(id, main, last ? last_name : std::string_view());
    EXPECT_TRUE(done) << done.error().text();
  }
  for (const Value v : from.main().results) main.output("y", {&main, copier.now(v)});
  to.name = from.name;
  return print(to);
}

constexpr const char* kRegions = R"(graph g(%c: bool[], %n: i64[], %x: f32[2]) {
  %o = Abs(%x) "outside"
  %y = If(%c) then_branch() {
    %p, %all = Loop(%n, _, %o) body(%i: i64[], %on: bool[], %v: f32[2]) {
      %s = Add(%v, %x) "step"
      yield %on, %s, %v
    } "repeat"
    %q = Neg(%p)
    yield %q
  } else_branch() {
    %k = Mul(%o, f32[2] [2, 3])
    yield %k
  } "choose"
  return y = %y
})";

TEST(NodeCopier, CopiesBodiesInsideBodies) {
  const Graph graph = read(kRegions);
  EXPECT_EQ(copied_nodes(graph), print(graph));
}

TEST(NodeCopier, ANameIsThatOfTheNodeAlone) {
  const std::string text = copied_nodes(read(kRegions), "other");
  EXPECT_NE(text.find("} \"other\""), std::string::npos) << text;
  EXPECT_NE(text.find("%s: f32[2] = Add(%v, %x) \"step\""), std::string::npos) << text;
}

TEST(NodeCopier, NestingTakesNoNativeStack) {
  constexpr int kDepth = 15'000;
  std::string text = "graph g(%c: bool[], %x: f32[2]) {\n";
  for (int i = 0; i < kDepth; ++i) text += "%r" + std::to_string(i) + " = If(%c) then_branch() {\n";
  text += "%o = Neg(%x)\nyield %o }";
  for (int i = kDepth; i-- > 0;) {
    text += " else_branch() { yield %x }\n";
    text += (i == 0 ? "return y = %r0" : "yield %r" + std::to_string(i)) + " }";
  }
  const Graph graph = read(text);
  EXPECT_EQ(graph.block_count(), 2u * kDepth + 1);
  EXPECT_EQ(copied_nodes(graph).size(), print(graph).size());
}

}  // namespace
}  // namespace frazil
