// Builds, saves, loads and runs a model of the operators in cubes.cc.
#include <cstdio>

#include <frazil/frazil.h>

int main() {
  using frazil::Array;
  try {
    frazil::GraphBuilder graph("cubes");
    frazil::Term x = graph.input("x", frazil::Dtype::f32, {"N", 2});
    frazil::Term y = graph.input("y", frazil::Dtype::f32, {2});
    graph.output("z", graph.op("com.acme.CubeSum", {x, graph.op("com.acme.Cube", {y})}));
    const frazil::Model built = graph.build();
    built.save("cubes.onnx");
    auto session = frazil::Model::load("cubes.onnx").open();
    const auto out = session.run({{"x", Array::of<float>({1, 2}, {1, 2})}, {"y", Array::of<float>({2}, {1, -1})}});
    std::printf("%s\n", out["z"].str().c_str());
    return out["z"].values<float>()[0] == 2 && out["z"].values<float>()[1] == 7 ? 0 : 1;
  } catch (const frazil::Error& error) {
    std::fprintf(stderr, "cubes: %s\n", error.what());
    return 2;
  }
}
