#include "ir/edit/rebuild.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/text.h"

namespace frazil::test {
namespace {

class Copier : public Rewriter {
 public:
  explicit Copier(bool keeps) : keeps_(keeps) {}
  bool keeps_types(NodeId) const override { return keeps_; }

 private:
  bool keeps_;
};

/// Gives an input another type.
class Typer : public Copier {
 public:
  Typer(bool keeps, Type type) : Copier(keeps), type_(std::move(type)) {}
  Type input_type(const Graph& from, std::size_t index, Builder&) override {
    return index == 0 ? type_ : from.type(from.main().params[index]);
  }

 private:
  Type type_;
};

std::string rebuilt(const Graph& graph, Rewriter& how) {
  const auto copy = rebuild(graph, how);
  return copy ? print(*copy) : copy.error().text();
}

class KeptTypes : public testing::TestWithParam<const char*> {};

TEST_P(KeptTypes, AreThoseThatInferenceGives) {
  const auto graph = parse(GetParam());
  ASSERT_TRUE(graph) << graph.error().text();
  Copier keeps(true), infers(false);
  EXPECT_EQ(rebuilt(*graph, keeps), rebuilt(*graph, infers));
  EXPECT_EQ(rebuilt(*graph, keeps), print(*graph));
  for (const Type& type : {Type::tensor(Elem::f32, {Dim(4), Dim(6)}), Type::tensor(Elem::f32, {Dim(4)})}) {
    Typer keeps_typed(true, type), infers_typed(false, type);
    EXPECT_EQ(rebuilt(*graph, keeps_typed), rebuilt(*graph, infers_typed));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Graphs, KeptTypes,
    testing::Values("graph g(%x: f32[N,6]) { %y = Softmax(%x) %z = LayerNormalization(%y, f32[6] [1, 1, 1, 1, 1, 1]) "
                    "return z = %z }",
                    "graph g(%x: f32[N,6]) { %s = Shape(%x) %h = Slice(%s, i64[1] [0], i64[1] [1]) %z = Expand(f32[] "
                    "1, %h) return z = %z }",
                    "graph g(%x: f32[N,6], %k: i64[2]) { %s = Reshape(%x, %k) %t = Add(%s, %s) return t = %t }",
                    "graph g(%x: f32[N,6]) { %i = NonZero(%x) %t = Neg(%i) return t = %t }",
                    "graph g(%x: f32[N,6], %c: bool[]) { %r = If(%c) then_branch() { yield %x } else_branch() { %a = "
                    "ReduceSum(%x) yield %a } "
                    "%n = Neg(%r) return n = %n }",
                    "graph g(%x: f32[N,6], %n: i64[]) { %r = Loop(%n, _, %x) body(%i, %c, %v) { %w = Concat(%v, %x) "
                    "{axis = 0} yield %c, %w } "
                    "%m = Neg(%r) return m = %m }",
                    "graph g(%x: f32[N,6], %y: f32[M,6]) { %s = Add(%x, %y) %t = Relu(%s) return t = %t }"));

}  // namespace
}  // namespace frazil::test
