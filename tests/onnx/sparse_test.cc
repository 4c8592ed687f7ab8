// Sparse tensors, which become dense ones.
#include "import_testing.h"

namespace frazil::test {
namespace {

using I64 = std::vector<std::int64_t>;

Message indices(const Sizes& sizes, const I64& values) {
  return initializer("", Tensor::of<std::int64_t>(sizes, std::span<const std::int64_t>(values)));
}
Message sparse(const Message& values, const Message& index, const I64& dims) {
  Message m = text({}, 1, values);
  if (!index.empty()) m = text(m, 2, index);
  for (const std::int64_t d : dims) m = number(m, 3, d);
  return m;
}
const Message kTwo = initializer("w", Tensor::of<float>({2}, {5, 7}));

/// The initializer w as the output of a graph.
Result<Graph> give(const Message& tensor, const std::vector<Message>& inputs = {}) {
  return import({.nodes = {}, .inputs = inputs, .outputs = {value("w")}, .sparse = {tensor}});
}

TEST(ImportSparse, BecomesDense) {
  struct Case {
    Message tensor;
    Tensor dense;
  };
  Tensor texts = Tensor::make(Elem::string, {3}).value();
  texts.as_mutable<std::string>()[1] = "a";
  const Tensor flags = Tensor::of<bool>({3}, {false, true, false});
  const Case cases[] = {
      {sparse(kTwo, indices({2, 2}, {0, 1, 1, 2}), {2, 3}), Tensor::of<float>({2, 3}, {0, 5, 0, 0, 0, 7})},
      {sparse(kTwo, indices({2}, {1, 5}), {2, 3}), Tensor::of<float>({2, 3}, {0, 5, 0, 0, 0, 7})},
      {sparse(kTwo, indices({2}, {0, 3}), {4}), Tensor::of<float>({4}, {5, 0, 0, 7})},
      {sparse(kTwo, indices({2, 1}, {0, 3}), {4}), Tensor::of<float>({4}, {5, 0, 0, 7})},
      {sparse(initializer("w", Tensor::of<float>({0}, {})), indices({0}, {}), {2}), Tensor::of<float>({2}, {0, 0})},
      {sparse(initializer("w", Tensor::of<float>({0}, {})), indices({0, 1}, {}), {2}), Tensor::of<float>({2}, {0, 0})},
      {sparse(initializer("w", Tensor::of<float>({0}, {})), {}, {2, 0}), Tensor::of<float>({2, 0}, {})},
      {sparse(initializer("w", Tensor::of<bool>({1}, {true})), indices({1}, {1}), {3}), flags},
      {sparse(initializer("w", Tensor::of<std::string>({1}, {"a"})), indices({1}, {1}), {3}), texts},
  };
  for (const Case& c : cases) {
    const Graph g = imported(give(c.tensor));
    const Tensor& dense = g.constant(g.main().results.at(0))->tensor;
    EXPECT_TRUE(identical(dense, c.dense)) << summary(dense) << ", expected " << summary(c.dense);
  }
}

TEST(ImportSparse, Faults) {
  struct Case {
    Message tensor;
    std::string says;
  };
  const Case cases[] = {
      {sparse(kTwo, indices({2}, {5, 1}), {2, 3}), "index 1 of it is not in ascending order"},
      {sparse(kTwo, indices({2, 2}, {1, 2, 0, 1}), {2, 3}), "index 1 of it is not in ascending order"},
      {sparse(kTwo, indices({2}, {1, 1}), {2, 3}), "index 1 of it repeats the one before"},
      {sparse(kTwo, indices({2}, {0, 6}), {2, 3}), "index 1 of it lies outside f32[2,3]"},
      {sparse(kTwo, indices({2}, {-1, 0}), {2, 3}), "index 0 of it lies outside f32[2,3]"},
      {sparse(kTwo, indices({2, 2}, {0, 1, 0, 3}), {2, 3}), "index 1 of it lies outside f32[2,3]"},
      {sparse(kTwo, indices({3}, {0, 1, 2}), {2, 3}), "its indices are i64[3], expected i64[2] or i64[2,2]"},
      {sparse(kTwo, indices({2, 3}, {0, 0, 0, 1, 1, 1}), {2, 3}), "its indices are i64[2,3]"},
      {sparse(kTwo, initializer("", Tensor::of<std::int32_t>({2}, {0, 1})), {2, 3}), "its indices are i32[2]"},
      {sparse(kTwo, {}, {2, 3}), "it has no data type"},
      {sparse(initializer("w", Tensor::of<float>({1, 2}, {5, 7})), indices({2}, {0, 1}), {2, 3}), "expected one axis"},
      {sparse(kTwo, indices({2}, {0, 1}), {-2, 3}), "negative"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.says);
    expect_fault(give(c.tensor), Code::bad_model, {"tensor 'w'", c.says});
  }
}

TEST(ImportSparse, DefaultsOfInputs) {
  const Message tensor = sparse(kTwo, indices({2}, {0, 3}), {4});
  const Graph g = imported(give(tensor, {f32("w", {"4"})}));
  EXPECT_THAT(g.input_names(), testing::ElementsAre("w"));
  ASSERT_NE(g.input_default(0), nullptr);
  EXPECT_TRUE(identical(*g.input_default(0), Tensor::of<float>({4}, {5, 0, 0, 7})));
  expect_fault(give(tensor, {f32("w", {"5"})}), Code::bad_model,
               {"input 'w': its initializer is f32[4], expected f32[5]"});
  GraphSpec both{.nodes = {}, .inputs = {}, .outputs = {value("w")}, .initializers = {kTwo}, .sparse = {tensor}};
  expect_fault(import(both), Code::bad_model, {"'w' is defined already"});
}

TEST(ImportSparse, Attributes) {
  const auto constant = [](const Message& a) {
    return import({.nodes = {{"Constant", {}, {"c"}, {a}, "k"}}, .inputs = {}, .outputs = {value("c")}});
  };
  const Message good = sparse(kTwo, indices({2}, {0, 3}), {4});
  const Graph g = imported(constant(text(attribute("sparse_value", 11), 22, good)));
  EXPECT_TRUE(identical(g.constant(g.main().results.at(0))->tensor, Tensor::of<float>({4}, {5, 0, 0, 7})));
  expect_fault(constant(text(attribute("sparse_value", 11), 22, sparse(kTwo, indices({2}, {3, 0}), {4}))),
               Code::bad_model, {"node 'k' (Constant)", "attribute 'sparse_value'", "ascending order"});
}

}  // namespace
}  // namespace frazil::test
