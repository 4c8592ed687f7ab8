#include "ops/microsoft/block_quant.h"

#include "ir/op/axis.h"
#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/index/index.h"
#include "ops/microsoft/quant.h"
#include "ops/view/view.h"

namespace frazil::ops::microsoft {
namespace {

/// The parameters of a table. Both axes count from the front.
struct Table {
  std::int64_t gathered, divided, block, bits;  ///< bits: 0 unless numbers are packed in bytes
  bool real;                                    ///< the numbers are floats
};

std::optional<std::int64_t> table_axis(CompositeCx& cx, std::string_view name, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(cx.rank(0));
  if (axis >= -rank && axis < rank) return static_cast<std::int64_t>(from_front(axis, cx.rank(0)));
  cx.error("{} {} is outside [{}, {})", name, axis, -rank, rank);
  return std::nullopt;
}

bool is_packed_table(CompositeCx& cx, const Table& t) {
  if (t.bits != 2 && t.bits != 4 && t.bits != 8) cx.error("bits must be 2, 4 or 8, got {}", t.bits);
  if (t.gathered != 0) cx.error("gather_axis of u8 data must be 0, got {}", t.gathered);
  if (t.divided + 1 != static_cast<std::int64_t>(cx.rank(0)) || t.divided == 0) {
    cx.error("quantize_axis of u8 data must be the last of at least 2 axes, got {} of {}", t.divided, cx.rank(0));
  }
  return static_cast<bool>(cx.status());
}

std::optional<Table> table_of(CompositeCx& cx) {
  const auto& a = cx.attrs<GatherBlockAttrs>();
  const auto gathered = table_axis(cx, "gather_axis", a.gather_axis);
  const auto divided = table_axis(cx, "quantize_axis", a.quantize_axis);
  if (!gathered || !divided) return std::nullopt;
  const Elem elem = cx.elem(0);
  const Table t{*gathered, *divided, a.block_size, elem == Elem::u8 ? a.bits : 0, is_float(elem)};
  if (!(t.real && t.block == 0) && !is_block_size(cx, t.block)) return std::nullopt;
  if (elem == Elem::u8 && !is_packed_table(cx, t)) return std::nullopt;
  if ((elem == Elem::u4 || elem == Elem::i4) && a.bits != 4) {
    cx.error("bits of {} data must be 4, got {}", name_of(elem), a.bits);
    return std::nullopt;
  }
  if (t.real && cx.has(3)) {
    cx.error("{} data has no zero_points", name_of(elem));
    return std::nullopt;
  }
  return t;
}

/// Returns ceil(x / divisor).
Expr quotient_up(CompositeCx& cx, Expr x, std::int64_t divisor) {
  return Div(Add(x, int1(cx, divisor - 1)), int1(cx, divisor));
}

/// Returns the number of blocks along each axis, 1-D.
Expr block_counts(CompositeCx& cx, const Table& t) {
  const std::int64_t per_byte = t.bits == 0 ? 1 : 8 / t.bits;
  std::vector<Expr> counts;
  for (std::size_t i = 0; i < cx.rank(0); ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    const Expr size = extent(cx.in(0), axis);
    const Expr numbers = per_byte == 1 ? size : Mul(size, int1(cx, per_byte));
    counts.push_back(axis != t.divided ? size : t.block == 0 ? int1(cx, 1) : quotient_up(cx, numbers, t.block));
  }
  return Concat(std::span<const Expr>(counts), {.axis = 0});
}

/// Returns the scales with one entry for each block.
Expr scales_of(CompositeCx& cx, const Table& t) {
  const Expr counts = block_counts(cx, t);
  if (!t.real) return Fit({cx.in(2), counts}, {.name = "scales"});
  return Expand({Fit({cx.in(2), counts}, {.name = "scales", .broadcasts = 1}), counts});
}

/// Returns the slices of zero points, with one entry for each slice of `scales`.
Expr points_of(CompositeCx& cx, const Table& t, Expr place, Expr scales) {
  if (!cx.has(3)) {
    const double middle = t.bits == 0 ? 0 : static_cast<double>(1 << (t.bits - 1));
    return Expand({cx.number(cx.elem(0), middle), ShapeOf({scales})});
  }
  const Expr given = Gather({cx.in(3), place}, {.axis = t.gathered});
  if (t.bits == 0 || t.bits == 8) return given;
  const Expr points = unpacked_bits(cx, given, t.bits);
  return cut(cx, points, -1, int1(cx, 0), extent(scales, -1));
}

/// Returns true for the indices of slices that the table has, and these indices counted from the front, 0 for others.
struct Places {
  Expr valid, index;
};
Places places_of(CompositeCx& cx, const Table& t) {
  const Expr given = as_elem(cx.in(1), Elem::i64), size = extent_scalar(cx.in(0), t.gathered);
  const Expr zero = cx.number(Elem::i64, 0);
  const Expr index = Where(Less(given, zero), Add(given, size), given);
  const Expr valid = And(GreaterOrEqual(index, zero), Less(index, size));
  return {valid, Where(valid, index, zero)};
}

}  // namespace

void gather_block_body(CompositeCx& cx) {
  const auto t = table_of(cx);
  if (!t) return;
  if (!has_rank(cx, 2, cx.rank(0)) || (cx.has(3) && !has_rank(cx, 3, cx.rank(0)))) return;
  const auto [valid, index] = places_of(cx, *t);
  const bool same_axis = t->gathered == t->divided;
  const Expr block = same_axis && t->block > 0 ? Div(index, cx.number(Elem::i64, static_cast<double>(t->block)))
                     : same_axis               ? Mul(index, cx.number(Elem::i64, 0))
                                               : index;
  Expr data = Gather({cx.in(0), index}, {.axis = t->gathered});
  if (t->bits != 0) data = unpacked_bits(cx, data, t->bits);
  const Expr scales = Gather({scales_of(cx, *t), block}, {.axis = t->gathered});
  Expr y;
  if (t->real && (t->block == 0 || same_axis)) {
    y = Mul(as_f32(data), as_f32(scales));
  } else if (same_axis) {
    y = Mul(Sub(as_f32(data), as_f32(points_of(cx, *t, block, scales))), as_f32(scales));
  } else {
    const auto moved = static_cast<std::int64_t>(cx.rank(1)) - 1;
    DequantizeAttrs blocks;
    blocks.axis = t->divided < t->gathered ? t->divided : t->divided + moved;
    blocks.block_size = t->block;
    const Expr points = t->real ? cx.builder().absent() : points_of(cx, *t, block, scales);
    y = ops::DequantizeLinear({data, scales, points}, blocks);
  }
  if (!cx.builder().status()) return;
  const Elem to = cx.elem(2);
  const auto behind = cx.rank(0) - 1 - static_cast<std::size_t>(t->gathered);
  cx.out(0, Where(append_unit_axes(cx, valid, behind), as_elem(y, to), cx.number(to, 0)));
}

// ---- 4-bit floats ----

namespace {

constexpr std::size_t kCodes = 16;
/// FP4: a sign bit, then 3 bits that name a magnitude. NF4: quantiles of the normal distribution.
constexpr std::array<float, kCodes> kFp4{
    0.0f,  5.208333333e-03f,  0.66666667f,  1.0f,  0.33333333f,  0.5f,  0.16666667f,  0.25f,
    -0.0f, -5.208333333e-03f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f};
constexpr std::array<float, kCodes> kNf4{-1.0f,
                                         -0.6961928009986877f,
                                         -0.5250730514526367f,
                                         -0.39491748809814453f,
                                         -0.28444138169288635f,
                                         -0.18477343022823334f,
                                         -0.09105003625154495f,
                                         0.0f,
                                         0.07958029955625534f,
                                         0.16093020141124725f,
                                         0.24611230194568634f,
                                         0.33791524171829224f,
                                         0.44070982933044434f,
                                         0.5626170039176941f,
                                         0.7229568362236023f,
                                         1.0f};

bool is_bnb4(CompositeCx& cx) {
  const auto& a = cx.attrs<MatMulBnb4Attrs>();
  if (!is_extent(cx, "K", a.K) || !is_extent(cx, "N", a.N) || !is_block_size(cx, a.block_size)) return false;
  if (a.quant_type == 0 || a.quant_type == 1) return true;
  cx.error("quant_type must be 0 or 1, got {}", a.quant_type.value_or(-1));
  return false;
}

/// Returns the weights, [N, K].
Expr bnb4_weights(CompositeCx& cx, Elem elem) {
  const auto& a = cx.attrs<MatMulBnb4Attrs>();
  const std::int64_t count = a.N * a.K, blocks = (count - 1) / a.block_size + 1, padded = blocks * a.block_size;
  const Expr bytes = fit(cx.in(1), "B", {int1(cx, (count - 1) / 2 + 1)});
  const Expr four = cx.number(Elem::u8, 4), mask = cx.number(Elem::u8, 15);
  const Expr high = Unsqueeze({BitShift({bytes, four}, {.direction = "RIGHT"}), cx.ints({1})});
  const Expr low = Unsqueeze({BitwiseAnd(bytes, mask), cx.ints({1})});
  const Expr codes = MergeAxes({Concat({high, low}, {.axis = 1})}, {.axis = 0, .count = 2});
  const Expr numbers = FourBitNumber({as_f32(codes)}, {.quant_type = *a.quant_type});
  const Expr absmax = Unsqueeze({as_f32(fit(cx.in(2), "absmax", {int1(cx, blocks)})), cx.ints({1})});
  if (padded == count) {
    return as_elem(Reshape({Mul(Reshape({numbers, cx.ints({blocks, a.block_size})}), absmax), cx.ints({a.N, a.K})}),
                   elem);
  }
  const Expr spread = Reshape({Expand({absmax, cx.ints({blocks, a.block_size})}), cx.ints({padded})});
  const auto used = [&](Expr x) { return cut(cx, x, 0, int1(cx, 0), int1(cx, count)); };
  return as_elem(Reshape({Mul(used(numbers), used(spread)), cx.ints({a.N, a.K})}), elem);
}

}  // namespace

Sx four_bit_number(Sx code, const FourBitAttrs& a) {
  const auto& numbers = a.quant_type == 1 ? kNf4 : kFp4;
  Sx y = lit(code, numbers[0]);
  for (std::size_t k = 1; k < kCodes; ++k) y = select(gt(code, static_cast<double>(k) - 0.5), double{numbers[k]}, y);
  return y;
}

Status check_four_bit(const void* attrs) {
  const std::int64_t type = static_cast<const FourBitAttrs*>(attrs)->quant_type;
  if (type == 0 || type == 1) return {};
  return fail(Code::bad_model, "quant_type must be 0 or 1, got {}", type);
}

void matmul_bnb4_body(CompositeCx& cx) {
  if (!is_bnb4(cx)) return;
  const Expr a = widened(cx.in(0)), w = bnb4_weights(cx, a.type().elem);
  const bool transposed = cx.attrs<MatMulBnb4Attrs>().transB != 0;
  cx.out(0, as_elem(MatMul(a, transposed ? Transpose({w}, {.perm = {1, 0}}) : w), cx.elem(0)));
}

}  // namespace frazil::ops::microsoft
