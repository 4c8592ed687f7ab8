#include "bench/convolution.h"

#include <algorithm>

#include <frazil/frazil.h>

namespace bench {

void write_convolution(const std::string& path, const Convolution& c, const HostTensor& weight) {
  frazil::GraphBuilder graph("convolution");
  const auto type = weight.elem == Elem::bf16 ? frazil::Dtype::bf16 : frazil::Dtype::f32;
  const frazil::Term image = graph.input("x", type, {1, c.from, c.size, c.size});
  frazil::Array values(type, weight.dims);
  std::ranges::copy(weight.data, static_cast<std::byte*>(values.mutable_data()));
  graph.output("y", graph.op("Conv", {image, graph.constant(values)},
                             {{"kernel_shape", {c.window, c.window}},
                              {"pads", {c.pad(), c.pad(), c.pad(), c.pad()}},
                              {"strides", {c.stride, c.stride}}}));
  graph.build().save(path);
}

}  // namespace bench
