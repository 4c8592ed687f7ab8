// The steps of docs/tutorials/python.md in C++: a branch that depends on data, a layer swapped while requests run, a
// stop inside a fused kernel, and a model that ends early.
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <frazil/frazil.h>

namespace {

using frazil::Array;
using frazil::Body;
using frazil::Dtype;
using frazil::GraphBuilder;
using frazil::Model;
using frazil::Term;

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
  std::printf("%s\n", what);
}

Array row(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Array::of<float>({count}, values);
}

/// Scales large inputs by their largest element; others are unchanged. Only one branch of the If runs.
void branch() {
  GraphBuilder graph("scale");
  const Term x = graph.input("x", Dtype::f32, {"N"});
  const Term largest = graph.op("ReduceMax", {graph.op("Abs", {x})}, {{"keepdims", 0}});
  const Term large = graph.op("Greater", {largest, graph.scalar(1.0f)});
  graph.output("y", graph.if_else(
                        large, [&](Body& then) { return std::vector{then.op("Div", {x, largest})}; },
                        [&](Body&) { return std::vector{x}; })[0]);
  auto session = graph.build().open();
  expect(session.run({{"x", row({2, -4})}})["y"].values<float>()[1] == -1, "large inputs are scaled");
  expect(session.run({{"x", row({0.5, 1})}})["y"].values<float>()[1] == 1, "small ones pass");
}

Array diagonal(float value) { return Array::of<float>({2, 2}, {value, 0, 0, value}); }

/// Requests run on the version that is current when they begin, and do not wait for the edit.
void swap_layer() {
  GraphBuilder graph("classifier");
  const Term x = graph.input("x", Dtype::f32, {"N", 2});
  const Term hidden = graph.op("MatMul", {x, graph.constant(diagonal(1))}, {}, "layer");
  graph.output("y", graph.op("Relu", {hidden}));
  frazil::LiveModel live(graph.build(), {"ada", "first release"});

  std::atomic<bool> done = false, right = true;
  std::thread requests([&] {
    auto session = live.open();
    while (!done) {
      const float y = session.run({{"x", Array::of<float>({1, 2}, {1, 1})}})["y"].values<float>()[0];
      if (y != (session.version() == 2 ? 3 : 1)) right = false;
    }
  });
  live.edit({"bob", "new weights"}, [](frazil::Patch& patch) {
    patch.replace("layer", patch.op("MatMul", {patch.tap("x"), patch.constant(diagonal(3))}));
  });
  live.roll_back(1, {"ada", "too large"});
  done = true;
  requests.join();
  expect(right && live.history().size() == 3, "a layer was swapped and taken back while requests ran");
  std::printf("%s", frazil::diff(live.version(1).model, live.version(2).model).c_str());
}

/// Reads and replaces a value inside a fused kernel.
void stop_inside() {
  GraphBuilder graph("chain");
  const Term x = graph.input("x", Dtype::f32, {"N"});
  const Term root = graph.op("Sqrt", {x}, {}, "root");
  graph.output("y", graph.op("Neg", {graph.op("Exp", {root})}));
  frazil::Debugger debugger(graph.build());
  debugger.add_breakpoint("nan");
  const auto stop = debugger.run({{"x", row({4, -1})}});
  expect(stop.why == frazil::Debugger::Why::breakpoint && stop.node == "root", "the first NaN is that of 'root'");
  debugger.set("root", row({2, 0}));
  expect(debugger.resume().why == frazil::Debugger::Why::ended, "without it the run ends");
  expect(debugger.results()[0].values<float>()[1] == -1, "with what follows from the other value");
}

/// Each stage is computed only if the previous stage was not confident.
void end_early() {
  GraphBuilder graph("early_exit");
  const Term x = graph.input("x", Dtype::f32, {1, 2});
  const Term threshold = graph.input("threshold", Dtype::f32, {});
  const auto stage = [&](Body& in, const Term& hidden) { return in.op("MatMul", {hidden, in.constant(diagonal(2))}); };
  const Term first = stage(graph, x);
  const Term sure = graph.op("Greater", {graph.op("ReduceMax", {first}, {{"keepdims", 0}}), threshold});
  graph.output("y", graph.if_else(
                        sure, [&](Body&) { return std::vector{first}; },
                        [&](Body& otherwise) { return std::vector{stage(otherwise, first)}; }, "sure")[0]);
  auto session = graph.build().open();
  const auto at = [&](float limit) {
    const Array input = Array::of<float>({1, 2}, {1, 1});
    return session.run({{"x", input}, {"threshold", Array::scalar(limit)}})["y"].values<float>()[0];
  };
  expect(at(1) == 2 && at(3) == 4, "the second stage runs only if the first is not sure");
}

}  // namespace

int main() {
  try {
    branch();
    swap_layer();
    stop_inside();
    end_early();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tutorial: %s\n", error.what());
    return 1;
  }
}
