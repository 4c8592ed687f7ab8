// LoadOptions::lenient: files and nodes that ONNX does not allow or leaves open, and what ONNX Runtime makes of them.
#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/message_of.h"
#include "api/tiny_onnx.h"

namespace {

using namespace onnx_file;
using frazil::Array;
using frazil::Code;
using frazil::LoadOptions;
using frazil::Model;
using frazil::Sizes;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr std::int64_t kU8 = 2, kI32 = 6;

Model load_file(const std::string& file, bool lenient) {
  LoadOptions options;
  options.lenient = lenient;
  return Model::from_bytes(std::as_bytes(std::span(file)), options);
}

Array row(const std::vector<float>& values) {
  return Array::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

std::vector<float> elements_of(const Array& array) {
  return {array.values<float>().begin(), array.values<float>().end()};
}

// ---- parts of files ----

std::string raw(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}
/// A tensor of raw floats. `more` are further fields.
std::string tensor(const std::string& name, const std::vector<float>& values, const std::string& more = {}) {
  return number(1, static_cast<std::int64_t>(values.size())) + number(2, kF32) + bytes(8, name) +
         bytes(9, raw(values)) + more;
}
/// float_data with one element.
std::string typed(float value) { return bytes(4, raw({value})); }

std::string tensor_attribute(const std::string& name, const std::vector<float>& values) {
  return bytes(5, bytes(1, name) + bytes(5, tensor("", values)) + number(20, 4));
}
std::string text_attribute(const std::string& name, const std::string& text) {
  return bytes(5, bytes(1, name) + bytes(4, text) + number(20, 3));
}

/// y = op(x...) of inputs of these types, in opset 18.
std::string node_of(const std::string& op, const std::vector<std::string>& types, const std::string& more = {},
                    const std::vector<std::string>& initializers = {}, const std::string& domain = {}) {
  std::vector<std::string> names, inputs;
  for (const std::string& type : types) {
    names.push_back("x" + std::to_string(names.size()));
    inputs.push_back(port(names.back(), type));
  }
  if (!initializers.empty()) names.emplace_back("w");
  return onnx_file::model({.nodes = {node(op, names, "y", more + (domain.empty() ? "" : bytes(7, domain)))},
                           .inputs = inputs,
                           .outputs = {port("y")},
                           .initializers = initializers});
}
std::string type(const std::vector<std::string>& extents) { return type_of(kF32, extents); }

/// y = x + w for x of two elements.
std::string sum_with(const std::vector<std::string>& weights) { return node_of("Add", {type({"2"})}, "", weights); }

/// A function local.F whose one node is op(a).
std::string function(const std::string& op, const std::string& name = "F", const std::string& domain = "local") {
  const std::string body = bytes(1, name) + bytes(4, "a") + bytes(5, "b") + bytes(7, node(op, {"a"}, "b")) +
                           bytes(9, number(2, 18)) + bytes(10, domain);
  return bytes(25, body);
}
/// y = F(x) for a function of the file.
std::string call_of(const std::string& functions, const std::string& op = "F", const std::string& domain = "local",
                    const std::string& more = {}) {
  return onnx_file::model(
      {.nodes = {node(op, {"x"}, "y", bytes(7, domain) + more)}, .inputs = {f32("x", {"2"})}, .outputs = {port("y")}},
      9, 18, bytes(8, bytes(1, "local") + number(2, 1)) + functions);
}

std::string sparse(const std::vector<float>& values, const std::string& indices) {
  const std::string message = bytes(1, tensor("w", values)) + bytes(2, indices) + number(3, 2);
  return bytes(15, message);
}
/// y = x + w for a sparse w.
std::string sum_with_sparse(const std::vector<float>& values, const std::string& indices) {
  const std::string graph = bytes(1, node("Add", {"x", "w"}, "y")) + bytes(2, "g") + bytes(11, f32("x", {"2"})) +
                            bytes(12, port("y")) + sparse(values, indices);
  return number(1, 9) + bytes(8, number(2, 18)) + bytes(7, graph);
}

// ---- refused without the option ----

struct Refused {
  std::string name, file;
  std::vector<Array> inputs;
  std::vector<float> values;
  std::string strict;  ///< what the fault without the option says
  Code code = Code::bad_model;
};

std::vector<Refused> refused_files() {
  const Array x = row({1, 2});
  const std::string neg = node("Neg", {"x"}, "y");
  const std::string graph = bytes(1, neg) + bytes(2, "g") + bytes(11, f32("x", {"2"})) + bytes(12, port("y"));
  const std::string int32_indices = number(1, 1) + number(2, kI32) + number(5, 1);
  return {
      {"an initializer without a name",
       onnx_file::model(
           {.nodes = {neg}, .inputs = {f32("x", {"2"})}, .outputs = {port("y")}, .initializers = {tensor("", {1, 2})}}),
       {x},
       {-1, -2},
       "an initializer has no name"},
      {"an input without a name",
       onnx_file::model({.nodes = {neg}, .inputs = {f32("x", {"2"}), f32("", {"2"})}, .outputs = {port("y")}}),
       {x},
       {-1, -2},
       "has no name"},
      {"two initializers of one name: the last one counts",
       sum_with({tensor("w", {1, 1}), tensor("w", {5, 7})}),
       {x},
       {6, 9},
       "'w' is defined already"},
      {"raw data count beside typed data",
       sum_with({tensor("w", {5, 7}, typed(1))}),
       {x},
       {6, 9},
       "both raw and typed data"},
      {"a segment",
       sum_with({tensor("w", {5, 7}, bytes(3, number(2, 2)))}),
       {x},
       {6, 9},
       "segmented",
       Code::unsupported},
      {"a default of an input without a type",
       onnx_file::model({.nodes = {node("Add", {"x", "w"}, "y")},
                         .inputs = {f32("x", {"2"}), port("w")},
                         .outputs = {port("y")},
                         .initializers = {tensor("w", {5, 7})}}),
       {x},
       {6, 9},
       "its type is not given"},
      {"sparse indices in disorder: the last one counts",
       sum_with_sparse({5, 6, 7}, integers("", {1, 0, 1})),
       {x},
       {7, 9},
       "ascending order"},
      {"sparse indices of another type", sum_with_sparse({5}, int32_indices), {x}, {1, 7}, "its indices are i32"},
      {"a domain that is not imported",
       node_of("Gelu", {type({"2"})}, "", {}, "com.microsoft"),
       {row({0, 100})},
       {0, 100},
       "imports no opset of domain 'com.microsoft'"},
      {"ai.onnx is not imported",
       number(1, 9) + bytes(8, bytes(1, "ai.onnx.ml") + number(2, 3)) + bytes(7, graph),
       {x},
       {-1, -2},
       "imports no opset of domain 'ai.onnx'"},
      {"two functions of one name: the last one counts",
       call_of(function("Neg") + function("Abs")),
       {x},
       {1, 2},
       "is defined twice"},
      {"an unknown attribute of a function",
       call_of(function("Neg"), "F", "local", integer("odd", 1)),
       {x},
       {-1, -2},
       "no attribute 'odd'"},
      {"attributes and inputs of a Constant",
       onnx_file::model({.nodes = {node("Constant", {"x"}, "c", tensor_attribute("value", {5, 7}) + integer("odd", 1)),
                                   node("Add", {"x", "c"}, "y")},
                         .inputs = {f32("x", {"2"})},
                         .outputs = {port("y")}}),
       {x},
       {6, 9},
       "(Constant)"},
      {"an empty auto_pad",
       node_of("Conv", {type({"1", "1", "2"})}, text_attribute("auto_pad", ""),
               {number(1, 1) + number(1, 1) + number(1, 1) + number(2, kF32) + bytes(8, "w") + bytes(9, raw({3}))}),
       {Array::of<float>({1, 1, 2}, {1, 2})},
       {3, 6},
       "auto_pad ''"},
      {"axes of a scalar",
       node_of("ReduceMax", {type({}), type_of(kI64, {"1"})}),
       {Array::of<float>({}, {3}), Array::of<std::int64_t>({1}, {0})},
       {3},
       "(ReduceMax)"},
      {"a scale of two axes",
       node_of("GroupNormalization", {type({"1", "2", "1"}), type({"1", "2"}), type({"2"})}, integer("num_groups", 2)),
       {Array::of<float>({1, 2, 1}, {1, 2}), Array::of<float>({1, 2}, {9, 9}), row({3, 4})},
       {3, 4},
       "(GroupNormalization)"},
      {"an unknown attribute of LayerNormalization",
       node_of("LayerNormalization", {type({"1"}), type({"1"})}, integer("odd", 1)),
       {row({1}), row({1})},
       {0},
       "unknown attribute 'odd'"},
      {"a condition of two axes",
       node_of("Compress", {type({"2", "2"}), type_of(kBool, {"1", "2"})}),
       {Array::of<float>({2, 2}, {1, 2, 3, 4}), Array::of<bool>({1, 2}, {false, true})},
       {2},
       "(Compress)"},
  };
}

TEST(LenientFiles, RunAsInOnnxRuntime) {
  for (const Refused& c : refused_files()) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(elements_of(load_file(c.file, true).run(c.inputs)[0]), ElementsAreArray(c.values));
    EXPECT_THAT(message_of([&] { load_file(c.file, false).run(c.inputs); }, c.code), HasSubstr(c.strict));
  }
}

TEST(LenientFiles, OtherFaultsStay) {
  const std::string sparse_outside = sum_with_sparse({5}, integers("", {2}));
  EXPECT_THAT(message_of([&] { load_file(sparse_outside, true); }, Code::bad_model), HasSubstr("lies outside"));
  const std::string constant =
      onnx_file::model({.nodes = {node("Constant", {}, "y", integer("odd", 1))}, .inputs = {}, .outputs = {port("y")}});
  EXPECT_THAT(message_of([&] { load_file(constant, true); }, Code::bad_model), HasSubstr("unknown attribute 'odd'"));
  const std::string domain = node_of("Gelu", {type({"2"})}, "", {}, "some.company");
  EXPECT_THAT(message_of([&] { load_file(domain, true); }, Code::bad_model), HasSubstr("imports no opset of domain"));
}

// ---- answers that the option changes ----

struct Changed {
  std::string name, file;
  std::vector<Array> inputs;
  std::vector<float> lenient, strict;
};

/// y = Cast(Cast(x to `to`) to float).
std::string through(std::int64_t to) {
  return onnx_file::model(
      {.nodes = {node("Cast", {"x"}, "c", integer("to", to)), node("Cast", {"c"}, "y", integer("to", kF32))},
       .inputs = {f32("x", {"N"})},
       .outputs = {port("y")}});
}

std::vector<Changed> changed_answers() {
  return {
      {"integers out of range wrap around", through(kU8), {row({-1, 300, 2.5, 7})}, {255, 44, 2, 7}, {0, 255, 2, 7}},
      {"also signed ones", through(3), {row({-129, 300, -1})}, {127, 44, -1}, {-128, 127, -1}},
      {"also u32", through(12), {row({-1, 5})}, {4294967296.0f, 5}, {0, 5}},
      {"but not i32", through(kI32), {row({-1, 3e9f})}, {-1, 2147483648.0f}, {-1, 2147483648.0f}},
      {"an operator precedes a function of its name",
       call_of(function("Neg", "Abs", ""), "Abs", ""),
       {row({-1, 2})},
       {1, 2},
       {1, -2}},
      {"a function precedes an operator that is newer than the opset",
       call_of(function("Neg", "Gelu", ""), "Gelu", ""),
       {row({-1, 2})},
       {1, -2},
       {1, -2}},
  };
}

TEST(LenientAnswers, AreThoseOfOnnxRuntime) {
  for (const Changed& c : changed_answers()) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(elements_of(load_file(c.file, true).run(c.inputs)[0]), ElementsAreArray(c.lenient));
    EXPECT_THAT(elements_of(load_file(c.file, false).run(c.inputs)[0]), ElementsAreArray(c.strict));
  }
}

TEST(LenientAnswers, HaveOtherShapes) {
  struct Case {
    std::string name, file;
    std::vector<Array> inputs;
    Sizes lenient, strict;
  };
  const Array image = Array::of<float>({1, 3, 1}, {1, 2, 3});
  const std::string split =
      bytes(1, "x") + bytes(2, "y") + bytes(2, "z") + bytes(4, "Split") + integer("num_outputs", 3);
  const Case cases[] = {
      {"Squeeze without axes",
       node_of("Squeeze", {type({"1", "3", "1"}), type_of(kI64, {"0"})}),
       {image, Array::of<std::int64_t>({0}, {})},
       {3},
       {1, 3, 1}},
      {"Split by its outputs",
       onnx_file::model({.nodes = {split}, .inputs = {f32("x", {"6"})}, .outputs = {port("y"), port("z")}}),
       {row({1, 2, 3, 4, 5, 6})},
       {3},
       {2}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(load_file(c.file, true).run(c.inputs)[0].sizes(), c.lenient);
    EXPECT_EQ(load_file(c.file, false).run(c.inputs)[0].sizes(), c.strict);
  }
}

}  // namespace
