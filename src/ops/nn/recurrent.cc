#include "ops/nn/recurrent.h"

#include <algorithm>
#include <cctype>

#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "ops/view/view.h"

namespace frazil::ops {
namespace {

using ActivationFn = Expr (*)(CompositeCx&, Expr, float alpha, float beta);

struct KnownActivation {
  std::string_view name;
  bool takes_alpha, takes_beta;
  float alpha, beta;
  ActivationFn apply;
};

Expr number_like(CompositeCx& cx, Expr x, float value) { return cx.number(x.type().elem, value); }

constexpr KnownActivation kActivations[] = {
    {"sigmoid", false, false, 0, 0, [](CompositeCx&, Expr x, float, float) { return Sigmoid(x); }},
    {"tanh", false, false, 0, 0, [](CompositeCx&, Expr x, float, float) { return Tanh(x); }},
    {"relu", false, false, 0, 0, [](CompositeCx&, Expr x, float, float) { return Relu(x); }},
    {"softsign", false, false, 0, 0, [](CompositeCx&, Expr x, float, float) { return Softsign(x); }},
    {"softplus", false, false, 0, 0, [](CompositeCx&, Expr x, float, float) { return Softplus(x); }},
    {"leakyrelu", true, false, 0.01f, 0,
     [](CompositeCx&, Expr x, float a, float) { return LeakyRelu({x}, {.alpha = a}); }},
    {"thresholdedrelu", true, false, 1, 0,
     [](CompositeCx&, Expr x, float a, float) { return ThresholdedRelu({x}, {.alpha = a}); }},
    {"elu", true, false, 1, 0, [](CompositeCx&, Expr x, float a, float) { return Elu({x}, {.alpha = a}); }},
    {"hardsigmoid", true, true, 0.2f, 0.5f,
     [](CompositeCx&, Expr x, float a, float b) { return HardSigmoid({x}, {.alpha = a, .beta = b}); }},
    {"affine", true, true, 1, 0,
     [](CompositeCx& cx, Expr x, float a, float b) {
       return Add(Mul(x, number_like(cx, x, a)), number_like(cx, x, b));
     }},
    {"scaledtanh", true, true, 1, 1,
     [](CompositeCx& cx, Expr x, float a, float b) {
       return Mul(Tanh(Mul(x, number_like(cx, x, b))), number_like(cx, x, a));
     }},
};

struct Activation {
  ActivationFn apply = nullptr;
  float alpha = 0, beta = 0, clip = 0;
  Expr operator()(CompositeCx& cx, Expr x) const {
    if (clip > 0) x = Clip({x, number_like(cx, x, -clip), number_like(cx, x, clip)});
    return apply(cx, x, alpha, beta);
  }
};

const KnownActivation* find_activation(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* it = std::ranges::find(kActivations, std::string_view(name), &KnownActivation::name);
  return it == std::end(kActivations) ? nullptr : it;
}

/// Returns the next unused number of an attribute list, or the activation's default.
float take(const Floats& given, std::size_t& next, bool takes, float otherwise) {
  return takes && next < given.size() ? given[next++] : otherwise;
}

/// Returns the activations of all directions, concatenated.
std::vector<Activation> activations_of(CompositeCx& cx, const RecurrentAttrs& a, std::initializer_list<const char*> own,
                                       std::size_t directions) {
  Strings names = a.activations;
  if (names.empty()) {
    for (std::size_t d = 0; d < directions; ++d) names.insert(names.end(), own.begin(), own.end());
  }
  if (names.size() != own.size() * directions) {
    cx.error("activations must have {} names, got {}", own.size() * directions, names.size());
    return {};
  }
  std::vector<Activation> result;
  std::size_t alpha = 0, beta = 0;
  for (const std::string& name : names) {
    const KnownActivation* known = find_activation(name);
    if (!known) {
      cx.error("unknown activation '{}'", name);
      return {};
    }
    result.push_back({known->apply, take(a.activation_alpha, alpha, known->takes_alpha, known->alpha),
                      take(a.activation_beta, beta, known->takes_beta, known->beta), a.clip.value_or(0)});
  }
  return result;
}

/// The data that all directions of a call share. All floats have the compute type.
struct Layer {
  const RecurrentAttrs& attrs;
  std::size_t gates, directions;
  std::vector<Activation> activations;      ///< empty after an error
  Expr x;                                   ///< [steps, batch, inputs]
  Expr w = {}, r = {};                      ///< checked
  Expr count = {}, rows = {}, hidden = {};  ///< directions, gates * hidden, hidden, as 1-D tensors of one element
  Expr lengths = {}, time = {};             ///< [batch, 1] and [steps], or absent
};

Expr wide_input(CompositeCx& cx, std::size_t input) { return as_elem(cx.in(input), compute_elem(cx.elem(0))); }

std::size_t direction_count(CompositeCx& cx, const RecurrentAttrs& a) {
  if (a.direction == "bidirectional") return 2;
  if (a.direction != "forward" && a.direction != "reverse") cx.error("unknown direction '{}'", a.direction);
  return 1;
}

/// Makes a layer without weights. Axis `hidden_axis` of R has the extent of a state.
Layer make_layer(CompositeCx& cx, const RecurrentAttrs& a, std::size_t gates, std::initializer_list<const char*> own,
                 std::int64_t hidden_axis = 2) {
  const std::size_t directions = direction_count(cx, a);
  for (std::size_t i = 0; i < 3; ++i) {
    if (cx.rank(i) != 3) cx.error("X, W and R must have 3 axes, got {}", cx.rank(i));
  }
  Layer layer{.attrs = a,
              .gates = gates,
              .directions = directions,
              .activations = activations_of(cx, a, own, directions),
              .x = wide_input(cx, 0)};
  if (!cx.status()) {
    layer.activations.clear();
    return layer;
  }
  if (a.layout != 0) layer.x = Transpose({layer.x}, {.perm = {1, 0, 2}});
  layer.count = int1(cx, static_cast<std::int64_t>(directions));
  if (const auto size = a.hidden_size; size && (*size < 1 || *size >= std::int64_t{1} << 31)) {
    cx.error("hidden_size {} is outside [1, 2147483647]", *size);
    layer.activations.clear();
    return layer;
  }
  layer.hidden = a.hidden_size ? int1(cx, *a.hidden_size) : extent(cx.in(2), hidden_axis);
  layer.rows = Mul(layer.hidden, int1(cx, static_cast<std::int64_t>(gates)));
  if (cx.has(4)) {
    const Expr lengths = fit(cx.in(4), "sequence_lens", {extent(layer.x, 1)});
    layer.lengths = Unsqueeze({as_elem(lengths, Elem::i64), cx.ints({1})});
    layer.time = iota(cx, extent_scalar(layer.x, 0));
  }
  return layer;
}

/// Makes a layer with the weights of ONNX: [directions, gates * hidden, inputs] and [directions, gates * hidden,
/// hidden].
Layer weighted_layer(CompositeCx& cx, const RecurrentAttrs& a, std::size_t gates,
                     std::initializer_list<const char*> own) {
  Layer layer = make_layer(cx, a, gates, own);
  if (layer.activations.empty()) return layer;
  layer.w = fit(wide_input(cx, 1), "W", {layer.count, layer.rows, extent(layer.x, 2)});
  layer.r = fit(wide_input(cx, 2), "R", {layer.count, layer.rows, layer.hidden});
  return layer;
}

std::vector<Expr> split(Expr x, std::int64_t axis, std::size_t parts) {
  return Split.call({x}, {.axis = axis, .num_outputs = static_cast<std::int64_t>(parts)}, parts);
}

/// The biases of one direction, for each gate. Empty without a bias.
struct Biases {
  std::vector<Expr> w, r;
};

Biases biases_of(CompositeCx& cx, const Layer& layer, std::size_t direction) {
  if (!cx.has(3)) return {};
  const Expr bias = fit(wide_input(cx, 3), "B", {layer.count, Mul(layer.rows, int1(cx, 2))});
  const auto halves = split(pick(cx, bias, 0, static_cast<std::int64_t>(direction)), 0, 2);
  if (layer.gates == 1) return {{halves[0]}, {halves[1]}};
  return {split(halves[0], 0, layer.gates), split(halves[1], 0, layer.gates)};
}

/// The weights of one direction.
struct Weights {
  Expr w, r;  ///< transposed: [inputs, gates * hidden], [hidden, gates * hidden]
  Biases bias;
};

Weights weights_of(CompositeCx& cx, const Layer& layer, std::size_t direction) {
  const auto d = static_cast<std::int64_t>(direction);
  const Expr w = Transpose({pick(cx, layer.w, 0, d)}, {.perm = {1, 0}});
  const Expr r = Transpose({pick(cx, layer.r, 0, d)}, {.perm = {1, 0}});
  return {w, r, biases_of(cx, layer, direction)};
}

/// Adds the input biases, and the recurrent biases of the first `joined_gates` gates, to the product of the input.
Expr biased(Expr product, const Biases& biases, std::size_t joined_gates) {
  if (biases.w.empty()) return product;
  std::vector<Expr> bias = biases.w;
  for (std::size_t g = 0; g < joined_gates; ++g) bias[g] = Add(bias[g], biases.r[g]);
  return Add(product, bias.size() == 1 ? bias[0] : Concat(std::span<const Expr>(bias), {.axis = 0}));
}

/// Returns x times the input weights for all steps in one product, with the biases that biased() adds.
Expr projected(const Layer& layer, const Weights& weights, std::size_t joined_gates) {
  return biased(MatMul(layer.x, weights.w), weights.bias, joined_gates);
}

Expr initial_state(CompositeCx& cx, const Layer& layer, std::size_t input, std::size_t direction) {
  const Expr batch = extent(layer.x, 1), shape = join_shape({batch, layer.hidden});
  if (cx.has(input)) {
    // The reshape gives the state the batch extent of the input, so that a step keeps the state's type.
    const bool batch_first = layer.attrs.layout != 0;
    const Expr state = fit(wide_input(cx, input), input == 5 ? "initial_h" : "initial_c",
                           {batch_first ? batch : layer.count, batch_first ? layer.count : batch, layer.hidden});
    return Reshape({pick(cx, state, batch_first ? 1 : 0, static_cast<std::int64_t>(direction)), shape});
  }
  return Expand({cx.number(layer.x.type().elem, 0), shape});
}

/// A function for one step of a cell: (projected input, states) to new states, the output first.
using CellStep = std::function<std::vector<Expr>(CompositeCx&, Expr, std::span<const Expr>)>;

/// Returns the final states, then the outputs of all steps. A sequence that has ended keeps its state and outputs 0.
std::vector<Expr> run_direction(CompositeCx& cx, const Layer& layer, std::size_t direction, Expr input,
                                std::span<const Expr> states, const CellStep& step) {
  const bool reverse = direction == 1 || layer.attrs.direction == "reverse";
  std::vector<Expr> sequences{input};
  if (layer.time) sequences.push_back(layer.time);
  return scan(cx, states, sequences, reverse, 1, [&](CompositeCx& body, std::span<const Expr> in) {
    const auto before = in.first(states.size());
    std::vector<Expr> next = step(body, in[states.size()], before);
    Expr y = next[0];
    if (layer.time) {
      const Expr live = Less(in.back(), captured(body.builder(), layer.lengths));
      y = Where(live, y, number_like(body, y, 0));
      for (std::size_t k = 0; k < next.size(); ++k) next[k] = Where(live, next[k], before[k]);
    }
    next.push_back(y);
    return next;
  });
}

/// Combines the directions in the requested layout.
void finish(CompositeCx& cx, const Layer& layer, const std::vector<std::vector<Expr>>& results) {
  const bool batch_first = layer.attrs.layout != 0;
  const std::size_t outputs = results[0].size();
  for (std::size_t k = 0; k < outputs; ++k) {
    const bool all_steps = k + 1 == outputs;  // Y is last in a direction's results and first in the operator's
    const std::size_t port = all_steps ? 0 : k + 1;
    if (port >= cx.output_count()) continue;
    const std::int64_t axis = all_steps ? 1 : 0;
    std::vector<Expr> parts;
    for (const auto& r : results) parts.push_back(Unsqueeze({r[k], cx.ints({axis})}));
    Expr y = parts.size() == 1 ? parts[0] : Concat(std::span<const Expr>(parts), {.axis = axis});
    if (batch_first) y = Transpose({y}, {.perm = all_steps ? Ints{2, 0, 1, 3} : Ints{1, 0, 2}});
    cx.out(port, as_elem(y, cx.elem(0)));
  }
}

}  // namespace

void rnn_body(CompositeCx& cx) {
  const Layer layer = weighted_layer(cx, cx.attrs<RnnAttrs>(), 1, {"Tanh"});
  if (layer.activations.empty()) return;
  std::vector<std::vector<Expr>> results;
  for (std::size_t d = 0; d < layer.directions; ++d) {
    const Weights weights = weights_of(cx, layer, d);
    const std::array states{initial_state(cx, layer, 5, d)};
    results.push_back(run_direction(cx, layer, d, projected(layer, weights, 1), states,
                                    [&](CompositeCx& body, Expr x, std::span<const Expr> s) -> std::vector<Expr> {
                                      const Expr r = captured(body.builder(), weights.r);
                                      return {layer.activations[d](body, Add(x, MatMul(s[0], r)))};
                                    }));
  }
  finish(cx, layer, results);
}

namespace {

/// A GRU cell with gates z, r, h: h' = (1 - z) * n + z * h.
struct GruCell {
  const Activation &f, &g;
  std::vector<Expr> r;  ///< recurrent weights of each gate
  Expr bias_h;          ///< added before the product with the reset gate; may be absent
  bool linear_before_reset;

