#pragma once

#include <span>
#include <vector>

#include <frazil/frazil.h>

/// A model of one input, a scalar "x", that does not end by itself.
inline frazil::Model endless() {
  frazil::GraphBuilder graph("endless");
  frazil::Term x = graph.input("x", frazil::Dtype::f32, {});
  frazil::Term one = graph.scalar(1.0f);
  const auto y = graph.loop({}, graph.scalar(true), {x}, [&](frazil::Body& body, std::span<const frazil::Term> p) {
    return std::vector{body.op("Not", {body.op("Not", {p[1]})}), body.op("Add", {p[2], one})};
  });
  graph.output("y", y[0]);
  return graph.build();
}
