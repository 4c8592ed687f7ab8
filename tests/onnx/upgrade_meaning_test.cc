// The results of nodes of older opsets on the reference executor.
#include <functional>
#include <limits>

#include "import_testing.h"
#include "onnx/upgrade/upgrade.h"
#include "ref/ref.h"

namespace frazil::test {
namespace {

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

struct MeaningCase {
  const char* what;
  std::int64_t opset;
  std::string op;
  std::vector<Message> attrs;
  std::vector<Tensor> in;
  Tensor gives;
};

Tensor row(const Floats& values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, std::span<const float>(values));
}
Tensor floats(Sizes sizes, const Floats& values) {
  return Tensor::of<float>(std::move(sizes), std::span<const float>(values));
}
Tensor ints(const Ints& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, std::span<const std::int64_t>(values));
}

/// One node whose inputs are constants; an undefined tensor is an absent input.
Result<Graph> import_case(const MeaningCase& c) {
  GraphSpec spec{.nodes = {{c.op, {}, {"z"}, c.attrs, "n"}}, .inputs = {}, .outputs = {value("z")}};
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const std::string name = c.in[i].defined() ? fmt::format("i{}", i) : "";
    spec.nodes[0].inputs.push_back(name);
    if (c.in[i].defined()) spec.initializers.push_back(initializer(name, c.in[i]));
  }
  return import(spec, {.opset = c.opset});
}

const Tensor kNone, kX = row({-1, 0, 2}), kPixels = floats({1, 1, 2, 2}, {1, 2, 3, 4});

const MeaningCase kCases[] = {
    {"Selu's constants were shorter", 1, "Selu", {}, {row({0, 2})}, row({0, 1.0507f * 2})},
    {"a constant of strings",
     12,
     "Constant",
     {text(attribute("value_strings", 8), 9, "a")},
     {},
     Tensor::of<std::string>({1}, {"a"})},
    {"Affine", 1, "Affine", {attr("alpha", 2.0f), attr("beta", 1.0f)}, {kX}, row({-1, 1, 5})},
    {"ScaledTanh", 1, "ScaledTanh", {attr("alpha", 2.0f), attr("beta", 100.0f)}, {kX}, row({-2, 0, 2})},
    {"ImageScaler", 1, "ImageScaler", {attr("scale", 2.0f)}, {kPixels}, floats({1, 1, 2, 2}, {2, 4, 6, 8})},
    {"ImageScaler with a bias",
     1,
     "ImageScaler",
     {attr("bias", Floats{10})},
     {kPixels},
     floats({1, 1, 2, 2}, {11, 12, 13, 14})},
    {"Concat's axis was 1", 1, "Concat", {}, {floats({1, 2}, {1, 2}), floats({1, 1}, {3})}, floats({1, 3}, {1, 2, 3})},
    {"Tile along one axis",
     1,
     "Tile",
     {},
     {floats({1, 2}, {1, 2}), Tensor::scalar(2.0f), Tensor::scalar(1.0f)},
     floats({1, 4}, {1, 2, 1, 2})},
    {"Upsample by two numbers",
     1,
     "Upsample",
     {attr("height_scale", 1.0f), attr("width_scale", 2.0f)},
     {kPixels},
     floats({1, 1, 2, 4}, {1, 1, 2, 2, 3, 3, 4, 4})},
    {"Upsample by an attribute",
     7,
     "Upsample",
     {attr("scales", Floats{1, 1, 2, 1})},
     {kPixels},
     floats({1, 1, 4, 2}, {1, 2, 1, 2, 3, 4, 3, 4})},
    {"Resize took scales",
     10,
     "Resize",
     {},
     {kPixels, row({1, 1, 1, 2})},
     floats({1, 1, 2, 4}, {1, 1, 2, 2, 3, 3, 4, 4})},
    {"empty operands of Resize are absent",
     11,
     "Resize",
     {},
     {kPixels, row({}), row({}), ints({1, 1, 2, 1})},
     floats({1, 1, 2, 1}, {1, 3})},
    {"GlobalLpPool's p was a float", 1, "GlobalLpPool", {attr("p", 1.0f)}, {kPixels}, floats({1, 1, 1, 1}, {10})},
    {"LpPool's p was a float",
     1,
     "LpPool",
     {attr("p", 1.0f), attr("kernel_shape", Ints{2, 1})},
     {kPixels},
     floats({1, 1, 1, 2}, {4, 6})},
};

TEST(UpgradeMeaning, OfEachRule) {
  for (const MeaningCase& c : kCases) {
    SCOPED_TRACE(c.what);
    const auto graph = import_case(c);
    EXPECT_TRUE(graph.has_value()) << graph.error().text();
    if (!graph) continue;
    const auto out = run_reference(*graph, {});
    EXPECT_TRUE(out.has_value()) << out.error().text();
    if (out) {
      EXPECT_TRUE(identical((*out)[0].tensor(), c.gives)) << summary((*out)[0].tensor());
    }
  }
}

