#include "bench/model_maker.h"
#include "bench/net.h"

namespace bench {
namespace {

using frazil::GraphBuilder;
using Params = std::span<const Term>;

/// Mixtures of experts: each token goes to the two experts with its largest scores.
struct Experts {
  std::int64_t count, width, inner;
  bool twin;
  Term x, scores, chosen, share;  ///< chosen and share: [tokens, 2]

  Experts(GraphBuilder& graph, const Net& net, bool is_twin)
      : count(is_twin ? 6 : 8), width(is_twin ? 448 : 512), inner(is_twin ? 1792 : 2048), twin(is_twin) {
    x = graph.input("x", Dtype::f32, {"t", width});
    scores = net.op("Softmax", {net.op("MatMul", {x, net.weight({width, count})})}, {{"axis", -1}});
    const Terms best = net.ops("TopK", {scores, net.ints({2})}, {{"axis", -1}}, 2);
    chosen = best[1];
    share = net.op("Div", {best[0], net.op("ReduceSum", {best[0], net.ints({1})}, {{"keepdims", 1}})});
  }

  Term activation(const Net& in, Term y) const { return in.op(twin ? "LeakyRelu" : "Relu", {y}); }
  /// Positions in `chosen` that name this expert.
  Term found(const Net& in, Term expert) const { return in.op("NonZero", {in.op("Equal", {chosen, expert})}); }
  /// `sum` with an expert's results added to the tokens found for it.
  Term add_to(const Net& in, Term sum, Term positions, Term w1, Term w2) const {
    const Term rows = in.op("Gather", {positions, in.index(0)}, {{"axis", 0}});
    const Term part = in.op("GatherND", {share, in.op("Transpose", {positions}, {{"perm", {1, 0}}})});
    const Term mid = in.op("MatMul", {in.op("Gather", {x, rows}, {{"axis", 0}}), w1});
    const Term y = in.op("MatMul", {activation(in, mid), w2});
    const Term scaled = in.op("Mul", {y, in.op("Unsqueeze", {part, in.ints({1})})});
    return in.op("ScatterND", {sum, in.op("Unsqueeze", {rows, in.ints({1})}), scaled}, {{"reduction", "add"}});
  }
};

/// Experts in sequence in a loop; each adds its result for the tokens routed to it.
frazil::Model moe_loop(bool twin) {
  GraphBuilder graph("moe_loop");
  Random random(16, "moe_loop");
  const Net net(graph, random);
  const Experts e(graph, net, twin);
  const Term w1 = net.weight({e.count, e.width, e.inner}), w2 = net.weight({e.count, e.inner, e.width});
  const Body::Fill round = [&](Body& body, Params q) {
    const Net in = net.in(body);
    const auto own = [&](Term w) { return in.op("Gather", {w, q[0]}, {{"axis", 0}}); };
    return Terms{in.op("Identity", {q[1]}), e.add_to(in, q[2], e.found(in, q[0]), own(w1), own(w2))};
  };
  graph.output("y", graph.loop(net.index(e.count), graph.scalar(true), {net.op("Mul", {e.x, net.f(0)})}, round)[0]);
  return graph.build();
}

/// An If per expert: it runs where any token is routed to it.
frazil::Model moe_if(bool twin) {
  GraphBuilder graph("moe_if");
  Random random(17, "moe_if");
  const Net net(graph, random);
  const Experts e(graph, net, twin);
  Term sum = net.op("Mul", {e.x, net.f(0)});
  for (std::int64_t k = 0; k < e.count; ++k) {
    const Term positions = e.found(net, net.index(k)), none = net.index(0), many = net.dim(positions, 1);
    const Term any = twin ? net.op("Less", {none, many}) : net.op("Greater", {many, none});
    const Term w1 = net.weight({e.width, e.inner}), w2 = net.weight({e.inner, e.width});
    const auto add = [&](Body& body) { return Terms{e.add_to(net.in(body), sum, positions, w1, w2)}; };
    sum = graph.if_else(any, add, [&](Body& body) { return Terms{body.op("Identity", {sum})}; })[0];
  }
  graph.output("y", net.op("Identity", {sum}));
  return graph.build();
}

/// All experts on all tokens, and a sum weighted with their shares.
frazil::Model moe_dense(bool twin) {
  GraphBuilder graph("moe_dense");
  Random random(18, "moe_dense");
  const Net net(graph, random);
  const Experts e(graph, net, twin);
  const Term w1 = net.weight({e.count, e.width, e.inner}), w2 = net.weight({e.count, e.inner, e.width});
  const Term shares =
      net.op("ScatterElements", {net.op("Mul", {e.scores, net.f(0)}), e.chosen, e.share}, {{"axis", 1}});
  const Term weights = net.op("Unsqueeze", {net.op("Transpose", {shares}, {{"perm", {1, 0}}}), net.ints({2})});
  const Term mid = e.activation(net, net.op("MatMul", {net.op("Unsqueeze", {e.x, net.ints({0})}), w1}));
  const Term y = net.op("MatMul", {mid, w2});
  const Term scaled = net.op("Mul", twin ? Terms{weights, y} : Terms{y, weights});
  graph.output("y", net.op("ReduceSum", {scaled, net.ints({0})}, {{"keepdims", 0}}));
  return graph.build();
}

constexpr ModelMaker kExperts[] = {{"moe_loop", moe_loop}, {"moe_if", moe_if}, {"moe_dense", moe_dense}};

}  // namespace

std::span<const ModelMaker> expert_models() { return kExperts; }

}  // namespace bench
