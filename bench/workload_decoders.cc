#include <algorithm>
#include <functional>
#include <ranges>
#include <string>

#include "bench/model_maker.h"
#include "bench/net.h"

namespace bench {
namespace {

using frazil::GraphBuilder;
using Params = std::span<const Term>;

struct DecoderSizes {
  std::size_t layers;
  std::int64_t width, heads, words, places, longest;
  bool twin;

  std::int64_t head() const { return width / heads; }
};

DecoderSizes tiny(bool twin) {
  return twin ? DecoderSizes{3, 320, 5, 3072, 256, 96, true} : DecoderSizes{4, 256, 4, 4096, 256, 128, false};
}
DecoderSizes small(bool twin) {
  return twin ? DecoderSizes{8, 640, 10, 24000, 1024, 96, true} : DecoderSizes{12, 768, 12, 50257, 1024, 128, false};
}

/// What a decoder of text adds for one token: its weights are in the outermost graph.
class Decoder {
 public:
  Decoder(const Net& net, const DecoderSizes& sizes) : sizes_(sizes) {
    const std::int64_t width = sizes.width;
    words_ = net.weight({sizes.words, width}, 0.05);
    places_ = net.weight({sizes.places, width}, 0.05);
    last_ = net.weight({width, sizes.words}, 0.05);
    last_norm_ = scale(net);
    for (std::size_t i = 0; i < sizes.layers; ++i) {
      layers_.push_back({scale(net), scale(net), linear(net, width, 3 * width), linear(net, width, width),
                         linear(net, width, 4 * width), linear(net, 4 * width, width)});
    }
  }

  /// The mixed values of a layer, of its query, key and value, each [1, heads, 1, head].
  using Attend = std::function<Term(std::size_t layer, Term query, Term key, Term value)>;

  /// [1, 1, words] of token and place, each [1, 1].
  Term scores(const Net& in, Term token, Term place, const Attend& attend) const {
    const std::int64_t width = sizes_.width;
    Term x = in.op("Add", {in.op("Gather", {words_, token}), in.op("Gather", {places_, place})});
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Layer& layer = layers_[i];
      const Term all = add(in, norm(in, x, layer.norm), layer.all);
      const Terms parts = in.ops("Split", {all, in.ints({width, width, width})}, {{"axis", -1}}, 3);
      const Term mixed = attend(i, heads(in, parts[0]), heads(in, parts[1]), heads(in, parts[2]));
      const Term joined = in.op("Reshape", {turned(in, mixed), in.ints({1, 1, width})});
      x = in.op("Add", {x, add(in, joined, layer.mixed)});
      const Term inner = gelu(in, add(in, norm(in, x, layer.inner_norm), layer.up));
      x = in.op("Add", {x, add(in, inner, layer.down)});
    }
    return in.op("MatMul", {norm(in, x, last_norm_), last_});
  }

  /// Of a query to all keys and values; `mask` may be absent.
  Term attention(const Net& in, Term query, Term keys, Term values, Term mask = {}) const {
    const double root = std::sqrt(static_cast<double>(sizes_.head()));
    const Term product = in.op("MatMul", {query, in.op("Transpose", {keys}, {{"perm", {0, 1, 3, 2}}})});
    Term s = sizes_.twin ? in.op("Mul", {product, in.f(1 / root)}) : in.op("Div", {product, in.f(root)});
    if (mask) s = in.op("Add", {s, mask});
    return in.op("MatMul", {in.op("Softmax", {s}, {{"axis", -1}}), values});
  }

 private:
  struct Pair {
    Term weight, bias;
  };
  struct Layer {
    Pair norm, inner_norm, all, mixed, up, down;
  };

  Pair scale(const Net& net) const {
    const Term weight = net.weight({sizes_.width}, 0.1, 1);
    return {weight, net.weight({sizes_.width}, 0.02)};
  }
  static Pair linear(const Net& net, std::int64_t from, std::int64_t to) {
    const Term weight = net.weight({from, to});
    return {weight, net.weight({to}, 0.02)};
  }
  Term norm(const Net& in, Term x, const Pair& p) const { return in.norm(x, p.weight, p.bias, sizes_.twin); }
  Term add(const Net& in, Term x, const Pair& p) const {
    const Term y = in.op("MatMul", {x, p.weight});
    return in.op("Add", sizes_.twin ? Terms{p.bias, y} : Terms{y, p.bias});
  }
  static Term turned(const Net& in, Term x) { return in.op("Transpose", {x}, {{"perm", {0, 2, 1, 3}}}); }
  Term heads(const Net& in, Term x) const {
    return turned(in, in.op("Reshape", {x, in.ints({1, 1, sizes_.heads, sizes_.head()})}));
  }
  /// With a hyperbolic tangent.
  static Term gelu(const Net& in, Term x) {
    const Term cubic = in.op("Add", {x, in.op("Mul", {in.op("Pow", {x, in.f(3)}), in.f(0.044715)})});
    const Term t = in.op("Tanh", {in.op("Mul", {cubic, in.f(0.7978845608)})});
    return in.op("Mul", {in.op("Mul", {x, in.f(0.5)}), in.op("Add", {t, in.f(1)})});
  }