/// Operators that this build lacks: they are converted to the newest form for programs that register them.
TEST(UpgradeMeaning, OfOperatorsThatMayBeRegistered) {
  const auto upgraded = [](std::string_view op, std::string_view domain, std::int64_t opset, Elem elem,
                           std::vector<onnx::NamedAttr> attrs, const std::function<void(const onnx::Draft&)>& check) {
    Graph g;
    Builder builder(g, Graph::kMain);
    onnx::Draft draft(builder, op, domain, opset);
    draft.in = {builder.input("x", Type::tensor(elem, {2})).value};
    draft.attrs = std::move(attrs);
    const Status done = onnx::upgrade(draft);
    EXPECT_TRUE(done) << op << ": " << done.error().text();
    check(draft);
  };
  const auto expect = [](const onnx::Draft& d, std::string_view name, const AttrValue& value) {
    const auto found = std::ranges::find(d.attrs, name, &onnx::NamedAttr::name);
    EXPECT_TRUE(found != d.attrs.end() && found->plain() && same(*found->plain(), value)) << d.op << " " << name;
  };
  const std::pair<std::string, std::string> modes[] = {
      {"bilinear", "linear"}, {"bicubic", "cubic"}, {"nearest", "nearest"}};
  for (const auto& [old, now] : modes) {
    upgraded("GridSample", "", 16, Elem::f32, {{"mode", AttrValue(old)}},
             [&](const auto& d) { expect(d, "mode", AttrValue(now)); });
  }
  upgraded("RoiAlign", "", 10, Elem::f32, {}, [&](const auto& d) {
    expect(d, "coordinate_transformation_mode", AttrValue(std::string("output_half_pixel")));
  });
  upgraded("DFT", "", 17, Elem::f32, {{"axis", AttrValue(std::int64_t{2})}}, [](const auto& d) {
    ASSERT_TRUE(d.constant(2) != nullptr);
    EXPECT_EQ(d.constant(2)->integer_at(0), 2);
    EXPECT_FALSE(d.has_attr("axis"));
  });
  const Strings classes{"a", "b"};
  upgraded("LabelEncoder", "ai.onnx.ml", 1, Elem::string, {{"classes_strings", AttrValue(classes)}},
           [&](const auto& d) {
             expect(d, "keys_strings", AttrValue(classes));
             expect(d, "values_int64s", AttrValue(Ints{0, 1}));
           });
  upgraded("LabelEncoder", "ai.onnx.ml", 1, Elem::i64, {{"classes_strings", AttrValue(classes)}}, [&](const auto& d) {
    expect(d, "values_strings", AttrValue(classes));
    expect(d, "keys_int64s", AttrValue(Ints{0, 1}));
  });
}

TEST(UpgradeMeaning, Faults) {
  const std::pair<MeaningCase, std::string> faults[] = {
      {{"", 1, "Tile", {}, {kX, ints({1, 2}), Tensor::scalar(0.0f)}, {}}, "input 1 is i64[2], expected a scalar"},
      {{"", 1, "Tile", {}, {kX, Tensor::scalar(2.0f), Tensor::scalar(1.0f)}, {}}, "axis 1 is outside [-1, 1)"},
      {{"", 1, "Tile", {}, {Tensor::scalar(1.0f), Tensor::scalar(2.0f), Tensor::scalar(0.0f)}, {}}, "no axis"},
      {{"", 1, "Tile", {}, {kX, kNone, Tensor::scalar(0.0f)}, {}}, "input 1 is missing"},
      {{"", 1, "Upsample", {attr("width_scale", 2.0f)}, {kPixels}, {}}, "'height_scale'"},
      {{"", 7, "Upsample", {}, {kPixels}, {}}, "attribute 'scales' is missing"},
      {{"", 10, "Resize", {}, {kPixels}, {}}, "the scales, is missing"},
      {{"", 10, "Resize", {}, {kNone, row({1})}, {}}, "input 'X' is missing"},
      {{"", 1, "GlobalLpPool", {attr("p", 1.5f)}, {kPixels}, {}}, "p = 1.5 is not a whole number"},
      {{"", 1, "LpPool", {attr("p", std::numeric_limits<float>::quiet_NaN())}, {kPixels}, {}}, "p = nan"},
      {{"", 1, "LpPool", {attr("p", 1e30f)}, {kPixels}, {}}, "p = 1e+30"},
      {{"", 1, "Cast", {attr("to", "REAL")}, {kX}, {}}, "'REAL'"},
      {{"", 1, "Cast", {}, {kX}, {}}, "attribute 'to' is missing"},
      {{"", 1, "TopK", {}, {kX}, {}}, "attribute 'k' is missing"},
      {{"", 18, "GroupNormalization", {attr("num_groups", 0)}, {kPixels, row({1}), row({1})}, {}}, "'num_groups'"},
  };
  for (const auto& [c, says] : faults) {
    SCOPED_TRACE(c.op + ": " + says);
    const auto graph = import_case(c);
    EXPECT_FALSE(graph.has_value());
    if (graph) continue;
    EXPECT_THAT(graph.error().text(), testing::HasSubstr("node 'n' ("));
    EXPECT_THAT(graph.error().text(), testing::HasSubstr(says));
  }
}

}  // namespace
}  // namespace frazil::test
