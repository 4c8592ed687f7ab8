#include "ops/microsoft/quant_lstm.h"

#include "ops/core/compose.h"
#include "ops/elementwise/math.h"
#include "ops/nn/quant.h"
#include "ops/view/view.h"

namespace frazil::ops::microsoft {
namespace {

/// The weights of one direction, [rows, gates], with a scale and a zero point for all or for each column.
struct Stored {
  Expr weights, scale, zero;
};

/// Returns a parameter with one entry for each direction, or for each direction and column.
Expr by_direction(CompositeCx& cx, std::size_t i, std::string name, const LstmExtents& e) {
  if (cx.rank(i) == 1) return fit(cx.in(i), std::move(name), {e.count});
  if (cx.rank(i) == 2) return fit(cx.in(i), std::move(name), {e.count, e.gates});
  cx.error("input '{}' must have 1 or 2 axes, got {}", name, cx.rank(i));
  return cx.builder().absent();
}

/// Splits the weights in input `i`, whose scale is input `scale`, followed by the zero point.
std::vector<Stored> stored_weights(CompositeCx& cx, std::size_t i, const std::string& name, std::size_t scale,
                                   Expr rows, const LstmExtents& e) {
  const Expr weights = fit(cx.in(i), name, {e.count, rows, e.gates});
  const Expr scales = by_direction(cx, scale, name + "_scale", e);
  const Expr zeros = by_direction(cx, scale + 1, name + "_zero_point", e);
  std::vector<Stored> all;
  for (std::size_t d = 0; cx.status() && d < e.directions; ++d) {
    const auto part = static_cast<std::int64_t>(d);
    all.push_back({pick(cx, weights, 0, part), pick(cx, scales, 0, part), pick(cx, zeros, 0, part)});
  }
  return all;
}

/// Returns x, quantised by its range, times the weights.
Expr quantised_product(CompositeCx& body, Expr x, const Stored& s) {
  const auto outer = [&](Expr e) { return captured(body.builder(), e); };
  const auto q = DynamicQuantizeLinear.call({x}, {}, 3);
  const Expr sum = MatMulInteger(q[0], outer(s.weights), q[2], outer(s.zero));
  return Mul(as_f32(sum), Mul(q[1], outer(s.scale)));
}

}  // namespace

void dynamic_lstm_body(CompositeCx& cx) {
  lstm_with(cx, cx.attrs<DynamicLstmAttrs>(), 1, [&](const LstmExtents& e) -> LstmProducts {
    const auto product = [](std::vector<Stored> all) {
      return [all = std::move(all)](CompositeCx& body, Expr x, std::size_t direction) {
        return quantised_product(body, x, all[direction]);
      };
    };
    return {product(stored_weights(cx, 1, "W", 8, e.inputs, e)), product(stored_weights(cx, 2, "R", 10, e.hidden, e))};
  });
}

}  // namespace frazil::ops::microsoft
