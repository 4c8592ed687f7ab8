#include <gtest/gtest.h>

#include "ir/edit/builder.h"
#include "ir/text/text.h"
#include "ops/core/registry.h"
#include "ops/elementwise/math.h"

namespace frazil {
namespace {

std::uint64_t hash_of(std::string_view text) {
  link_operators();
  const auto graph = parse(text);
  if (!graph) ADD_FAILURE() << graph.error().text() << "\n" << text;
  return graph ? structural_hash(*graph) : 0;
}

struct Pair {
  const char* name;
  bool equal;
  const char *a, *b;
};

const Pair kPairs[] = {
    {"names", true, "graph g(%x: f32[N]) { %y = Relu(%x) \"a\" return y = %y }",
     "graph h(%in: f32[N]) { %1 = Relu(%in) \"b\" return out = %1 }"},
    {"symbol_names", true, "graph g(%x: f32[M + 2*N], %y: f32[N]) { return x = %x, y = %y }",
     "graph g(%x: f32[A + 2*Z], %y: f32[Z]) { return x = %x, y = %y }"},
    {"symbol_names_swapped", true, "graph g(%x: f32[M + 2*N], %y: f32[N]) { return x = %x, y = %y }",
     "graph g(%x: f32[N + 2*M], %y: f32[M]) { return x = %x, y = %y }"},
    {"symbols_wired_otherwise", false, "graph g(%x: f32[M + 2*N], %y: f32[N]) { return x = %x, y = %y }",
     "graph g(%x: f32[M + 2*N], %y: f32[M]) { return x = %x, y = %y }"},
    {"bounds", false, "graph g(%x: f32[N]) { return x = %x }", "dim N in 1..4 graph g(%x: f32[N]) { return x = %x }"},
    {"operators", false, "graph g(%x: f32[N]) { %y = Relu(%x) return y = %y }",
     "graph g(%x: f32[N]) { %y = Neg(%x) return y = %y }"},
    {"attributes", false, "graph g(%x: f32[N,N]) { %y = Softmax(%x) return y = %y }",
     "graph g(%x: f32[N,N]) { %y = Softmax(%x) {axis = 0} return y = %y }"},
    {"defaults_written_out", true, "graph g(%x: f32[N,N]) { %y = Softmax(%x) return y = %y }",
     "graph g(%x: f32[N,N]) { %y = Softmax(%x) {axis = -1} return y = %y }"},
    {"wiring", false, "graph g(%x: f32[N], %y: f32[N]) { %z = Sub(%x, %y) return z = %z }",
     "graph g(%x: f32[N], %y: f32[N]) { %z = Sub(%y, %x) return z = %z }"},
    {"results", false, "graph g(%x: f32[N], %y: f32[N]) { return a = %x, b = %y }",
     "graph g(%x: f32[N], %y: f32[N]) { return a = %y, b = %x }"},
    {"element_types", false, "graph g(%x: f32[N]) { return x = %x }", "graph g(%x: f64[N]) { return x = %x }"},
    {"constants", false, "graph g(%x: f32[N]) { %y = Mul(%x, f32[] 2) return y = %y }",
     "graph g(%x: f32[N]) { %y = Mul(%x, f32[] 3) return y = %y }"},
    {"constants_shape", false, "graph g(%x: f32[N]) { %y = Mul(%x, f32[] 2) return y = %y }",
     "graph g(%x: f32[N]) { %y = Mul(%x, f32[1] 2) return y = %y }"},
    {"constants_shared", true, "graph g(%x: f32[N]) { %y = Clip(%x, f32[] 2, f32[] 2) return y = %y }",
     "graph g(%x: f32[N]) { %y = Clip(%x, f32[] 2.0, f32[] 0x40000000) return y = %y }"},
    {"absent_inputs", false, "graph g(%x: f32[N]) { %y = Clip(%x, _, f32[] 2) return y = %y }",
     "graph g(%x: f32[N]) { %y = Clip(%x, f32[] 2) return y = %y }"},
    {"blocks", false,
     "graph g(%c: bool[], %x: f32[1], %y: f32[1]) { %z = If(%c) then_branch() { yield %x } else_branch() { yield %y } "
     "return z = %z }",
     "graph g(%c: bool[], %x: f32[1], %y: f32[1]) { %z = If(%c) then_branch() { yield %y } else_branch() { yield %x } "
     "return z = %z }"},
    {"input_defaults", false, "graph g(%x: f32[] = 1) { return x = %x }", "graph g(%x: f32[] = 2) { return x = %x }"},
};

class HashPair : public testing::TestWithParam<Pair> {};

TEST_P(HashPair, Compares) {
  const Pair& p = GetParam();
  EXPECT_EQ(hash_of(p.a) == hash_of(p.b), p.equal);
}

INSTANTIATE_TEST_SUITE_P(All, HashPair, testing::ValuesIn(kPairs), [](const auto& p) { return p.param.name; });

TEST(Hash, LargeConstantsByIdentity) {
  const auto with = [](const Tensor& t) {
    Graph graph;
    Builder b(graph);
    b.output("y", ops::Add(b.input("x", Type::tensor(Elem::f32, {1})), b.constant(t)));
    return structural_hash(graph);
  };
  const auto filled = [](std::int64_t count) {
    Tensor t = Tensor::make(Elem::f32, {count}).value();
    std::ranges::fill(t.as_mutable<float>(), 1.0f);
    return t;
  };
  const Tensor large = filled(4096), twin = filled(4096);
  EXPECT_EQ(with(large), with(large));
  EXPECT_NE(with(large), with(twin));
  EXPECT_EQ(with(filled(100)), with(filled(100)));
}

}  // namespace
}  // namespace frazil
