// Every truncation and every single-bit flip of small models: one clear error, or a graph that runs or fails alike on
// both tiers.
#include <map>
#include <set>

#include "error/refusals.h"
#include "ir/graph/verify.h"
#include "onnx/import_testing.h"

namespace frazil::test {
namespace {

using Ints = std::vector<std::int64_t>;

Message perceptron() {
  return model(graph(
      {.nodes = {{"Gemm", {"x", "w", "b"}, {"h"}, {}, "in"}, {"Relu", {"h"}, {"r"}}, {"MatMul", {"r", "v"}, {"y"}}},
       .inputs = {f32("x", {"N", "2"})},
       .outputs = {f32("y", {"N", "1"})},
       .initializers = {initializer("w", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})),
                        initializer("b", Tensor::of<float>({3}, {1, 2, 3})),
                        initializer("v", Tensor::of<float>({3, 1}, {1, -1, 1}))}}));
}

Message choice() {
  const Message yes = graph({.nodes = {{"Neg", {"x"}, {"a"}}}, .inputs = {}, .outputs = {f32("a", {"N"})}});
  const Message no = graph({.nodes = {{"Abs", {"x"}, {"a"}}}, .inputs = {}, .outputs = {f32("a", {"N"})}});
  return model(
      graph({.nodes = {{"If", {"c"}, {"y"}, {graph_attr("then_branch", yes), graph_attr("else_branch", no)}, "choose"}},
             .inputs = {value("c", tensor_type(Elem::boolean, {})), f32("x", {"N"})},
             .outputs = {f32("y", {"N"})}}));
}

Message loop() {
  const Message body = graph(
      {.nodes = {{"Add", {"v", "x"}, {"n"}}, {"Identity", {"c"}, {"d"}}, {"Mul", {"n", "n"}, {"s"}}},
       .inputs = {value("i", tensor_type(Elem::i64, {})), value("c", tensor_type(Elem::boolean, {})), f32("v", {"2"})},
       .outputs = {value("d"), value("n"), value("s")}});
  return model(graph({.nodes = {{"Loop", {"m", "", "x"}, {"last", "all"}, {graph_attr("body", body)}, "repeat"}},
                      .inputs = {value("m", tensor_type(Elem::i64, {})), f32("x", {"2"})},
                      .outputs = {f32("last", {"2"}), value("all", unranked_type(Elem::f32))}}));
}

Message calls() {
  const FunctionSpec twice{
      .name = "Twice",
      .inputs = {"a"},
      .outputs = {"b"},
      .attributes = {"alpha"},
      .nodes = {{"LeakyRelu", {"a"}, {"t"}, {ref_attr("alpha", 1, "alpha")}}, {"Add", {"t", "t"}, {"b"}}}};
  return model(graph({.nodes = {{"Twice", {"x"}, {"y"}, {attr("alpha", 0.5f)}, "call", "local"},
                                {"Twice", {"y"}, {"z"}, {attr("alpha", 0.1f)}, "again", "local"}},
                      .inputs = {f32("x", {"N", "M"})},
                      .outputs = {f32("z", {"N", "M"})}}),
               {.functions = {twice}});
}

Message quantised() {
  return model(graph({.nodes = {{"MatMulInteger", {"x", "w", "zx", "zw"}, {"p"}},
                                {"Cast", {"p"}, {"f"}, {attr("to", 1)}},
                                {"Mul", {"f", "s"}, {"y"}}},
                      .inputs = {value("x", tensor_type(Elem::u8, {"N", "2"}))},
                      .outputs = {f32("y", {"N", "2"})},
                      .initializers = {initializer("w", Tensor::of<std::int8_t>({2, 2}, {1, -2, 3, -4})),
                                       initializer("zx", Tensor::of<std::uint8_t>({}, {3})),
                                       initializer("zw", Tensor::of<std::int8_t>({}, {1})),
                                       initializer("s", Tensor::of<float>({}, {0.5f}))}}));
}

