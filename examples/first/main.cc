// The program of docs/tutorials/cpp.md.
#include <cstdio>
#include <span>

#include <frazil/frazil.h>

using frazil::Array;
using frazil::Body;
using frazil::Dtype;
using frazil::Term;

namespace {

frazil::Model build() {
  frazil::GraphBuilder graph("scores");
  const Term x = graph.input("x", Dtype::f32, {"N", 3});
  const Term weights = graph.constant(Array::of<float>({3, 2}, {1, -1, 2, -2, 3, -3}));
  const Term scores = graph.op("MatMul", {x, weights}, {}, "scores");
  const Term largest = graph.op("ReduceMax", {scores}, {{"keepdims", 0}});
  const Term large = graph.op("Greater", {largest, graph.scalar(10.0f)});
  const auto scaled = [&](Body& then) { return std::vector{then.op("Div", {scores, largest})}; };
  const auto unchanged = [&](Body&) { return std::vector{scores}; };
  graph.output("y", graph.if_else(large, scaled, unchanged, "limit")[0]);
  return graph.build();
}

void run(const frazil::Model& model) {
  frazil::Session session = model.open();
  for (const Array& x : {Array::of<float>({1, 3}, {1, 1, 1}), Array::of<float>({2, 3}, {1, 0, 0, 0, 0, 8})}) {
    const frazil::Results results = session.run({{"x", x}});
    std::printf("%s\n", results["y"].str().c_str());
  }
}

void edit(const frazil::Model& model) {
  frazil::Patch patch(model, "no negative scores");
  patch.replace("scores", patch.op("Relu", {patch.tap("scores")}));
  run(patch.commit());
}

void fail(const frazil::Model& model) {
  try {
    model.open().run({{"x", Array::of<float>({1, 2}, {1, 1})}});
  } catch (const frazil::Error& error) {
    std::printf("error: %s\n", error.what());
  }
}

}  // namespace

int main() {
  const frazil::Model model = build();
  run(model);
  model.save("scores.onnx");
  edit(frazil::Model::load("scores.onnx"));
  fail(model);
}
