#include "bench/model_maker.h"
#include "bench/net.h"

namespace bench {
namespace {

using frazil::GraphBuilder;
using Params = std::span<const Term>;

/// Two sums and a comparison per iteration.
frazil::Model loop_tiny(bool twin) {
  GraphBuilder graph("loop_tiny");
  const Term x0 = graph.input("x0", Dtype::f32, {1}), n = graph.input("n", Dtype::i64, {});
  const auto limit = [](Body& body, float v) { return body.constant(Array::of<float>({1}, {v})); };
  const Terms done = graph.loop(n, graph.scalar(true), {x0, x0}, [&](Body& body, Params p) {
    if (twin) {
      const Term y = body.op("Sub", {p[3], p[2]}), x = body.op("Mul", {body.scalar(0.9995f), p[2]});
      return Terms{body.op("Greater", {y, limit(body, -1e30f)}), x, y};
    }
    const Term x = body.op("Add", {p[2], body.scalar(1.0f)}), y = body.op("Add", {p[3], x});
    return Terms{body.op("Less", {y, limit(body, 1e30f)}), x, y};
  });
  graph.output("xo", done[0]);
  graph.output("yo", done[1]);
  return graph.build();
}

frazil::Model loop_rnn(bool twin) {
  GraphBuilder graph("loop_rnn");
  Random random(11, "loop_rnn");
  const Net net(graph, random);
  const std::int64_t width = twin ? 96 : 128;
  const Term x = graph.input("x", Dtype::f32, {"n", 1, width}), h0 = graph.input("h0", Dtype::f32, {1, width});
  const Term w = net.weight({width, width});
  const Terms done = graph.loop(
      net.dim(x, 0), graph.scalar(true), {h0},
      [&](Body& body, Params p) {
        const Term product = body.op("MatMul", {p[2], w}), slice = body.op("Gather", {x, p[0]}, {{"axis", 0}});
        const Term h =
            body.op(twin ? "Sigmoid" : "Tanh", {body.op("Add", twin ? Terms{slice, product} : Terms{product, slice})});
        return Terms{body.op("Identity", {p[1]}), h, body.op("Identity", {h})};
      },
      1);
  graph.output("hn", done[0]);
  graph.output("ys", done[1]);
  return graph.build();
}

/// An LSTM cell in elementary operators; the twin has another gate order.
frazil::Model scan_lstm(bool twin) {
  GraphBuilder graph("scan_lstm");
  Random random(12, "scan_lstm");
  const Net net(graph, random);
  const std::int64_t h = twin ? 192 : 256;
  const Term x = graph.input("x", Dtype::f32, {"n", 1, h}), h0 = graph.input("h0", Dtype::f32, {1, h}),
             c0 = graph.input("c0", Dtype::f32, {1, h});
  const Term wx = net.weight({h, 4 * h}), wh = net.weight({h, 4 * h}), bias = net.weight({4 * h}, 0.1);
  const Body::Fill cell = [&](Body& body, Params p) {
    const Net in = net.in(body);
    const Term from_x = in.op("MatMul", {p[2], wx}), from_h = in.op("MatMul", {p[0], wh});
    const Term z = twin ? in.op("Add", {bias, in.op("Add", {from_h, from_x})})
                        : in.op("Add", {in.op("Add", {from_x, from_h}), bias});
    const Terms gate = in.ops("Split", {z, in.ints({h, h, h, h})}, {{"axis", 1}}, 4);
    const Term i = gate[twin ? 3 : 0], o = gate[1], f = gate[twin ? 0 : 2], u = gate[twin ? 2 : 3];
    const Term keep = in.op("Mul", {in.op("Sigmoid", {f}), p[1]});
    const Term take = in.op("Mul", {in.op("Sigmoid", {i}), in.op("Tanh", {u})});
    const Term c = in.op("Add", twin ? Terms{take, keep} : Terms{keep, take});
    const Term out = in.op("Mul", {in.op("Sigmoid", {o}), in.op("Tanh", {c})});
    return Terms{out, c, in.op("Identity", {out})};
  };
  const Terms done = graph.region("Scan", {h0, c0, x}, {{3, cell}}, {{"num_scan_inputs", 1}}, 3);
  graph.output("hn", done[0]);
  graph.output("cn", done[1]);
  graph.output("ys", done[2]);
  return graph.build();
}

frazil::Model if_chain(bool twin) {
  GraphBuilder graph("if_chain");
  Random random(13, "if_chain");
  const Net net(graph, random);
  const std::int64_t width = twin ? 48 : 64;
  Term x = graph.input("x", Dtype::f32, {1, width});
  for (int k = 0; k < (twin ? 80 : 100); ++k) {
    const Term s = net.op("ReduceMean", {x}, {{"keepdims", 0}}), edge = net.f(0.01 * ((k * 37) % 11 - 5));
    const Term low = twin ? net.op("Greater", {edge, s}) : net.op("Less", {s, edge});
    const auto up = [&](Body& body) {
      const Net in = net.in(body);
      const Term w = in.weight({width}, 0.1), b = in.weight({width}, 1);
      return Terms{twin ? in.op("Sub", {b, in.op("Mul", {w, x})}) : in.op("Add", {in.op("Mul", {x, w}), b})};
    };
    const auto down = [&](Body& body) {
      const Net in = net.in(body);
      const Term y = in.op("Sub", {x, in.weight({width}, 0.5)});
      return Terms{in.op("Add", {in.op(twin ? "Abs" : "Relu", {y}), in.f(twin ? -0.4 : -0.3)})};
    };
    x = graph.if_else(low, up, down)[0];
  }
  graph.output("y", net.op("Identity", {x}));
  return graph.build();
}

/// Continues until the norm is small; a different body runs while it is large.
frazil::Model if_in_loop(bool twin) {
  GraphBuilder graph("if_in_loop");
  Random random(14, "if_in_loop");
  const Net net(graph, random);
  const Term x0 = graph.input("x", Dtype::f32, {1, twin ? 96 : 128});
  const auto length = [&](const Net& in, Term x) {
    if (twin) return in.op("Sqrt", {in.op("ReduceSumSquare", {x}, {{"keepdims", 0}})});
    return in.op("Sqrt", {in.op("ReduceSum", {in.op("Mul", {x, x})}, {{"keepdims", 0}})});
  };
  const Body::Fill round = [&](Body& body, Params p) {
    const Net in = net.in(body);
    const Term large = twin ? in.op("Less", {in.f(1), p[3]}) : in.op("Greater", {p[3], in.f(1)});
    const auto shrink = [&](Body& side) {
      const Net then = net.in(side);
      const Term a = then.op("Mul", {p[2], then.f(0.97)}), b = then.op("Mul", {a, then.f(0.003)});
      return Terms{then.op("Sub", {a, b})};
    };
    const auto bend = [&](Body& side) {
      const Net other = net.in(side);
      if (twin) return Terms{other.op("Mul", {other.f(0.982), other.op("Tanh", {p[2]})})};
      return Terms{other.op("Tanh", {other.op("Mul", {p[2], other.f(0.985)})})};
    };
    const Term x = body.if_else(large, shrink, bend)[0], n = length(in, x);
    return Terms{in.op("Greater", {n, in.f(1e-3)}), x, n, in.op("Cast", {p[0]}, {{"to", 1}})};
  };
  const Terms done = graph.loop({}, graph.scalar(true), {x0, length(net, x0)}, round, 1);
  graph.output("xo", done[0]);
  graph.output("no", done[1]);
  graph.output("its", done[2]);
  return graph.build();
}

frazil::Model recurrent(bool twin, const char* op, std::int64_t gates, const frazil::api::Attributes& more,
                        std::size_t outputs) {
  GraphBuilder graph(op);
  Random random(15, op);
  const Net net(graph, random);
  const std::int64_t h = twin ? 192 : 256;
  const Term x = graph.input("x", Dtype::f32, {"seq", "batch", h});
  frazil::api::Attributes attributes = more;
  attributes.emplace_back("hidden_size", h);
  const Term w = net.weight({1, gates * h, h}, 1.0 / 16), r = net.weight({1, gates * h, h}, 1.0 / 16);
  graph.output("y", net.ops(op, {x, w, r, net.weight({1, 2 * gates * h}, 0.1)}, attributes, outputs)[0]);
  return graph.build();
}

frazil::Model lstm(bool twin) { return recurrent(twin, "LSTM", 4, {}, 3); }
frazil::Model gru(bool twin) { return recurrent(twin, "GRU", 3, {{"linear_before_reset", 1}}, 2); }

constexpr ModelMaker kLoops[] = {
    {"loop_tiny", loop_tiny},
    {"loop_rnn", loop_rnn},
    {"scan_lstm", scan_lstm},
    {"if_chain", if_chain},
    {"if_in_loop", if_in_loop},
    {"lstm", lstm},
    {"gru", gru},
};

}  // namespace

std::span<const ModelMaker> loop_models() { return kLoops; }

}  // namespace bench