  std::vector<Expr> operator()(CompositeCx& cx, Expr x, std::span<const Expr> states) const {
    const Expr h = states[0];
    const auto in = split(x, -1, 3);
    const auto weight = [&](std::size_t gate) { return captured(cx.builder(), r[gate]); };
    const Expr z = f(cx, Add(in[0], MatMul(h, weight(0))));
    const Expr reset = f(cx, Add(in[1], MatMul(h, weight(1))));
    Expr recurrent;
    if (linear_before_reset) {
      recurrent = MatMul(h, weight(2));
      if (bias_h) recurrent = Add(recurrent, captured(cx.builder(), bias_h));
      recurrent = Mul(reset, recurrent);
    } else {
      recurrent = MatMul(Mul(reset, h), weight(2));
    }
    const Expr n = g(cx, Add(in[2], recurrent));
    return {Add(Mul(Sub(number_like(cx, z, 1), z), n), Mul(z, h))};
  }
};

}  // namespace

void gru_body(CompositeCx& cx) {
  const auto& a = cx.attrs<GruAttrs>();
  const Layer layer = weighted_layer(cx, a, 3, {"Sigmoid", "Tanh"});
  if (layer.activations.empty()) return;
  std::vector<std::vector<Expr>> results;
  for (std::size_t d = 0; d < layer.directions; ++d) {
    const bool linear = a.linear_before_reset != 0;
    const Weights weights = weights_of(cx, layer, d);
    const GruCell cell{layer.activations[2 * d], layer.activations[2 * d + 1], split(weights.r, 1, 3),
                       linear && cx.has(3) ? weights.bias.r[2] : cx.builder().absent(), linear};
    const std::array states{initial_state(cx, layer, 5, d)};
    results.push_back(run_direction(cx, layer, d, projected(layer, weights, linear ? 2 : 3), states, cell));
  }
  finish(cx, layer, results);
}

namespace {

/// An LSTM cell with gates i, o, f, c: c' = f * c + i * g, h' = o * h(c').
struct LstmCell {
  std::span<const Activation> act;  ///< the activations f, g, h
  const std::function<Expr(CompositeCx&, Expr)>& recurrent;
  std::vector<Expr> peephole;  ///< i, o, f; empty without peepholes
  bool input_forget;

