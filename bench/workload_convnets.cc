#include <array>
#include <string>

#include "bench/model_maker.h"
#include "bench/net.h"

namespace bench {
namespace {

using frazil::GraphBuilder;
using frazil::api::Attributes;

struct Conv {
  std::int64_t from, to, kernel = 1, stride = 1, group = 1;
};

/// A window of `kernel` on both axes, as convolutions and pools take it.
Attributes window(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return {{"kernel_shape", {kernel, kernel}}, {"pads", {pad, pad, pad, pad}}, {"strides", {stride, stride}}};
}

Term pool(const Net& net, const char* op, Term x, std::int64_t kernel, std::int64_t stride, std::int64_t pad = 0) {
  return net.op(op, {x}, window(kernel, stride, pad));
}

/// Weights are scaled so that activations keep their range.
Terms conv_inputs(const Net& net, Term x, const Conv& c) {
  const std::int64_t taps = c.from / c.group * c.kernel * c.kernel;
  return {x, net.weight({c.to, c.from / c.group, c.kernel, c.kernel}, std::sqrt(2 / static_cast<double>(taps)))};
}

Attributes conv_attributes(const Conv& c, std::int64_t pad) {
  Attributes attributes = window(c.kernel, c.stride, pad);
  if (c.group > 1) attributes.emplace_back("group", c.group);
  return attributes;
}

Term conv(const Net& net, Term x, const Conv& c) {
  return net.op("Conv", conv_inputs(net, x, c), conv_attributes(c, c.kernel / 2));
}

/// With a bias and an activation.
Term conv_relu(const Net& net, Term x, const Conv& c, std::int64_t pad) {
  Terms inputs = conv_inputs(net, x, c);
  inputs.push_back(net.weight({c.to}, 0.05));
  return net.op("Relu", {net.op("Conv", inputs, conv_attributes(c, pad))});
}

Term batch_norm(const Net& net, Term x, std::int64_t width) {
  return net.op("BatchNormalization", {x, net.weight({width}, 0.1, 1), net.weight({width}, 0.1),
                                       net.weight({width}, 0.1), net.weight({width}, 0.05, 1.2)});
}

Term conv_norm(const Net& net, Term x, const Conv& c) { return batch_norm(net, conv(net, x, c), c.to); }
Term conv_norm_relu(const Net& net, Term x, const Conv& c) { return net.op("Relu", {conv_norm(net, x, c)}); }

Term dense(const Net& net, Term x, std::int64_t from, std::int64_t to) {
  return net.op("Gemm", {x, net.weight({to, from}, std::sqrt(1 / static_cast<double>(from))), net.weight({to}, 0.05)},
                {{"transB", 1}});
}

Term image(GraphBuilder& graph, const char* name, std::int64_t size) {
  return graph.input(name, Dtype::f32, {1, 3, size, size});
}

/// Residual blocks of three convolutions. The image and the result are of f32.
frazil::Model resnet(bool twin, Dtype type) {
  GraphBuilder graph("resnet");
  Random random(21, "resnet");
  const Net net(graph, random, type);
  const std::array<int, 4> blocks = twin ? std::array{2, 5, 4, 3} : std::array{3, 4, 6, 3};
  const std::int64_t base = twin ? 56 : 64;
  Term y = conv_norm_relu(net, net.narrowed(image(graph, "gpu_0/data_0", 224)), {3, base, 7, 2});
  y = pool(net, "MaxPool", y, 3, 2, 1);
  std::int64_t from = base;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const std::int64_t inner = base << stage, to = 4 * inner;
    for (int k = 0; k < blocks[stage]; ++k) {
      const std::int64_t stride = k == 0 && stage > 0 ? 2 : 1;
      Term shortcut = y;
      if (twin && k == 0) shortcut = conv_norm(net, y, {from, to, 1, stride});
      y = conv_norm_relu(net, conv_norm_relu(net, y, {from, inner}), {inner, inner, 3, stride});
      y = conv_norm(net, y, {inner, to});
      if (!twin && k == 0) shortcut = conv_norm(net, shortcut, {from, to, 1, stride});
      y = net.op("Relu", {twin ? net.op("Add", {shortcut, y}) : net.op("Sum", {y, shortcut})});
      from = to;
    }
  }
  y = net.op("AveragePool", {y}, {{"kernel_shape", {7, 7}}});
  y = dense(net, net.op("Reshape", {y, net.ints({1, from})}), from, 1000);
  graph.output("gpu_0/softmax_1", net.widened(net.op("Softmax", {y}, {{"axis", -1}})));
  return graph.build();
}
frazil::Model resnet50(bool twin) { return resnet(twin, Dtype::f32); }
frazil::Model resnet50_bf16(bool twin) { return resnet(twin, Dtype::bf16); }
frazil::Model resnet50_f16(bool twin) { return resnet(twin, Dtype::f16); }

/// Convolutions of 3x3, then three dense layers.
frazil::Model vgg19(bool twin) {
  GraphBuilder graph("vgg");
  Random random(23, "vgg");
  const Net net(graph, random);
  const std::array<int, 5> depths = twin ? std::array{2, 2, 3, 3, 3} : std::array{2, 2, 4, 4, 4};
  const std::int64_t base = twin ? 48 : 64, size = twin ? 192 : 224, inner = twin ? 3072 : 4096;
  Term y = image(graph, "data_0", size);
  std::int64_t from = 3;
  for (std::size_t stage = 0; stage < depths.size(); ++stage) {
    const std::int64_t to = base << std::min<std::size_t>(stage, 3);
    for (int k = 0; k < depths[stage]; ++k) {
      y = conv_relu(net, y, {from, to, 3}, 1);
      from = to;
    }
    y = pool(net, "MaxPool", y, 2, 2);
  }
  const std::int64_t flat = from * (size / 32) * (size / 32);
  y = net.op("Reshape", {y, net.ints({1, flat})});
  for (const std::int64_t width : {flat, inner}) {
    y = net.op("Dropout", {net.op("Relu", {dense(net, y, width, inner)}), net.f(0.5)});
  }
  graph.output("prob_1", net.op("Softmax", {dense(net, y, inner, 1000)}, {{"axis", -1}}));
  return graph.build();
}

/// A normalisation followed by a scale of its own, before a convolution.
Term scaled_norm_relu(const Net& net, Term x, std::int64_t width) {
  const auto channel = [&](double deviation, double mean) {
    return net.op("Unsqueeze", {net.weight({width}, deviation, mean), net.ints({1, 2})});
  };
  const Term y = net.op("Mul", {batch_norm(net, x, width), channel(0.1, 1)});
  return net.op("Relu", {net.op("Add", {y, channel(0.1, 0)})});
}

/// Each layer takes the results of all layers of its block before it.
frazil::Model densenet121(bool twin) {
  GraphBuilder graph("densenet");
  Random random(24, "densenet");
  const Net net(graph, random);
  const std::array<int, 4> depths = twin ? std::array{5, 10, 18, 14} : std::array{6, 12, 24, 16};
  const std::int64_t growth = twin ? 24 : 32;
  std::int64_t width = 2 * growth;
  Term y = conv(net, image(graph, "data_0", twin ? 192 : 224), {3, width, 7, 2});
  y = pool(net, "MaxPool", scaled_norm_relu(net, y, width), 3, 2, 1);
  for (std::size_t block = 0; block < depths.size(); ++block) {
    for (int k = 0; k < depths[block]; ++k) {
      const Term mid = conv(net, scaled_norm_relu(net, y, width), {width, 4 * growth});
      const Term own = conv(net, scaled_norm_relu(net, mid, 4 * growth), {4 * growth, growth, 3});
      y = net.op("Concat", {y, own}, {{"axis", 1}});
      width += growth;
    }
    y = scaled_norm_relu(net, y, width);
    if (block + 1 == depths.size()) break;
    y = pool(net, "AveragePool", conv(net, y, {width, width / 2}), 2, 2);
    width /= 2;
  }
  Terms last = conv_inputs(net, net.op("GlobalAveragePool", {y}), {width, 1000});
  last.push_back(net.weight({1000}, 0.05));
  graph.output("fc6_1", net.op("Conv", last, window(1, 1, 0)));
  return graph.build();
}

/// A narrow convolution whose result two wider ones take.
Term fire(const Net& net, Term x, std::int64_t from, std::int64_t narrow) {
  const Term y = conv_relu(net, x, {from, narrow}, 0);
  const Term points = conv_relu(net, y, {narrow, 4 * narrow}, 0),
             windows = conv_relu(net, y, {narrow, 4 * narrow, 3}, 1);
  return net.op("Concat", {points, windows}, {{"axis", 1}});
}

frazil::Model squeezenet(bool twin) {
  GraphBuilder graph("squeezenet");
  Random random(25, "squeezenet");
  const Net net(graph, random);
  const std::array<std::int64_t, 8> widths = twin ? std::array<std::int64_t, 8>{12, 12, 24, 24, 40, 40, 56, 56}
                                                  : std::array<std::int64_t, 8>{16, 16, 32, 32, 48, 48, 64, 64};
  std::int64_t from = twin ? 48 : 64;
  Term y = conv_relu(net, image(graph, "data_0", twin ? 200 : 224), {3, from, 3, 2}, 0);
  for (std::size_t k = 0; k < widths.size(); ++k) {
    if (k <= 4 && k % 2 == 0) y = pool(net, "MaxPool", y, 3, 2);
    y = fire(net, y, from, widths[k]);
    from = 8 * widths[k];
  }
  y = conv_relu(net, net.op("Dropout", {y, net.f(0.5)}), {from, 1000}, 0);
  y = net.op("Flatten", {net.op("GlobalAveragePool", {y})}, {{"axis", 1}});
  y = net.op("Softmax", {y}, {{"axis", -1}});
  graph.output("softmaxout_1", net.op("Reshape", {y, net.ints({1, 1000, 1, 1})}));
  return graph.build();
}

/// Channels of [1, width, side, side] in another order: each group gets some of every group.
Term shuffled(const Net& net, Term x, std::int64_t groups, std::int64_t width, std::int64_t side) {
  const Term apart = net.op("Reshape", {x, net.ints({1, groups, width / groups, side, side})});
  const Term turned = net.op("Transpose", {apart}, {{"perm", {0, 2, 1, 3, 4}}});
  return net.op("Reshape", {turned, net.ints({1, width, side, side})});
}

/// Convolutions in groups, a shuffle between them. The first block of a stage halves the image, and appends its pooled
/// input to its result.
frazil::Model shufflenet(bool twin) {
  GraphBuilder graph("shufflenet");
  Random random(26, "shufflenet");
  const Net net(graph, random);
  const std::array<int, 3> blocks = twin ? std::array{4, 6, 4} : std::array{4, 8, 4};
  const std::int64_t groups = twin ? 3 : 4, base = twin ? 120 : 136, size = twin ? 192 : 224;
  Term y = conv_relu(net, image(graph, "gpu_0/data_0", size), {3, 24, 3, 2}, 1);
  y = pool(net, "MaxPool", y, 3, 2, 1);
  std::int64_t from = 24, side = size / 4;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const std::int64_t width = base << stage;
    for (int k = 0; k < blocks[stage]; ++k) {
      const std::int64_t own = k == 0 ? width - from : width, stride = k == 0 ? 2 : 1;
      Term x = conv_norm_relu(net, y, {from, own, 1, 1, groups});
      x = conv_norm(net, shuffled(net, x, groups, own, side), {own, own, 3, stride, own});
      x = conv_norm(net, x, {own, own, 1, 1, groups});
      if (k == 0) {
        x = net.op("Concat", {x, pool(net, "AveragePool", y, 3, 2, 1)}, {{"axis", 1}});
        side /= 2;
      } else {
        x = twin ? net.op("Add", {y, x}) : net.op("Sum", {x, y});
      }
      y = net.op("Relu", {x});
      from = width;
    }
  }
  y = net.op("Reshape", {pool(net, "AveragePool", y, side, 1), net.ints({1, from})});
  graph.output("gpu_0/softmax_1", net.op("Softmax", {dense(net, y, from, 1000)}, {{"axis", -1}}));
  return graph.build();
}

constexpr ModelMaker kConvnets[] = {
    {"resnet50", resnet50},       {"resnet50_bf16", resnet50_bf16}, {"resnet50_f16", resnet50_f16}, {"vgg19", vgg19},
    {"densenet121", densenet121}, {"squeezenet", squeezenet},       {"shufflenet", shufflenet},
};

}  // namespace

std::span<const ModelMaker> convnet_models() { return kConvnets; }

}  // namespace bench
