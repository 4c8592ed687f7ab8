#include "ops/random/random.h"

#include <algorithm>
#include <bit>
#include <numbers>
#include <random>

#include "base/limits/execution_limits.h"
#include "base/value/philox.h"
#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/index/cumulative.h"
#include "ops/nn/norm.h"
#include "ops/view/view.h"
#include "tensor/onnx_proto.h"

namespace frazil::ops {

// ---- the source ----

namespace {

bool is_extent(std::int64_t number) { return number >= 0 && number < Dim::kMax; }

/// Returns the error text for a number that is not an extent. A saturated number is not shown because it does not occur
/// in the model.
std::string no_extent(std::int64_t number) {
  return number < 0 ? fmt::format("its shape has a negative extent ({})", number)
                    : fmt::format("an extent of its shape exceeds the limit of {}", Dim::kMax - 1);
}

}  // namespace

Status uniform_types(InferCx& cx) {
  const auto& a = cx.attrs<UniformAttrs>();
  if (a.generator != "philox" && a.generator != "mt19937")
    return cx.error("generator '{}' is neither philox nor mt19937", a.generator);
  if (a.generator == "mt19937" && (!a.seed || *a.seed < 0 || *a.seed > 0xffffffff))
    return cx.error("mt19937 needs a seed in [0, 2^32)");
  FRAZIL_TRY(Shape shape, cx.ints(0));
  const auto outside = std::ranges::find_if(shape, [](Dim d) { return d.is_const() && !is_extent(d.value()); });
  if (outside != shape.end()) return cx.error("{}", no_extent(outside->value()));
  cx.out(0, Type::tensor(Elem::f64, std::move(shape)));
  return {};
}

namespace {

/// The key for nodes without a seed. A model is unlikely to choose it as a seed.
constexpr std::uint64_t kSessionKey = 0x6672617a696c0001;

double unit_of(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>((std::uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

void fill_philox(std::span<double> to, std::uint64_t key, std::uint64_t stream) {
  PollThrottle throttle;
  for (std::size_t i = 0; i < to.size() && !throttle.stop(20); i += 2) {
    const std::uint64_t place = i / 2;
    const auto words = philox({static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32),
                               static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                              key);
    to[i] = unit_of(words[0], words[1]);
    if (i + 1 < to.size()) to[i + 1] = unit_of(words[2], words[3]);
  }
}

void fill_mt19937(std::span<double> to, std::uint32_t seed) {
  std::mt19937 words(seed);
  PollThrottle throttle;
  for (double& x : to) {
    if (throttle.stop(20)) return;
    const std::uint32_t high = words() >> 5, low = words() >> 6;
    x = (high * 0x1p26 + low) * 0x1p-53;
  }
}

}  // namespace

Status uniform_run(OpaqueCall& call) {
  const auto& a = call.attrs<UniformAttrs>();
  const auto extents = call.in(0).as<std::int64_t>();
  const auto outside = std::ranges::find_if_not(extents, is_extent);
  if (outside != extents.end()) {
    return fail(Code::bad_input, "{}", no_extent(*outside));
  }
  const Sizes sizes(extents.begin(), extents.end());
  FRAZIL_TRY(std::byte* const out, call.out(0, sizes));
  const std::span<double> to(reinterpret_cast<double*>(out), static_cast<std::size_t>(element_count(sizes)));
  if (a.generator == "mt19937") {
    fill_mt19937(to, static_cast<std::uint32_t>(*a.seed));
  } else if (a.seed) {
    fill_philox(to, static_cast<std::uint64_t>(*a.seed), static_cast<std::uint64_t>(a.stream));
  } else {
    ExecutionLimits* const session = ExecutionLimits::current();
    fill_philox(to, kSessionKey, session == nullptr ? 0 : session->next_stream());
  }
  return {};
}

Status uniform_of_types(InferCx& cx) {
  for (const std::size_t i : {0, 1, 2}) {
    FRAZIL_CHECK(cx.require_equal(product(cx.scope(), cx.shape(i)), 1, "element counts of count, seed and stream"));
  }
  FRAZIL_TRY(const std::vector<Dim> count, cx.ints(0, 1));
  if (count[0].is_const() && !is_extent(count[0].value())) return cx.error("{}", no_extent(count[0].value()));
  cx.out(0, Type::tensor(Elem::f64, {count[0]}));
  return {};
}

Status uniform_of_run(OpaqueCall& call) {
  const std::int64_t count = call.in(0).integer(0);
  if (!is_extent(count)) return fail(Code::bad_input, "{}", no_extent(count));
  FRAZIL_TRY(std::byte* const out, call.out(0, std::array{count}));
  const std::span<double> to(reinterpret_cast<double*>(out), static_cast<std::size_t>(count));
  fill_philox(to, static_cast<std::uint64_t>(call.in(1).integer(0)), static_cast<std::uint64_t>(call.in(2).integer(0)));
  return {};
}

// ---- operators derived from Uniform ----

namespace {

struct Seed {
  std::optional<float> value;
  UniformAttrs stream(std::int64_t number) const {
    UniformAttrs a{.seed = {}, .stream = number};
    if (value) a.seed = std::bit_cast<std::uint32_t>(*value);
    return a;
  }
};

std::optional<Elem> allowed_elem(CompositeCx& cx, Elem dtype, ElemSet allowed) {
  if (contains(allowed, dtype)) return dtype;
  cx.error("dtype = {}: results of this type are not possible", name_of(dtype));
  return std::nullopt;
}

Expr wide_number(CompositeCx& cx, double x) { return cx.number(Elem::f64, x); }

void uniform_into(CompositeCx& cx, Expr shape, std::optional<Elem> elem, float low, float high, Seed seed) {
  if (!elem) return;
  const Expr u = Uniform({shape}, seed.stream(0));
  const Expr x =
      Add(wide_number(cx, low), Mul(u, wide_number(cx, static_cast<double>(high) - static_cast<double>(low))));
  cx.out(0, as_elem(x, *elem));
}

/// Computes normally distributed numbers by Box-Muller: sqrt(-2 ln(1 - u)) cos(2 pi v).
void normal_into(CompositeCx& cx, Expr shape, std::optional<Elem> elem, float mean, float scale, Seed seed) {
  if (!elem) return;
  const Expr u = Uniform({shape}, seed.stream(0)), v = Uniform({shape}, seed.stream(1));
  const Expr radius = Sqrt(Mul(wide_number(cx, -2), Log(Sub(wide_number(cx, 1), u))));
  const Expr z = Mul(radius, Cos(Mul(wide_number(cx, 2 * std::numbers::pi), v)));
  cx.out(0, as_elem(Add(wide_number(cx, mean), Mul(wide_number(cx, scale), z)), *elem));
}

std::optional<Expr> checked_shape(CompositeCx& cx, const Ints& shape) {
  for (const std::int64_t extent : shape) {
    if (extent >= 0) continue;
    cx.error("shape has the negative extent {}", extent);
    return std::nullopt;
  }
  return cx.ints(shape);
}

}  // namespace

void random_uniform_body(CompositeCx& cx) {
  const auto& a = cx.attrs<RandomUniformAttrs>();
  if (const auto shape = checked_shape(cx, a.shape))
    uniform_into(cx, *shape, allowed_elem(cx, a.dtype, elems::kFloat), a.low, a.high, {a.seed});
}

void random_normal_body(CompositeCx& cx) {
  const auto& a = cx.attrs<RandomNormalAttrs>();
  if (const auto shape = checked_shape(cx, a.shape))
    normal_into(cx, *shape, allowed_elem(cx, a.dtype, elems::kFloat), a.mean, a.scale, {a.seed});
}

void random_uniform_like_body(CompositeCx& cx) {
  const auto& a = cx.attrs<RandomUniformLikeAttrs>();
  const auto elem = allowed_elem(cx, a.dtype.value_or(cx.elem(0)), elems::kFloat);
  uniform_into(cx, ShapeOf({cx.in(0)}), elem, a.low, a.high, {a.seed});
}

void random_normal_like_body(CompositeCx& cx) {
  const auto& a = cx.attrs<RandomNormalLikeAttrs>();
  const auto elem = allowed_elem(cx, a.dtype.value_or(cx.elem(0)), elems::kFloat);
  normal_into(cx, ShapeOf({cx.in(0)}), elem, a.mean, a.scale, {a.seed});
}

void bernoulli_body(CompositeCx& cx) {
  const auto& a = cx.attrs<BernoulliAttrs>();
  const auto elem = allowed_elem(cx, a.dtype.value_or(cx.elem(0)), elems::kNumeric | elems::kBool);
  if (!elem) return;
  const Expr u = Uniform({ShapeOf({cx.in(0)})}, Seed{a.seed}.stream(0));
  cx.out(0, as_elem(Less(u, as_elem(cx.in(0), Elem::f64)), *elem));
}

Expr drawn_classes(CompositeCx& cx, Expr scores, Expr numbers) {
  const Expr p = Softmax({as_elem(scores, Elem::f64)}, {.axis = 1});
  const Expr below = Unsqueeze({CumSum({p, cx.number(Elem::i64, 1)}), cx.ints({1})});
  const Expr passed = as_elem(LessOrEqual(below, Unsqueeze({numbers, cx.ints({2})})), Elem::i64);
  const Expr drawn = ReduceSum({passed, cx.ints({2})}, {.keepdims = 0});
  return Min2(drawn, Sub(extent_scalar(p, 1), cx.number(Elem::i64, 1)));
}

void multinomial_body(CompositeCx& cx) {
  const auto& a = cx.attrs<MultinomialAttrs>();
  const auto elem = allowed_elem(cx, a.dtype, elems::kIndex);
  if (cx.rank(0) != 2) cx.error("input 'input' must have 2 axes, got {}", cx.rank(0));
  if (a.sample_size < 1) cx.error("sample_size must be positive, got {}", a.sample_size);
  if (!elem || !cx.status()) return;
  const Expr u = Uniform({join_shape({extent(cx.in(0), 0), int1(cx, a.sample_size)})}, Seed{a.seed}.stream(0));
  cx.out(0, as_elem(drawn_classes(cx, cx.in(0), u), *elem));
}

namespace {

/// Returns whether input i is known to be zero. Returns `otherwise` for an absent input.
bool known_zero(CompositeCx& cx, std::size_t i, bool otherwise) {
  if (!cx.has(i)) return otherwise;
  const Graph& graph = cx.builder().graph();
  if (const Constant* c = graph.constant(cx.in(i).value)) return c->tensor.count() == 1 && c->tensor.number_at(0) == 0;
  const auto* known = graph.known_value(cx.in(i).value);
  return known && known->size() == 1 && (*known)[0] == Dim(0);
}

/// Returns an input of one element as a scalar.
Expr scalar_input(Expr x, const char* name) {
  return Reshape({Fit({x, x.builder->ints(std::array<std::int64_t, 1>{1})}, {.name = name, .broadcasts = 1}),
                  x.builder->ints({})});
}

}  // namespace

void dropout_body(CompositeCx& cx) {
  const Expr x = cx.in(0), shape = ShapeOf({x});
  if (known_zero(cx, 2, true) || known_zero(cx, 1, false)) {
    cx.out(0, x);
    if (cx.output_count() > 1) cx.out(1, Expand({cx.builder().scalar(true), shape}));
    return;
  }
  const Elem elem = cx.elem(0);
  if (!contains(elems::kFloat, elem)) return cx.error("input 'data' of {} cannot be dropped", name_of(elem));
  UniformAttrs source;
  if (const auto seed = cx.attrs<DropoutAttrs>().seed) source = {.seed = seed, .generator = "mt19937"};
  const Expr training = scalar_input(cx.in(2), "training_mode");
  const Expr ratio = cx.has(1) ? as_elem(scalar_input(cx.in(1), "ratio"), Elem::f64) : wide_number(cx, 0.5);
  const Expr keep = GreaterOrEqual(Uniform({shape}, source), ratio);
  const Expr scale = as_elem(Reciprocal(Sub(wide_number(cx, 1), ratio)), elem);
  const Expr dropped = Where(keep, Mul(x, scale), cx.number(elem, 0));
  cx.out(0, Where(training, dropped, x));
  if (cx.output_count() > 1) cx.out(1, Or(keep, Not(training)));
}

}  // namespace frazil::ops
