#pragma once

#include <string>
#include <vector>

#include "onnx/import/import.h"
#include "onnx/model_writer.h"
#include "paths.h"
#include "suite/tiers.h"
#include "tensor/npy.h"

namespace frazil::test {

using Request = std::vector<Datum>;

/// A model as the bytes of a file, and two requests with different extents or branches.
struct Subject {
  std::string name;
  Message bytes;
  Request first, second;
};

inline Tensor ramp(Sizes sizes, float step) {
  Tensor t = Tensor::make(Elem::f32, std::move(sizes)).value();
  float at = -1;
  for (float& v : t.as_mutable<float>()) v = at += step;
  return t;
}

/// A Loop with a capture, a growing carried value and a scan output, and an If whose branches differ in rank.
inline Subject control_flow() {
  const Message body =
      graph({.nodes = {{"Mul", {"v", "half"}, {"scaled"}, {}, "scale"},
                       {"Concat", {"scaled", "x"}, {"next"}, {attr("axis", 0)}, "grow"},
                       {"ReduceSum", {"next"}, {"total"}, {attr("keepdims", 0)}, "sum"},
                       {"Less", {"total", "bound"}, {"on"}, {}, "test"}},
             .inputs = {value("i", tensor_type(Elem::i64, {})), value("go", tensor_type(Elem::boolean, {})),
                        f32("v", {"R", "2"})},
             .outputs = {value("on"), value("next"), value("total")},
             .initializers = {initializer("half", Tensor::scalar(0.5f)), initializer("bound", Tensor::scalar(1e6f))}});
  const Message flat = graph({.nodes = {{"Reshape", {"last", "line"}, {"a"}, {}, "flatten"}},
                              .inputs = {},
                              .outputs = {value("a")},
                              .initializers = {initializer("line", Tensor::of<std::int64_t>({1}, {-1}))}});
  const Message whole = graph({.nodes = {{"Neg", {"last"}, {"b"}}}, .inputs = {}, .outputs = {value("b")}});
  const Message top = graph(
      {.nodes =
           {{"Loop", {"n", "", "x"}, {"last", "totals"}, {graph_attr("body", body)}, "repeat"},
            {"Shape", {"last"}, {"extents"}},
            {"Gather", {"extents", "zero"}, {"rows"}},
            {"Less", {"rows", "few"}, {"small"}},
            {"If", {"small"}, {"r"}, {graph_attr("then_branch", flat), graph_attr("else_branch", whole)}, "choose"},
            {"MatMul", {"last", "w"}, {"p"}, {}, "product"},
            {"Exp", {"r"}, {"y"}}},
       .inputs = {value("n", tensor_type(Elem::i64, {})), f32("x", {"N", "2"})},
       .outputs = {value("y"), value("p"), value("totals")},
       .initializers = {initializer("zero", Tensor::scalar<std::int64_t>(0)),
                        initializer("few", Tensor::scalar<std::int64_t>(8)), initializer("w", ramp({2, 5}, 0.2f))}});
  return {"control flow",
          model(top),
          {Tensor::scalar<std::int64_t>(2), ramp({2, 2}, 0.1f)},
          {Tensor::scalar<std::int64_t>(4), ramp({3, 2}, 0.05f)}};
}

/// Sequences, strings, an optional, a function call, operators with several results, and an import with warnings.
inline Subject collections() {
  const FunctionSpec scaled{
      .name = "scaled",
      .inputs = {"a", "bias"},
      .outputs = {"r"},
      .attributes = {"axis"},
      .nodes = {{"Softmax", {"a"}, {"s"}, {ref_attr("axis", 2, "axis")}, "soft"}, {"Add", {"s", "bias"}, {"r"}}}};
  const Message top =
      graph({.nodes = {{"scaled", {"x", "bias"}, {"soft"}, {attr("axis", 1)}, "call", "local"},
                       {"SplitToSequence", {"soft", "one"}, {"rows"}, {attr("axis", 0)}, "cut"},
                       {"SequenceInsert", {"rows", "bias_row"}, {"more"}},
                       {"SequenceAt", {"more", "minus"}, {"tail"}},
                       {"ConcatFromSequence", {"more"}, {"joined"}, {attr("axis", 0)}, "join"},
                       {"SequenceLength", {"more"}, {"length"}},
                       {"TopK", {"x", "k"}, {"best", "where"}, {}, "top"},
                       {"NonZero", {"best"}, {"marks"}},
                       {"Unique", {"where"}, {"kinds", "", "back", ""}, {}, "distinct"},
                       {"Gather", {"words", "order"}, {"picked"}, {}, "pick"},
                       {"Concat", {"picked", "words"}, {"phrase"}, {attr("axis", 0)}},
                       {"Optional", {"phrase"}, {"maybe"}},
                       {"OptionalHasElement", {"maybe"}, {"has"}},
                       {"CumSum", {"tail", "last_axis"}, {"running"}}},
             .inputs = {f32("x", {"N", "4"}), value("words", tensor_type(Elem::string, {"K"}))},
             .outputs = {value("joined"), value("more"), value("length"), value("marks"), value("kinds"), value("back"),
                         value("phrase"), value("has"), value("running")},
             .initializers = {initializer("bias", ramp({4}, 0.3f)), initializer("bias_row", ramp({1, 4}, 0.25f)),
                              initializer("one", Tensor::scalar<std::int64_t>(1)),
                              initializer("minus", Tensor::scalar<std::int64_t>(-1)),
                              initializer("last_axis", Tensor::scalar<std::int64_t>(1)),
                              initializer("k", Tensor::of<std::int64_t>({1}, {2})),
                              initializer("order", Tensor::of<std::int64_t>({3}, {1, 0, 1}))}});
  return {"collections",
          model(top, {.functions = {scaled}}),
          {ramp({2, 4}, 0.3f), Tensor::of<std::string>({2}, {"one", "a word that does not fit into a small string"})},
          {ramp({5, 4}, -0.1f), Tensor::of<std::string>({3}, {"and another that is stored apart", "", "x"})}};
}

/// Digits of the example: the first one that takes the first exit, and the first one that takes the second.
inline Subject digits() {
  const std::filesystem::path folder = source_dir() / "examples" / "digits";
  const auto file = MappedFile::open((folder / "model.onnx").string()).value();
  Subject subject{"digits", Message(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()), {}, {}};
  link_operators();
  const Graph graph = import_onnx_bytes(std::as_bytes(std::span(subject.bytes)), nullptr).value();
  const Tier0 tier(graph);
  const Tensor images = read_npy((folder / "images.npy").string()).value();
  for (std::int64_t k = 0; k < images.sizes()[0] && (subject.first.empty() || subject.second.empty()); ++k) {
    const Tensor image =
        Tensor::of<float>({1, 1, 8, 8}, images.as<float>().subspan(static_cast<std::size_t>(64 * k), 64));
    const std::int64_t stage = tier.session->run(std::vector<Datum>{image}).value().at(2).tensor().integer_at(0);
    Request& place = stage == 1 ? subject.first : subject.second;
    if (stage < 3 && place.empty()) place = {image};
  }
  return subject;
}

inline Subject subject_named(std::string_view name) {
  return name == "digits" ? digits() : name == "collections" ? collections() : control_flow();
}

}  // namespace frazil::test