  DecoderSizes sizes_;
  Term words_, places_, last_;
  Pair last_norm_;
  std::vector<Layer> layers_;
};

/// One token; keys and values of those before it come in and, with its own, go out.
frazil::Model step(const DecoderSizes& sizes) {
  GraphBuilder graph("decoder_step");
  Random random(31, "decoder");
  const Net net(graph, random);
  const Term token = graph.input("input_ids", Dtype::i64, {1, 1});
  Terms keys, values;
  for (std::size_t i = 0; i < sizes.layers; ++i) {
    const auto past = [&](const char* name) {
      return graph.input(name + std::to_string(i), Dtype::f32, {1, sizes.heads, "past", sizes.head()});
    };
    keys.push_back(past("past_k_"));
    values.push_back(past("past_v_"));
  }
  const Decoder decoder(net, sizes);
  const Term place = net.op("Reshape", {net.dim(keys[0], 2), net.ints({1, 1})});
  const auto attend = [&](std::size_t i, Term query, Term key, Term value) {
    keys[i] = net.op("Concat", {keys[i], key}, {{"axis", 2}});
    values[i] = net.op("Concat", {values[i], value}, {{"axis", 2}});
    return decoder.attention(net, query, keys[i], values[i]);
  };
  graph.output("logits", net.op("Identity", {decoder.scores(net, token, place, attend)}));
  for (std::size_t i = 0; i < sizes.layers; ++i) {
    graph.output("present_k_" + std::to_string(i), keys[i]);
    graph.output("present_v_" + std::to_string(i), values[i]);
  }
  return graph.build();
}

/// How a loop keeps the keys and values of earlier tokens.
enum class Cache {
  grows,   ///< each is appended
  scatter  ///< each is written into its place among `longest`, the later ones masked
};

/// Carried through the loop: the token, then each layer's keys, then each layer's values.
Terms round(const Net& in, const DecoderSizes& sizes, const Decoder& decoder, Params p, Cache cache) {
  Terms kept(p.begin() + 3, p.end());
  Term places, mask;
  if (cache == Cache::scatter) {
    Array numbers(Dtype::i64, {sizes.longest});
    std::ranges::copy(std::views::iota(std::int64_t{0}, sizes.longest), numbers.mutable_values<std::int64_t>().begin());
    places = in.op("Expand", {p[0], in.ints({1, sizes.heads, 1, sizes.head()})});
    mask = in.op("Where", {in.op("LessOrEqual", {in.body().constant(numbers), p[0]}), in.f(0), in.f(-1e9)});
  }
  const auto keep = [&](Term& all, Term one) {
    all = cache == Cache::grows ? in.op("Concat", {all, one}, {{"axis", 2}})
                                : in.op("ScatterElements", {all, places, one}, {{"axis", 2}});
    return all;
  };
  const auto attend = [&](std::size_t i, Term query, Term key, Term value) {
    const Term keys = keep(kept[i], key), values = keep(kept[sizes.layers + i], value);
    return decoder.attention(in, query, keys, values, mask);
  };
  const Term scores = decoder.scores(in, p[2], in.op("Reshape", {p[0], in.ints({1, 1})}), attend);
  const Term next = in.op("ArgMax", {scores}, {{"axis", -1}, {"keepdims", 0}});
  // No token is the last one, but the loop cannot know.
  const Term on = in.op("Not", {in.op("Equal", {next, in.body().constant(Array::of<std::int64_t>({1, 1}, {-1}))})});
  Terms results{in.op("Reshape", {on, in.ints({})}), next};
  results.insert(results.end(), kept.begin(), kept.end());
  results.push_back(in.op("Identity", {next}));
  return results;
}

/// A generation from one token: the loop feeds itself.
frazil::Model generation(const DecoderSizes& sizes, Cache cache) {
  GraphBuilder graph("decoder_loop");
  Random random(31, "decoder");
  const Net net(graph, random);
  const Term start = graph.input("start", Dtype::i64, {1, 1}), steps = graph.input("steps", Dtype::i64, {});
  const Decoder decoder(net, sizes);
  const Array none(Dtype::f32, {1, sizes.heads, cache == Cache::grows ? 0 : sizes.longest, sizes.head()});
  Terms carried{start};
  carried.insert(carried.end(), 2 * sizes.layers, graph.constant(none));
  const auto fill = [&](Body& body, Params p) { return round(net.in(body), sizes, decoder, p, cache); };
  graph.output("tokens", graph.loop(steps, graph.scalar(true), carried, fill, 1).back());
  return graph.build();
}

frazil::Model gpt2s_step(bool twin) { return step(small(twin)); }
frazil::Model gptt_step(bool twin) { return step(tiny(twin)); }
frazil::Model gptt_loop(bool twin) { return generation(tiny(twin), Cache::grows); }
frazil::Model gptt_loopsc(bool twin) { return generation(tiny(twin), Cache::scatter); }

constexpr ModelMaker kDecoders[] = {
    {"gpt2s_step", gpt2s_step}, {"gptt_step", gptt_step}, {"gptt_loop", gptt_loop}, {"gptt_loopsc", gptt_loopsc}};

}  // namespace

std::span<const ModelMaker> decoder_models() { return kDecoders; }

}  // namespace bench