  Expr gate(CompositeCx& cx, Expr x, std::size_t which, Expr c) const {
    if (!peephole.empty()) x = Add(x, Mul(captured(cx.builder(), peephole[which]), c));
    return act[0](cx, x);
  }
  std::vector<Expr> operator()(CompositeCx& cx, Expr x, std::span<const Expr> states) const {
    const Expr c = states[1];
    const auto in = split(Add(x, recurrent(cx, states[0])), -1, 4);
    const Expr i = gate(cx, in[0], 0, c);
    const Expr forget = input_forget ? Sub(number_like(cx, i, 1), i) : gate(cx, in[2], 2, c);
    const Expr next = Add(Mul(forget, c), Mul(i, act[1](cx, in[3])));
    const Expr o = gate(cx, in[1], 1, next);
    return {Mul(o, act[2](cx, next)), next};
  }
};

}  // namespace

void lstm_with(CompositeCx& cx, const LstmAttrs& a, std::int64_t hidden_axis, const LstmWeights& weights) {
  const Layer layer = make_layer(cx, a, 4, {"Sigmoid", "Tanh", "Tanh"}, hidden_axis);
  if (layer.activations.empty()) return;
  const LstmProducts products = weights({layer.directions, layer.count, extent(layer.x, 2), layer.hidden, layer.rows});
  if (!cx.status()) return;
  std::vector<std::vector<Expr>> results;
  for (std::size_t d = 0; d < layer.directions; ++d) {
    const Biases biases = biases_of(cx, layer, d);
    const std::function<Expr(CompositeCx&, Expr)> recurrent = [&](CompositeCx& body, Expr h) {
      return products.state(body, h, d);
    };
    LstmCell cell{std::span(layer.activations).subspan(3 * d, 3), recurrent, {}, a.input_forget != 0};
    if (cx.has(7)) {
      const Expr all = fit(wide_input(cx, 7), "P", {layer.count, Mul(layer.hidden, int1(cx, 3))});
      cell.peephole = split(pick(cx, all, 0, static_cast<std::int64_t>(d)), 0, 3);
    }
    const Expr input = biased(products.input(cx, layer.x, d), biases, 4);
    const std::array states{initial_state(cx, layer, 5, d), initial_state(cx, layer, 6, d)};
    results.push_back(run_direction(cx, layer, d, input, states, cell));
  }
  finish(cx, layer, results);
}

void lstm_body(CompositeCx& cx) {
  lstm_with(cx, cx.attrs<LstmAttrs>(), 2, [&](const LstmExtents& e) -> LstmProducts {
    const Expr w = fit(wide_input(cx, 1), "W", {e.count, e.gates, e.inputs});
    const Expr r = fit(wide_input(cx, 2), "R", {e.count, e.gates, e.hidden});
    std::vector<Expr> input, state;
    for (std::size_t d = 0; d < e.directions; ++d) {
      const auto part = static_cast<std::int64_t>(d);
      input.push_back(Transpose({pick(cx, w, 0, part)}, {.perm = {1, 0}}));
      state.push_back(Transpose({pick(cx, r, 0, part)}, {.perm = {1, 0}}));
    }
    const auto product = [](std::vector<Expr> all) {
      return [all = std::move(all)](CompositeCx& body, Expr x, std::size_t direction) {
        return MatMul(x, captured(body.builder(), all[direction]));
      };
    };
    return {product(std::move(input)), product(std::move(state))};
  });
}

}  // namespace frazil::ops