Message sequences() {
  return model(graph({.nodes = {{"SplitToSequence", {"x", "n"}, {"s"}, {attr("axis", 0)}},
                                {"SequenceAt", {"s", "i"}, {"a"}},
                                {"SequenceInsert", {"s", "a"}, {"t"}},
                                {"ConcatFromSequence", {"t"}, {"y"}, {attr("axis", 0)}}},
                      .inputs = {f32("x", {"4"}), value("i", tensor_type(Elem::i64, {}))},
                      .outputs = {value("y", unranked_type(Elem::f32))},
                      .initializers = {initializer("n", Tensor::of<std::int64_t>({2}, {1, 3}))}}));
}

Message shapes() {
  return model(graph({.nodes = {{"Shape", {"x"}, {"s"}},
                                {"Slice", {"s", "a", "b"}, {"t"}},
                                {"Concat", {"t", "m"}, {"u"}, {attr("axis", 0)}},
                                {"Reshape", {"x", "u"}, {"r"}},
                                {"Pad", {"r", "p"}, {"q"}, {attr("mode", "edge")}},
                                {"Conv", {"q", "w"}, {"y"}, {attr("strides", Ints{2}), attr("pads", Ints{1, 0})}}},
                      .inputs = {f32("x", {"1", "1", "N", "2"})},
                      .outputs = {f32("y", {"1", "1", "K"})},
                      .initializers = {initializer("a", Tensor::of<std::int64_t>({1}, {0})),
                                       initializer("b", Tensor::of<std::int64_t>({1}, {2})),
                                       initializer("m", Tensor::of<std::int64_t>({1}, {-1})),
                                       initializer("p", Tensor::of<std::int64_t>({6}, {0, 0, 1, 0, 0, 1})),
                                       initializer("w", Tensor::of<float>({1, 1, 2}, {1, -1}))}}));
}

const std::map<std::string, Message (*)()> kModels = {
    {"perceptron", perceptron}, {"choice", choice},       {"loop", loop},    {"calls", calls},
    {"quantised", quantised},   {"sequences", sequences}, {"shapes", shapes}};

/// Sets element i to 1, or to small bits for non-numeric types.
void set_one(Elem elem, std::byte* data, std::int64_t i) {
  switch (elem) {
    case Elem::string: return;
    case Elem::f32: reinterpret_cast<float*>(data)[i] = 1; return;
    case Elem::f64: reinterpret_cast<double*>(data)[i] = 1; return;
    default: std::fill_n(data + i * static_cast<std::int64_t>(byte_size(elem)), byte_size(elem), std::byte{0});
  }
  data[i * static_cast<std::int64_t>(byte_size(elem))] = std::byte{1};
}

/// A small value of the type; nullopt if it has none.
std::optional<Datum> small_value(const Type& type) {
  if (type.kind == Type::Kind::sequence) return Datum(std::make_shared<const Sequence>());
  if (type.kind == Type::Kind::map) return Datum(std::make_shared<const MapValue>());
  if (!type.is_tensor()) return Datum();
  Sizes sizes;
  for (Dim d : type.shape) sizes.push_back(d.is_const() ? d.value() : 2);
  const auto bytes = byte_count(type.elem, sizes, 1 << 16);
  auto tensor = bytes ? Tensor::make(type.elem, sizes) : std::unexpected(bytes.error());
  if (!tensor) return std::nullopt;
  for (std::int64_t i = 0; i < tensor->count(); ++i) set_one(type.elem, tensor->mutable_data(), i);
  return Datum(std::move(*tensor));
}

std::optional<std::vector<Datum>> small_inputs(const Graph& graph) {
  std::vector<Datum> values;
  for (Value v : graph.main().params) {
    auto value = small_value(graph.type(v));
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
  }
  return values;
}

/// The outcomes of the damaged copies of one model.
struct Tally {
  std::size_t refused = 0, ran = 0, failed = 0;
  std::set<std::string> complaints;
};

bool is_allowed(Code code) {
  return code == Code::bad_model || code == Code::unsupported || code == Code::limit || code == Code::bad_input;
}

