#include "ops/microsoft/quant.h"

#include <bit>

#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/nn/quant.h"
#include "ops/view/view.h"

namespace frazil::ops::microsoft {

Expr unpacked_bits(CompositeCx& cx, Expr bytes, std::int64_t bits) {
  if (bits == 8) return bytes;
  const auto rank = static_cast<std::int64_t>(bytes.type().rank());
  const Expr mask = cx.number(Elem::u8, static_cast<double>((1 << bits) - 1));
  std::vector<Expr> parts;
  for (std::int64_t shift = 0; shift < 8; shift += bits) {
    const Expr moved = BitShift({bytes, cx.number(Elem::u8, static_cast<double>(shift))}, {.direction = "RIGHT"});
    parts.push_back(Unsqueeze({BitwiseAnd(moved, mask), cx.ints({rank})}));
  }
  const Expr all = Concat(std::span<const Expr>(parts), {.axis = rank});
  return MergeAxes({all}, {.axis = rank - 1, .count = 2});
}

bool is_extent(CompositeCx& cx, std::string_view name, std::int64_t value) {
  constexpr std::int64_t end = std::int64_t{1} << 31;
  if (value >= 1 && value < end) return true;
  cx.error("{} {} is outside [1, {})", name, value, end);
  return false;
}

bool is_block_size(CompositeCx& cx, std::int64_t size) {
  if (size >= 16 && std::has_single_bit(static_cast<std::uint64_t>(size))) return true;
  cx.error("block_size {} is not a power of two of at least 16", size);
  return false;
}

namespace {

bool has_blocks(CompositeCx& cx) {
  const auto& a = cx.attrs<MatMulNBitsAttrs>();
  if (!is_extent(cx, "K", a.K) || !is_extent(cx, "N", a.N) || !is_extent(cx, "block_size", a.block_size)) return false;
  if (!is_block_size(cx, a.block_size)) return false;
  if (a.bits != 2 && a.bits != 4 && a.bits != 8) {
    cx.error("bits must be 2, 4 or 8, got {}", a.bits);
    return false;
  }
  return left_out(cx, "weight_prepacked", a.weight_prepacked == 0) && input_left_out(cx, 4, "g_idx");
}

/// Returns a parameter per block, [N, blocks, 1], in compute type.
Expr per_block(CompositeCx& cx, Expr parameter, std::int64_t columns, std::int64_t blocks) {
  return widened(Reshape({parameter, cx.ints({columns, blocks, 1})}));
}

Expr zero_points(CompositeCx& cx, std::int64_t blocks, Elem elem) {
  const auto& a = cx.attrs<MatMulNBitsAttrs>();
  if (!cx.has(3)) return cx.number(elem, static_cast<double>(1 << (a.bits - 1)));
  if (cx.elem(3) != Elem::u8) return as_elem(per_block(cx, cx.in(3), a.N, blocks), elem);
  const Expr bytes = Reshape({cx.in(3), cx.ints({a.N, (blocks * a.bits + 7) / 8})});
  const Expr points = cut(cx, unpacked_bits(cx, bytes, a.bits), 1, int1(cx, 0), int1(cx, blocks));
  return as_elem(Unsqueeze({points, cx.ints({2})}), elem);
}

/// Returns the weights, [K, N].
Expr weights(CompositeCx& cx, Elem elem) {
  const auto& a = cx.attrs<MatMulNBitsAttrs>();
  const std::int64_t blocks = (a.K + a.block_size - 1) / a.block_size, bytes = a.block_size * a.bits / 8;
  const Expr packed = fit(cx.in(1), "B", {int1(cx, a.N), int1(cx, blocks), int1(cx, bytes)});
  const Expr centred = Sub(as_elem(unpacked_bits(cx, packed, a.bits), elem), zero_points(cx, blocks, elem));
  const Expr real = MergeAxes({Mul(centred, per_block(cx, cx.in(2), a.N, blocks))}, {.axis = 1, .count = 2});
  return Transpose({blocks * a.block_size == a.K ? real : cut(cx, real, 1, int1(cx, 0), int1(cx, a.K))},
                   {.perm = {1, 0}});
}

/// Returns x + bias along the last axis, or x without a bias.
Expr with_bias(CompositeCx& cx, Expr x, std::size_t bias) {
  return cx.has(bias) ? Add(x, widened(fit(cx.in(bias), "bias", {extent(x, -1)}))) : x;
}

/// Returns the parameter of a whole matrix as a scalar.
Expr whole(CompositeCx& cx, std::size_t i, std::string name) {
  const Expr x = cx.in(i);
  return x.type().rank() == 0 ? x : Squeeze({fit(x, std::move(name), {int1(cx, 1)}), cx.ints({0})});
}

}  // namespace

void matmul_nbits_body(CompositeCx& cx) {
  if (!has_blocks(cx)) return;
  const Expr a = widened(cx.in(0));
  cx.out(0, as_elem(with_bias(cx, MatMul(a, weights(cx, a.type().elem)), 5), cx.elem(0)));
}

void dynamic_matmul_body(CompositeCx& cx) {
  const auto a = DynamicQuantizeLinear.call({cx.in(0)}, {}, 3);
  const Expr zero = cx.has(3) ? cx.in(3) : cx.builder().absent();
  const Expr sum = MatMulInteger(a[0], cx.in(1), a[2], zero);
  cx.out(0, with_bias(cx, Mul(as_elem(sum, Elem::f32), Mul(a[1], cx.in(2))), 4));
}

void matmul_to_float_body(CompositeCx& cx) {
  const Expr none = cx.builder().absent();
  const Expr a_zero = cx.has(4) ? whole(cx, 4, "a_zero_point") : none, b_zero = cx.has(5) ? cx.in(5) : none;
  const Expr sum = MatMulInteger(cx.in(0), cx.in(1), a_zero, b_zero);
  const Expr unit = Mul(widened(whole(cx, 2, "a_scale")), widened(cx.in(3)));
  cx.out(0, as_elem(with_bias(cx, Mul(as_elem(sum, Elem::f32), unit), 6), cx.elem(2)));
}

void qgemm_body(CompositeCx& cx) {
  const auto& g = cx.attrs<QGemmAttrs>();
  if (!has_rank(cx, 0, 2) || !has_rank(cx, 3, 2)) return;
  if (cx.has(7) != cx.has(8)) return cx.error("y_scale and y_zero_point are given together or not at all");
  Expr a = cx.in(0), b = cx.in(3);
  if (g.transA != 0) a = Transpose({a}, {.perm = {1, 0}});
  if (g.transB != 0) b = Transpose({b}, {.perm = {1, 0}});
  Expr sum = MatMulInteger(a, b, whole(cx, 2, "a_zero_point"), cx.in(5));
  if (cx.has(6)) sum = Add(sum, fit_broadcast(cx.in(6), "C", sum));
  const Expr unit = Mul(Mul(whole(cx, 1, "a_scale"), cx.in(4)), cx.number(Elem::f32, g.alpha));
  const Expr y = Mul(as_elem(sum, Elem::f32), unit);
  if (!cx.has(7)) return cx.out(0, y);
  cx.out(0, requantized(cx, Div(y, whole(cx, 7, "y_scale")), whole(cx, 8, "y_zero_point"), cx.elem(8)));
}

}  // namespace frazil::ops::microsoft
