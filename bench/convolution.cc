#include "bench/convolution.h"

#include <algorithm>

#include <frazil/frazil.h>

namespace bench {

void write_convolution(const std::string& path, const Convolution& c, const HostTensor& weight) {
  frazil::GraphBuilder graph("convolution");
  const auto type = weight.elem == Elem::bf16 ? frazil::Dtype::bf16 : frazil::Dtype::f32;
  const frazil::Term image = graph.input("x", type, {1, c.size, c.size, c.from});
  frazil::Array values(type, weight.dims);
  std::ranges::copy(weight.data, static_cast<std::byte*>(values.mutable_data()));
  const frazil::Term y =
      graph.op("Conv", {graph.op("Transpose", {image}, {{"perm", {0, 3, 1, 2}}}), graph.constant(values)},
               {{"kernel_shape", {c.window, c.window}},
                {"pads", {c.pad(), c.pad(), c.pad(), c.pad()}},
                {"strides", {c.stride, c.stride}}});
  graph.output("y", graph.op("Transpose", {y}, {{"perm", {0, 2, 3, 1}}}));
  graph.build().save(path);
}

}  // namespace bench
