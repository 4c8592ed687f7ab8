// Builds a small graph with a free batch size, runs it, edits it and runs it again.
#include <cstdio>

#include <frazil/frazil.h>

namespace {

void show(const char* what, const frazil::Array& y) { std::printf("%-8s %s\n", what, y.str().c_str()); }

int run() {
  using frazil::Array;

  frazil::GraphBuilder graph("scores");
  frazil::Term x = graph.input("x", frazil::Dtype::f32, {"N", 3});
  frazil::Term w = graph.constant(Array::of<float>({3, 2}, {1, -1, 2, -2, 3, -3}));
  graph.output("y", graph.op("MatMul", {x, w}, {}, "scores"));
  const frazil::Model model = graph.build();

  auto session = model.open();
  show("1 row", session.run({{"x", Array::of<float>({1, 3}, {1, 1, 1})}})["y"]);
  const Array two = Array::of<float>({2, 3}, {1, 0, 0, 0, 0, 1});
  show("2 rows", session.run({{"x", two}})["y"]);

  frazil::Patch patch(model, "no negative scores");
  patch.replace("scores", patch.op("Relu", {patch.tap("scores")}));
  auto edited = patch.commit().open();
  const auto out = edited.run({{"x", two}});
  show("edited", out["y"]);
  return out["y"].values<float>()[3] == 0 ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const frazil::Error& error) {
    std::fprintf(stderr, "consumer: %s\n", error.what());
    return 2;
  }
}
