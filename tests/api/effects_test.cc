#include <string>
#include <vector>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Operators of the program whose effects count, and values of unknown rank, which pass by reference.
namespace frazil::test {
namespace {

/// The values that nodes of the operator Note have noted, in order. Tests run one after the other.
std::vector<std::string>& notes() {
  static auto& notes = *new std::vector<std::string>;
  return notes;
}

void register_effects() {
  static const bool once = [] {
    HostOperator note{.name = "Note", .domain = "effects.test", .pure = false, .effects = true};
    note.attributes = {{"as", ""}};
    note.types = [](const NodeAttributes&, std::span<const TensorType> in) { return std::vector{in[0]}; };
    note.run = [](const NodeAttributes& attributes, std::span<const Array> in) {
      notes().push_back(attributes.text("as") + std::to_string(static_cast<int>(in[0].number(0))));
      return std::vector{in[0]};
    };
    register_operator(note);
    HostOperator pass{.name = "Pass", .domain = "effects.test", .pure = false};
    pass.types = [](const NodeAttributes&, std::span<const TensorType> in) {
      return std::vector{TensorType{.dtype = in[0].dtype, .dims = {}, .ranked = false}};
    };
    pass.start = [](HostStart call, HostReply reply) { reply.give(std::move(call.inputs)); };
    register_operator(pass);
    return true;
  }();
  static_cast<void>(once);
}

class Effects : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { register_effects(); }
};

/// Notes are taken in the order of the graph, each as often as its body runs, although nothing uses their results.
TEST_P(Effects, HappenInOrderWithoutUses) {
  const Model model = Model::from_text(R"(
    graph g(%x: f32[1], %on: bool[]) {
      %a = effects.test::Note(%x) {as = "a"}
      %y = Mul(%x, f32[1] [10])
      %b = effects.test::Note(%y) {as = "b"}
      %same = effects.test::Note(%y) {as = "b"}
      %r = If(%on) then_branch() {
        %c = effects.test::Note(%y) {as = "then"}
        yield %x
      } else_branch() {
        %c = effects.test::Note(%x) {as = "else"}
        yield %x
      }
      %unused = If(%on) then_branch() {
        %c = effects.test::Note(%y) {as = "inner"}
        yield %x
      } else_branch() {
        yield %y
      }
      %z = Loop(i64[] 3, _, %x) body(%i, %go, %v) {
        %w = Add(%v, f32[1] [1])
        %n = effects.test::Note(%w) {as = "loop"}
        %outer = effects.test::Note(%y) {as = "outer"}
        yield %go, %w
      }
      %last = effects.test::Note(%x) {as = "last"}
      return y = %y
    })");
  Session session = model.open({.tier = GetParam()});
  const std::vector<std::string> on{"a2",      "b20",   "b20",     "then20", "inner20", "loop3",
                                    "outer20", "loop4", "outer20", "loop5",  "outer20", "last2"};
  const std::vector<std::string> off{"a3",    "b30",     "b30",   "else3",   "loop4", "outer30",
                                     "loop5", "outer30", "loop6", "outer30", "last3"};
  for (int round = 0; round < 3; ++round) {
    notes().clear();
    session.run({{"x", Array::of<float>({1}, {2})}, {"on", Array::scalar(true)}});
    EXPECT_EQ(notes(), on);
    notes().clear();
    session.run({{"x", Array::of<float>({1}, {3})}, {"on", Array::scalar(false)}});
    EXPECT_EQ(notes(), off);
  }
}

/// A value of unknown rank keeps its memory from the input to the result.
TEST_P(Effects, ValuesOfUnknownRankPassByReference) {
  GraphBuilder graph("g");
  const Term x = graph.input("x", Dtype::f32), more = graph.input("more", Dtype::boolean, {});
  const Term a = graph.op("effects.test.Pass", {x});
  const auto branch = [&](Body& body) { return std::vector{body.op("effects.test.Pass", {a})}; };
  const Term chosen = graph.if_else(more, branch, [&](Body&) { return std::vector{x}; }).front();
  const auto carry = [](Body& body, std::span<const Term> params) {
    return std::vector{params[1], body.op("effects.test.Pass", {params[2]})};
  };
  graph.output("y", graph.loop(graph.scalar(std::int64_t{3}), {}, {chosen}, carry).front());
  Session session = graph.build().open({.tier = GetParam()});
  for (const bool on : {true, false, true}) {
    for (const Sizes& sizes : {Sizes{3, 5}, Sizes{7}, Sizes{0, 2}, Sizes{}}) {
      Array given(Dtype::f32, sizes);
      const auto values = given.mutable_values<float>();
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 0.5F;
      const Array got = session.run({{"x", given}, {"more", Array::scalar(on)}})["y"];
      EXPECT_EQ(got.sizes(), sizes);
      EXPECT_THAT(got.values<float>(), testing::ElementsAreArray(values));
      if (GetParam() != "ref") EXPECT_EQ(got.values<float>().data(), values.data());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, Effects, testing::Values("auto", "0", "1", "2", "ref"));

TEST(EffectsOperator, IsNotPure) {
  HostOperator op{.name = "Contradiction", .domain = "effects.test", .effects = true};
  op.types = [](const NodeAttributes&, std::span<const TensorType> in) { return std::vector{in[0]}; };
  op.run = [](const NodeAttributes&, std::span<const Array> in) { return std::vector{in[0]}; };
  try {
    register_operator(op);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("an operator with effects is not pure"));
  }
}

}  // namespace
}  // namespace frazil::test
