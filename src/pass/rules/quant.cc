#include "ops/nn/quant.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/op/axis.h"
#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/math.h"
#include "ops/view/view.h"
#include "pass/engine/rules.h"

// Turns products of dequantised numbers into products of integers. With real = (q - zero) * scale, scales leave the
// sum.
namespace frazil::pass {
namespace {

/// The most terms whose sum surely fits into 32 bits.
constexpr std::int64_t kMaxTerms = INT32_MAX / (255 * 255);

/// A quantised value: real = (q - zero) * scale.
struct Quantised {
  Value q{}, zero{};
  std::vector<float> scale;  ///< one, or one per channel
};

bool is_byte(Elem e) { return e == Elem::u8 || e == Elem::i8; }

/// Returns the numbers of a constant that is a scalar or a list; none for other values.
std::vector<float> list_of(const Constant* c) {
  if (c == nullptr || c->tensor.elem() != Elem::f32 || c->tensor.rank() > 1 || !c->tensor.contiguous()) return {};
  std::vector<float> values(static_cast<std::size_t>(c->tensor.count()));
  std::memcpy(values.data(), c->tensor.data(), c->tensor.bytes());
  return values;
}

/// Returns true for no zero point, one, or one for each of `channels`.
bool is_zero_point(const Graph& graph, Value zero, std::size_t channels) {
  const Constant* c = zero ? graph.constant(zero) : nullptr;
  if (c == nullptr) return !zero;
  const auto count = static_cast<std::size_t>(c->tensor.count());
  return c->tensor.rank() < 2 && (count == 1 || count == channels);
}

bool is_all_zero(const Constant* c) {
  if (c == nullptr || !is_byte(c->tensor.elem()) || !c->tensor.contiguous()) return false;
  const std::span bytes(c->tensor.data(), c->tensor.bytes());
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

/// Matches an input `i` that is dequantised by constant parameters: one for the whole value or, if `channels` is given,
/// one for each index of that axis.
std::optional<Quantised> quantised(const Site& s, std::size_t i, std::optional<std::size_t> channels) {
  const Node* made = s.maker(i, ops::DequantizeLinear);
  if (made == nullptr || s.elem(i) != Elem::f32) return std::nullopt;
  const auto& a = made->attributes<ops::DequantizeAttrs>();
  const Type& type = s.graph.type(made->in[0]);
  Quantised x{.q = made->in[0], .zero = made->in.size() > 2 ? made->in[2] : Value{}, .scale = {}};
  x.scale = list_of(s.graph.constant(made->in[1]));
  if (a.block_size != 0 || !type.ranked || !is_byte(type.elem) || x.scale.empty()) return std::nullopt;
  if (!std::ranges::all_of(x.scale, [](float f) { return std::isfinite(f); })) return std::nullopt;
  const std::size_t count = x.scale.size();
  const bool each = channels && from_front(a.axis, type.rank()) == *channels &&
                    type.shape[*channels] == Dim(static_cast<std::int64_t>(count));
  if ((count > 1 && !each) || !is_zero_point(s.graph, x.zero, each ? count : 1)) return std::nullopt;
  if (x.zero && is_all_zero(s.graph.constant(x.zero))) x.zero = {};
  return x;
}

/// Returns the factors of the sums: a tensor of one element, or one with `behind` axes of extent 1 after the channels.
Expr factors(Builder& to, const Quantised& x, const Quantised& w, float more, std::size_t behind) {
  std::vector<float> values = w.scale;
  for (float& f : values) f *= x.scale[0] * more;
  if (values.size() == 1) return to.constant(Tensor::scalar(values[0]));
  Sizes sizes{static_cast<std::int64_t>(values.size())};
  sizes.resize(1 + behind, 1);
  return to.constant(Tensor::of<float>(std::move(sizes), std::span<const float>(values)));
}

Expr expr(Builder& to, Value v) { return {&to, v}; }

Expr scaled(Expr sum, Expr by) { return ops::Mul(ops::as_elem(sum, Elem::f32), by); }

bool fits_sum(Dim terms) { return terms.is_const() && terms.value() > 0 && terms.value() <= kMaxTerms; }

// ---- matrices ----

struct Matrices {
  Quantised a, b;
};

std::optional<Matrices> matrices(const Site& s, bool transposed) {
  const std::size_t ra = s.type(0).rank(), rb = s.type(1).rank();
  if (ra < 2 || rb < 2) return std::nullopt;
  const auto columns = rb == 2 ? std::optional<std::size_t>(transposed ? 0 : 1) : std::nullopt;
  const auto a = quantised(s, 0, std::nullopt), b = quantised(s, 1, columns);
  if (!a || !b || !fits_sum(s.type(1).shape[transposed ? rb - 1 : rb - 2])) return std::nullopt;
  return Matrices{*a, *b};
}

std::optional<Matrices> of_matmul(const Site& s) { return matrices(s, false); }

Expr make_matmul(const Site&, const Matrices& of, Builder& to) {
  const auto& [a, b] = of;
  const Expr sum = ops::MatMulInteger(expr(to, a.q), expr(to, b.q), expr(to, a.zero), expr(to, b.zero));
  return scaled(sum, factors(to, a, b, 1, 0));
}

/// Returns true for an addend whose extents are surely 1 or the result's.
bool is_addend(const Site& s, std::size_t i) {
  const Shape &own = s.type(i).shape, &all = s.from.type(s.node.out[0]).shape;
  if (s.elem(i) != Elem::f32 || own.size() > all.size()) return false;
  return std::ranges::equal(own, std::span(all).last(own.size()), [](Dim a, Dim b) { return a == Dim(1) || a == b; });
}

std::optional<Matrices> of_gemm(const Site& s) {
  const auto& g = s.attrs<ops::GemmAttrs>();
  if (g.transA != 0 || (s.has(2) && (g.beta != 1 || !is_addend(s, 2)))) return std::nullopt;
  return matrices(s, g.transB != 0);
}

Expr make_gemm(const Site& s, const Matrices& of, Builder& to) {
  const auto& g = s.attrs<ops::GemmAttrs>();
  const auto& [a, b] = of;
  Expr w = expr(to, b.q);
  if (g.transB != 0) w = ops::Transpose({w}, {.perm = {1, 0}});
  const Expr sum = ops::MatMulInteger(expr(to, a.q), w, expr(to, a.zero), expr(to, b.zero));
  const Expr y = scaled(sum, factors(to, a, b, g.alpha, 0));
  return s.has(2) ? ops::Add(y, expr(to, s.in[2])) : y;
}

// ---- convolutions ----

std::optional<Matrices> images(const Site& s) {
  const std::size_t rank = s.type(0).rank();
  if (s.has(2) && (s.elem(2) != Elem::f32 || s.type(2).rank() != 1)) return std::nullopt;
  if (rank < 3 || rank > 4 || s.type(1).rank() != rank) return std::nullopt;
  Dim terms(1);
  for (Dim d : std::span(s.type(1).shape).subspan(1)) {
    if (!fits_sum(d) || !fits_sum(terms)) return std::nullopt;
    terms = Dim(terms.value() * d.value());
  }
  const auto x = quantised(s, 0, std::nullopt), w = quantised(s, 1, 0);
  return x && w && fits_sum(terms) ? std::optional(Matrices{*x, *w}) : std::nullopt;
}

Expr make_conv(const Site& s, const Matrices& of, Builder& to) {
  const auto& [x, w] = of;
  const std::size_t behind = s.type(0).rank() - 2;
  const Expr sum =
      ops::ConvInteger({expr(to, x.q), expr(to, w.q), expr(to, x.zero), expr(to, w.zero)}, s.attrs<ops::ConvAttrs>());
  const Expr y = scaled(sum, factors(to, x, w, 1, behind));
  if (!s.has(2)) return y;
  std::vector<std::int64_t> axes{1, 2};
  axes.resize(behind);
  return ops::Add(y, ops::Unsqueeze(expr(to, s.in[2]), to.ints(axes)));
}

// ---- zero points that are zero ----

bool has_zero(const Site& s, std::size_t i) { return s.has(i) && is_all_zero(s.graph.constant(s.in[i])); }

/// Matches zero points that are zero, if the node has no checks.
bool has_zeros(const Site& s) { return (has_zero(s, 2) || has_zero(s, 3)) && s.node.constraints.empty(); }

Expr make_without_zeros(const Site& s, Builder& to) {
  std::vector<Expr> in;
  for (std::size_t i = 0; i < 4; ++i) {
    in.push_back(s.has(i) && !(i > 1 && has_zero(s, i)) ? expr(to, s.in[i]) : to.absent());
  }
  return to.add(*s.node.op, in, s.node.attrs)[0];
}

// ---- values that stay bytes ----

/// Returns scale and zero point of the whole of `node`'s operand, if they are constants that preserve the order of
/// values.
std::optional<Quantised> of_whole(const Graph& graph, const Node& node, std::int64_t block) {
  const auto list = list_of(graph.constant(node.in[1]));
  constexpr float kMinimum = 1e-30F, kMaximum = 1e30F;
  if (block != 0 || list.size() != 1 || !(list[0] > kMinimum && list[0] < kMaximum)) return std::nullopt;
  Quantised x{.q = node.in[0], .zero = node.in.size() > 2 ? node.in[2] : Value{}, .scale = list};
  return is_zero_point(graph, x.zero, 1) ? std::optional(x) : std::nullopt;
}

std::optional<Quantised> dequantised_whole(const Site& s) {
  const Node* made = s.maker(0, ops::DequantizeLinear);
  if (made == nullptr || s.elem(0) != Elem::f32 || !s.graph.type(made->in[0]).ranked) return std::nullopt;
  if (!is_byte(s.graph.type(made->in[0]).elem)) return std::nullopt;
  return of_whole(s.graph, *made, made->attributes<ops::DequantizeAttrs>().block_size);
}

std::uint8_t byte_of(const Graph& graph, Value zero) {
  return zero ? static_cast<std::uint8_t>(*graph.constant(zero)->tensor.data()) : std::uint8_t{0};
}

/// Matches a quantisation with the parameters of the operand's dequantisation: (x - z) * s / s is exact but for its
/// rounding.
std::optional<Quantised> requantised(const Site& s) {
  const auto x = dequantised_whole(s);
  if (!x) return std::nullopt;
  const Node same{.op = s.node.op,
                  .in = {s.in.begin(), s.in.end()},
                  .out = {},
                  .attrs = {},
                  .blocks = {},
                  .name = {},
                  .constraints = {}};
  const auto y = of_whole(s.graph, same, s.attrs<ops::QuantizeAttrs>().block_size);
  const bool same_numbers = y && x->scale == y->scale && byte_of(s.graph, x->zero) == byte_of(s.graph, y->zero) &&
                            s.graph.type(x->q).elem == s.from.type(s.node.out[0]).elem;
  return same_numbers ? x : std::nullopt;
}

Expr make_bytes(const Site&, const Quantised& x, Builder& to) { return expr(to, x.q); }

/// Matches a pool in which every window has a pixel.
std::optional<Quantised> bytes_of_windows(const Site& s) {
  const auto& a = s.attrs<ops::MaxPoolAttrs>();
  const auto is_one = [](std::int64_t d) { return d == 1; };
  if (s.node.out.size() > 1 || a.ceil_mode != 0 || !std::ranges::all_of(a.dilations, is_one)) return std::nullopt;
  for (std::size_t i = 0; i < a.pads.size(); ++i) {
    if (a.pads[i] < 0 || a.pads[i] >= a.kernel_shape[i % a.kernel_shape.size()]) return std::nullopt;
  }
  return dequantised_whole(s);
}

Expr make_max_of_bytes(const Site& s, const Quantised& x, Builder& to) {
  const Node made = *s.maker(0, ops::DequantizeLinear);  // a copy: adding nodes moves the node table
  const Expr y = ops::MaxPool({expr(to, x.q)}, s.attrs<ops::MaxPoolAttrs>());
  return ops::DequantizeLinear({y, expr(to, made.in[1]), expr(to, x.zero)}, made.attributes<ops::DequantizeAttrs>());
}

using N = Numerics;
constexpr Rule kQuantRules[] = {
    {"integer_matmul", kOps<ops::MatMul>,
     "MatMul(DequantizeLinear(a), DequantizeLinear(b)) of 8 bits -> MatMulInteger(a, b) * scales", N::reassociated,
     found<of_matmul, make_matmul>},
    {"integer_gemm", kOps<ops::Gemm>,
     "Gemm(DequantizeLinear(a), DequantizeLinear(b), c) of 8 bits -> MatMulInteger(a, b) * scales + c", N::reassociated,
     found<of_gemm, make_gemm>},
    {"integer_conv", kOps<ops::Conv>,
     "Conv(DequantizeLinear(x), DequantizeLinear(w), b) of 8 bits -> ConvInteger(x, w) * scales + b", N::reassociated,
     found<images, make_conv>},
    {"zero_points", kOps<ops::MatMulInteger, ops::ConvInteger>, "zero points that are zero -> none", N::exact,
     when<has_zeros, make_without_zeros>},
    {"requantised", kOps<ops::QuantizeLinear>, "QuantizeLinear(DequantizeLinear(x, s, z), s, z) of 8 bits -> x",
     N::exact, found<requantised, make_bytes>},
    {"max_pool_bytes", kOps<ops::MaxPool>, "MaxPool(DequantizeLinear(x, s, z)) -> DequantizeLinear(MaxPool(x), s, z)",
     N::exact, found<bytes_of_windows, make_max_of_bytes>},
};

}  // namespace

std::span<const Rule> quant_rules() { return kQuantRules; }

}  // namespace frazil::pass