/// Nullopt if the outcome is acceptable, otherwise a description.
std::optional<std::string> complaint(const Message& bytes, Tally& tally) {
  const auto graph = import(bytes);
  const auto told = [](const Fault& f) { return f.message.find('\n') == f.message.npos && !f.message.empty(); };
  if (!graph) {
    ++tally.refused;
    const Fault& f = graph.error();
    if (is_allowed(f.code) && told(f)) return std::nullopt;
    return fmt::format("import: {}: {}", name_of(f.code), f.message);
  }
  if (const Status s = verify(*graph, 3); !s) return fmt::format("verify: {}", s.error().text());
  const auto inputs = small_inputs(*graph);
  if (!inputs) return std::nullopt;
  const Attempt tier0 = run_once(*graph, *inputs, false), ref = run_once(*graph, *inputs, true);
  ++(ref.ok ? tally.ran : tally.failed);
  for (const Attempt* a : {&tier0, &ref}) {
    if (!a->ok && (!is_allowed(a->code) || a->message.find('\n') != a->message.npos)) {
      return fmt::format("run: tier 0: {}; ref: {}", shown(tier0), shown(ref));
    }
  }
  const bool lacks = !tier0.ok && tier0.code == Code::unsupported;  // "only the reference executor runs it"
  if (tier0.ok == ref.ok || lacks || tier0.code == Code::limit || ref.code == Code::limit) return std::nullopt;
  return fmt::format("tiers differ: tier 0: {}; ref: {}", shown(tier0), shown(ref));
}

class DamagedModels : public testing::TestWithParam<std::string> {
 protected:
  void try_copy(const Message& bytes, std::string what) {
    if (auto wrong = complaint(bytes, tally_)) tally_.complaints.insert(*wrong + " (" + what + ")");
  }
  void expect_none() {
    std::size_t shown = 0;
    for (const std::string& c : tally_.complaints) {
      if (++shown <= 8) ADD_FAILURE() << c;
    }
    EXPECT_EQ(tally_.complaints.size(), 0u);
  }
  Message whole_ = kModels.at(GetParam())();
  Tally tally_;
};

TEST_P(DamagedModels, AreWholeToBeginWith) {
  EXPECT_LT(whole_.size(), 700u);
  try_copy(whole_, "whole");
  expect_none();
  EXPECT_EQ(tally_.ran, 1u);
}

TEST_P(DamagedModels, TruncatedAnywhere) {
  for (std::size_t cut = 0; cut < whole_.size(); ++cut) try_copy(whole_.substr(0, cut), fmt::format("cut {}", cut));
  expect_none();
  EXPECT_GT(tally_.refused, whole_.size() * 9 / 10);
}

TEST_P(DamagedModels, OneBitFlippedAnywhere) {
  for (std::size_t bit = 0; bit < 8 * whole_.size(); ++bit) {
    Message copy = whole_;
    copy[bit / 8] = static_cast<char>(copy[bit / 8] ^ (1 << (bit % 8)));
    try_copy(copy, fmt::format("bit {} of byte {}", bit % 8, bit / 8));
  }
  expect_none();
  EXPECT_GT(tally_.refused, 8 * whole_.size() / 3);
  EXPECT_GT(tally_.ran, 8 * whole_.size() / 30);
}

TEST(DamagedModel, ControlOfUnknownRankIsRefused) {
  const char* texts[] = {
      "graph g(%c: bool[...], %x: f32[1]) { %y = If(%c) then_branch() { yield %x } else_branch() { yield %x } \"bad\" "
      "return y = %y }",
      "graph g(%c: i64[...], %x: f32[1]) { %y = Loop(%c, _, %x) body(%i: i64[], %d: bool[], %v: f32[1]) { yield %d, %v "
      "} "
      "\"bad\" return y = %y }",
      "graph g(%c: bool[...], %x: f32[1]) { %y = Loop(_, %c, %x) body(%i: i64[], %d: bool[], %v: f32[1]) { yield %d, "
      "%v "
      "} \"bad\" return y = %y }",
      "graph g(%c: bool[...], %x: f32[1]) { %y = Loop(_, _, %x) body(%i: i64[], %d: bool[], %v: f32[1]) { yield %c, %v "
      "} "
      "\"bad\" return y = %y }",
  };
  for (const char* text : texts) {
    SCOPED_TRACE(text);
    expect_refused(attempt(text, {}), "known number of axes");
  }
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kModels) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, DamagedModels, testing::ValuesIn(model_names()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace frazil::test
