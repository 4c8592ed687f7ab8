#pragma once

#include <frazil/frazil.h>

/// y = x * x on f32[N].
inline frazil::Model square_model() {
  frazil::GraphBuilder graph("square");
  const frazil::Term x = graph.input("x", frazil::Dtype::f32, {"N"});
  graph.output("y", graph.op("Mul", {x, x}, {}, "product"));
  return graph.build();
}
