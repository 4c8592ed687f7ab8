#include "ref/ref.h"

#include <cmath>
#include <limits>

#include "ops/contraction/contraction.h"
#include "ops/control/sequence.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/index/index.h"
#include "ops/nn/norm.h"
#include "ops/nn/recurrent.h"
#include "ops/view/view.h"
#include "ref_testing.h"

namespace frazil::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

// ---- inputs ----

TEST(RefInputs, BindsNamedSymbols) {
  Net net;
  const Dim n = net.b.dim("N");
  net.b.output("y", ops::Add({net.input("a", Elem::f32, {n, 2}), net.input("b", Elem::f32, {n, 2})}));
  expect_same(net.one({f32({1, 2}, {1, 2}), f32({1, 2}, {3, 4})}), f32({1, 2}, {4, 6}));
  EXPECT_EQ(net.error({f32({1, 2}, {1, 2}), f32({2, 2}, {1, 2, 3, 4})}, Code::bad_input),
            "input 'b': expected f32[N,2] with N = 1 as in input 'a', got f32[2,2]");
  EXPECT_EQ(net.error({f32({1, 2}, {1, 2}), f32({3, 4})}, Code::bad_input), "input 'b': expected f32[N,2], got f32[2]");
  EXPECT_EQ(net.error({f32({1, 2}, {1, 2}), i64({1})}, Code::bad_input), "input 'b': expected f32[N,2], got i64[1]");
  EXPECT_EQ(net.error({f32({1, 3}, {1, 2, 3})}, Code::bad_input), "input 'a': expected f32[N,2], got f32[1,3]");
  EXPECT_EQ(net.error({f32({1, 2}, {1, 2})}, Code::bad_input), "input 'b' is missing: expected f32[N,2]");
}

TEST(RefInputs, ChecksBoundsAndExpressions) {
  Net net;
  const Dim n = net.b.dim("N", {1, 4});
  const Dim twice = const_cast<Scope&>(net.graph.scope()).mul(n, 2);
  const Expr a = net.input("a", Elem::f32, {n});
  net.input("b", Elem::f32, {twice});
  net.b.output("y", ops::Neg(a));
  EXPECT_TRUE(net.run({f32({1}), f32({1, 2})}));
  EXPECT_EQ(net.error({f32({1}), f32({1})}, Code::bad_input), "input 'b': expected f32[2*N] with 2*N = 2, got f32[1]");
  EXPECT_EQ(net.error({f32({1, 2, 3, 4, 5}), f32({1})}, Code::bad_input),
            "input 'a': expected f32[N] with N in [1, 4], got f32[5]");
}

TEST(RefInputs, UsesDefaults) {
  Net net;
  const Expr a = net.input("a", Elem::f32, {1});
  net.b.output("y", ops::Add(a, net.b.input("b", Type::tensor(Elem::f32, {1}), f32({10}))));
  expect_same(net.one({f32({1})}), f32({11}));
  expect_same(net.one({f32({1}), Datum()}), f32({11}));
  expect_same(net.one({f32({1}), Tensor()}), f32({11}));
  expect_same(net.one({f32({1}), f32({2})}), f32({3}));
}

TEST(RefInputs, StridedAndUnalignedInputsArePacked) {
  Net net;
  net.b.output("y", ops::Neg(net.input("a", Elem::f32, {2, 2})));
  const Tensor t = f32({2, 2}, {1, 2, 3, 4});
  expect_same(net.one({Tensor(Elem::f32, {2, 2}, {1, 2}, t.buffer(), 0)}), f32({2, 2}, {-1, -3, -2, -4}));
}

// ---- elementwise ----

template <class T>
Tensor binary_of(const OpDef& op, std::initializer_list<T> a, std::initializer_list<T> b, Attrs attrs = nullptr) {
  Net net;
  const auto n = static_cast<std::int64_t>(a.size());
  const std::array in{net.input("a", elem_of<T>(), {n}), net.input("b", elem_of<T>(), {n})};
  net.b.output("y", net.b.add(op, in, std::move(attrs))[0]);
  return net.one({vec(a), vec(b)});
}

TEST(RefElementwise, IntegersWrapAndAreTotal) {
  using B = std::int8_t;
  expect_same(binary_of<B>(ops::Add, {127, -128}, {1, -1}), vec<B>({-128, 127}));
  expect_same(binary_of<B>(ops::Div, {-128, 7, -7, 5}, {-1, 0, 2, -2}), vec<B>({-128, 0, -3, -2}));
  expect_same(binary_of<B>(ops::Mod, {-7, 7, 5, -128}, {3, -3, 0, -1}), vec<B>({2, -2, 0, 0}));
  const Attrs c = std::make_shared<const ops::ModAttrs>(ops::ModAttrs{.fmod = 1});
  expect_same(binary_of<B>(ops::Mod, {-7, 7, 5}, {3, -3, 0}, c), vec<B>({-1, 1, 0}));
  expect_same(binary_of<std::int32_t>(ops::Pow, {3, -1, 2, 1, -1}, {4, -3, -1, -5, -2}),
              vec<std::int32_t>({81, -1, 0, 1, 1}));
}

TEST(RefElementwise, FloatsFollowTheTable) {
  const Tensor r = binary_of<float>(ops::Mod, {-6, 6, 0, -5}, {3, -3, -1, 3},
                                    std::make_shared<const ops::ModAttrs>(ops::ModAttrs{.fmod = 0}));
  expect_same(r, f32({0.0f, -0.0f, -0.0f, 1}));
  expect_same(binary_of<float>(ops::Div, {1, 0}, {0, 5}), f32({kInf, 0}));
  const Tensor powers = binary_of<float>(ops::Pow, {2, -8, 0}, {0.5f, 2, 0});
  expect_same(powers, f32({std::sqrt(2.0f), 64, 1}));
}

TEST(RefElementwise, CastsTruncateSaturateAndWrap) {
  const auto cast = [](const Tensor& from, Elem to) {
    Net net;
    net.b.output("y", ops::Cast({net.input("a", from.elem(), {from.sizes()[0]})}, {.to = to}));
    return net.one({from});
  };
  expect_same(cast(f32({1.9f, -1.9f, 300, -300, kNan, kInf}), Elem::i8), vec<std::int8_t>({1, -1, 127, -128, 0, 127}));
  expect_same(cast(f32({-1, 3e9f, 5e9f}), Elem::u32), vec<std::uint32_t>({0, 3000000000u, 4294967295u}));
  expect_same(cast(f32({0, -0.0f, kNan, 0.5f}), Elem::boolean), vec<bool>({false, false, true, true}));
  expect_same(cast(i64({300, -1}), Elem::u8), vec<std::uint8_t>({44, 255}));
  expect_same(cast(f32({1e30f, -kInf}), Elem::i64), i64({INT64_MAX, INT64_MIN}));
  EXPECT_EQ(cast(f32({1.0f + 0x1p-11f, 65520}), Elem::f16).as<std::uint16_t>()[0], 0x3c00);
  EXPECT_EQ(cast(i64({9, -9}), Elem::i4).as<std::int8_t>()[0], -7);
}

TEST(RefElementwise, SmallFloatsComputeInFloatAndRoundOnce) {
  Net net;
  net.b.output("y", ops::Add({net.input("a", Elem::f16, {2}), net.input("b", Elem::f16, {2})}));
  const Tensor sum = net.one({vec<Half>({Half(2048), Half(60000)}), vec<Half>({Half(1), Half(60000)})});
  expect_same(sum, vec<Half>({Half(2048), Half(kInf)}));
}

TEST(RefElementwise, Broadcasts) {
  Net net;
  net.b.output("y", ops::Mul({net.input("a", Elem::f32, {2, 1, 2}), net.input("b", Elem::f32, {3, 1})}));
  expect_same(net.one({f32({2, 1, 2}, {1, 2, 3, 4}), f32({3, 1}, {1, 10, 100})}),
              f32({2, 3, 2}, {1, 2, 10, 20, 100, 200, 3, 4, 30, 40, 300, 400}));
}

TEST(RefElementwise, BroadcastOfSymbolsIsCheckedAtRunTime) {
  Net net;
  const Expr a = net.input("a", Elem::f32, {net.b.dim("N")});
  const std::array in{a, net.input("b", Elem::f32, {net.b.dim("M")})};
  net.b.output("y", net.b.add(ops::Add, in, nullptr, 1, "sum")[0]);
  expect_same(net.one({f32({1, 2}), f32({5})}), f32({6, 7}));
  EXPECT_TRUE(net.error({f32({1, 2}), f32({1, 2, 3})}, Code::bad_input).starts_with("node 'sum' (Add): "));
}

TEST(RefElementwise, ManyElementsAndNone) {
  Net net;
  const Dim n = net.b.dim("N");
  net.b.output("y", ops::Add(net.input("a", Elem::f32, {n, 3}), net.b.scalar(1.0f)));
  Tensor big = Tensor::make(Elem::f32, {1001, 3}).value();
  for (std::size_t i = 0; i < 3003; ++i) big.as_mutable<float>()[i] = static_cast<float>(i);
  const Tensor result = net.one({big});
  for (std::size_t i = 0; i < 3003; ++i) ASSERT_EQ(result.as<float>()[i], static_cast<float>(i + 1));
  EXPECT_EQ(net.one({f32({0, 3}, {})}).sizes(), (Sizes{0, 3}));
}

inline constexpr std::array<Port, 2> kAny{{{"A", "T", elems::kTensor}, {"B", "T", elems::kTensor}}};
constexpr auto kSame = elementwise<2>({"Same", 1}, {kAny, kPortBool}, [](Sx a, Sx b) { return eq(a, b); });
constexpr auto kTimes = elementwise<2>({"Times", 1}, {kAny, kPortY<elems::kTensor>}, [](Sx a, Sx b) { return a * b; });

TEST(RefElementwise, StringsAndComplexNumbers) {
  expect_same(binary_of<std::string>(kSame, {"a", "b"}, {"a", "a long string that is on the heap"}),
              vec<bool>({true, false}));
  using C = std::complex<float>;
  expect_same(binary_of<C>(kTimes, {C(1, 2), C(0, 1)}, {C(3, 4), C(0, 1)}), vec<C>({C(-5, 10), C(-1, 0)}));
  Net net;
  const std::array in{net.input("a", Elem::string, {1}), net.input("b", Elem::string, {1})};
  net.b.output("y", net.b.add(kTimes, in, nullptr, 1, "x")[0]);
  EXPECT_EQ(net.error({vec<std::string>({"a"}), vec<std::string>({"b"})}, Code::unsupported),
            "node 'x' (Times): mul is not defined for string");
}

constexpr auto kLeft = elementwise<2>({"Left", 1}, binary<elems::kInt>, [](Sx a, Sx b) { return shl(a, b); });
constexpr auto kRight = elementwise<2>({"Right", 1}, binary<elems::kInt>, [](Sx a, Sx b) { return shr(a, b); });
constexpr auto kLarger = elementwise<2>({"Larger", 1}, binary<elems::kFloat>, [](Sx a, Sx b) { return max(a, b); });

TEST(RefElementwise, ShiftsAndExtremes) {
  using B = std::int8_t;
  expect_same(binary_of<B>(kLeft, {1, 1, 1, -1}, {7, 8, -1, 1}), vec<B>({-128, 0, 0, -2}));
  expect_same(binary_of<B>(kRight, {-128, -1, 64, -1}, {7, 8, 3, -1}), vec<B>({-1, 0, 8, 0}));
  const Tensor r = binary_of<float>(kLarger, {0.0f, -0.0f, kNan, 1}, {-0.0f, 0.0f, 1, kNan});
  EXPECT_TRUE(std::signbit(r.as<float>()[0]));
  EXPECT_FALSE(std::signbit(r.as<float>()[1]));
  EXPECT_TRUE(std::isnan(r.as<float>()[2]) && std::isnan(r.as<float>()[3]));
}

// ---- contractions ----

TEST(RefContraction, MatMul) {
  Net net;
  const Dim k = net.b.dim("K");
  net.b.output("y", ops::MatMul({net.input("a", Elem::f32, {2, k}), net.input("b", Elem::f32, {k, 2})}));
  expect_same(net.one({f32({2, 2}, {1, 2, 3, 4}), f32({2, 2}, {5, 6, 7, 8})}), f32({2, 2}, {19, 22, 43, 50}));
  expect_same(net.one({f32({2, 0}, {}), f32({0, 2}, {})}), f32({2, 2}, {0, 0, 0, 0}));
}

TEST(RefContraction, SumsOfFloatsAreKeptInDouble) {
  Net net;
  net.b.output("y", ops::ReduceSum({net.input("a", Elem::f32, {3})}, {.keepdims = 0}));
  expect_same(net.one({f32({1e8f, 1, -1e8f})}), Tensor::scalar<float>(1));
}

TEST(RefContraction, ConvolutionPadsWithNothing) {
  Net net;
  ops::ConvAttrs attrs;
  attrs.pads = {1, 1, 1, 1};
  net.b.output("y",
               ops::Conv({net.input("x", Elem::f32, {1, 1, 2, 2}), net.input("w", Elem::f32, {1, 1, 3, 3})}, attrs));
  expect_same(net.one({f32({1, 1, 2, 2}, {1, 2, 3, 4}), f32({1, 1, 3, 3}, {1, 1, 1, 1, 10, 1, 1, 1, 1})}),
              f32({1, 1, 2, 2}, {19, 28, 37, 46}));
}

TEST(RefContraction, ManyPointsWithStridesAndDilations) {
  Net net;
  ops::ConvAttrs attrs;
  attrs.pads = {3, 3};
  attrs.strides = {2};
  attrs.dilations = {3};
  net.b.output("y", ops::Conv({net.input("x", Elem::f32, {1, 3, 700}), net.input("w", Elem::f32, {2, 3, 5})}, attrs));
  Tensor x = Tensor::make(Elem::f32, {1, 3, 700}).value(), w = Tensor::make(Elem::f32, {2, 3, 5}).value();
  for (std::size_t i = 0; i < 2100; ++i) x.as_mutable<float>()[i] = static_cast<float>(i % 13) - 6;
  for (std::size_t i = 0; i < 30; ++i) w.as_mutable<float>()[i] = static_cast<float>(i % 7) - 3;
  const Tensor y = net.one({x, w});
  ASSERT_EQ(y.sizes(), (Sizes{1, 2, 347}));
  for (std::int64_t m = 0; m < 2; ++m) {
    for (std::int64_t o = 0; o < 347; ++o) {
      float sum = 0;
      for (std::int64_t c = 0; c < 3; ++c) {
        for (std::int64_t k = 0; k < 5; ++k) {
          const std::int64_t at = 2 * o + 3 * k - 3;
          if (at < 0 || at >= 700) continue;
          sum += static_cast<float>(x.number_at(c * 700 + at) * w.number_at((m * 3 + c) * 5 + k));
        }
      }
      ASSERT_EQ(y.number_at(m * 347 + o), sum) << m << " " << o;
    }
  }
}

TEST(RefContraction, MaxPoolGivesTheFirstMaximum) {
  Net net;
  ops::MaxPoolAttrs attrs;
  attrs.kernel_shape = {2, 2};
  attrs.pads = {1, 1, 0, 0};
  attrs.strides = {2, 2};
  const auto out = ops::MaxPool.call({net.input("x", Elem::f32, {1, 1, 3, 3})}, attrs, 2);
  net.b.output("y", out[0]);
  net.b.output("i", out[1]);
  const auto r = net.run({f32({1, 1, 3, 3}, {-5, -2, -2, -3, -4, -4, -1, kNan, -9})});
  ASSERT_TRUE(r) << r.error().text();
  expect_same((*r)[0].tensor(), f32({1, 1, 2, 2}, {-5, -2, -1, kNan}));
  expect_same((*r)[1].tensor(), Tensor::of<std::int64_t>({1, 1, 2, 2}, {0, 1, 6, 7}));
}

TEST(RefContraction, ArgMaxTiesAndIntegers) {
  for (const bool last : {false, true}) {
    Net net;
    net.b.output(
        "y", ops::ArgMax({net.input("x", Elem::i32, {2, 3})}, {.axis = 1, .keepdims = 0, .select_last_index = last}));
    expect_same(net.one({Tensor::of<std::int32_t>({2, 3}, {1, 3, 3, INT32_MIN, INT32_MIN, INT32_MIN})}),
                last ? i64({2, 2}) : i64({1, 0}));
  }
}

Tensor reduce_nothing(const OpDef& op, Elem elem) {
  Net net;
  const std::array in{net.input("x", elem, {2, net.b.dim("N")}), net.b.ints(std::array<std::int64_t, 1>{1})};
  net.b.output("y", net.b.add(op, in, std::make_shared<const ops::ReduceAttrs>(ops::ReduceAttrs{.keepdims = 0}))[0]);
  return net.one({Tensor::make(elem, {2, 0}).value()});
}

TEST(RefContraction, EmptyReductionsGiveTheIdentity) {
  expect_same(reduce_nothing(ops::ReduceSum, Elem::f32), f32({0, 0}));
  expect_same(reduce_nothing(ops::ReduceProd, Elem::i64), i64({1, 1}));
  expect_same(reduce_nothing(ops::ReduceMax, Elem::f32), f32({-kInf, -kInf}));
  expect_same(reduce_nothing(ops::ReduceMin, Elem::i64), i64({INT64_MAX, INT64_MAX}));
  expect_same(reduce_nothing(ops::ReduceMax, Elem::u8), vec<std::uint8_t>({0, 0}));
  expect_same(reduce_nothing(ops::ReduceMin, Elem::boolean), vec<bool>({true, true}));
}

TEST(RefContraction, IntegerSumsWrapAndBoolFolds) {
  Net net;
  net.b.output("y", ops::ReduceProd({net.input("a", Elem::i32, {2})}, {.keepdims = 0}));
  expect_same(net.one({vec<std::int32_t>({1 << 20, 1 << 12})}), Tensor::scalar<std::int32_t>(0));
  Net any;
  any.b.output("y", ops::ReduceMax({any.input("a", Elem::boolean, {3})}, {.keepdims = 0}));
  expect_same(any.one({vec<bool>({false, true, false})}), Tensor::scalar<bool>(true));
}

// ---- views ----

TEST(RefView, ReshapeBySymbolsAndConcatOfStrings) {
  Net net;
  const Expr x = net.input("x", Elem::string, {net.b.dim("N"), 2});
  const Expr flat = ops::Reshape({x, net.input("shape", Elem::i64, {1})});
  net.b.output("y", ops::Concat({flat, flat}, {.axis = 0}));
  const Tensor in = Tensor::of<std::string>({1, 2}, {"a", "b"});
  expect_same(net.one({in, i64({-1})}), vec<std::string>({"a", "b", "a", "b"}));
  EXPECT_NE(net.error({in, i64({3})}, Code::bad_input).find("(Reshape)"), std::string::npos);
}

TEST(RefView, ConcatOfMiddleAxis) {
  Net net;
  const Expr a = net.input("a", Elem::f32, {2, net.b.dim("N"), 2}), b = net.input("b", Elem::f32, {2, 1, 2});
  net.b.output("y", ops::Concat({a, b}, {.axis = 1}));
  expect_same(net.one({f32({2, 1, 2}, {1, 2, 3, 4}), f32({2, 1, 2}, {5, 6, 7, 8})}),
              f32({2, 2, 2}, {1, 2, 5, 6, 3, 4, 7, 8}));
  expect_same(net.one({f32({2, 0, 2}, {}), f32({2, 1, 2}, {5, 6, 7, 8})}), f32({2, 1, 2}, {5, 6, 7, 8}));
}

TEST(RefView, SliceWithNegativeStep) {
  Net net;
  const Expr x = net.input("x", Elem::i64, {net.b.dim("N")});
  net.b.output("y",
               ops::Slice({x, net.b.ints(std::array<std::int64_t, 1>{-1}), net.input("end", Elem::i64, {1}),
                           net.b.ints(std::array<std::int64_t, 1>{0}), net.b.ints(std::array<std::int64_t, 1>{-2})}));
  expect_same(net.one({i64({1, 2, 3, 4, 5}), i64({INT64_MIN})}), i64({5, 3, 1}));
  expect_same(net.one({i64({1, 2, 3, 4, 5}), i64({1})}), i64({5, 3}));
}

TEST(RefView, PadModes) {
  const auto pad = [](std::string mode, std::initializer_list<float> want) {
    Net net;
    const Expr x = net.input("x", Elem::f32, {net.b.dim("N")});
    net.b.output("y", ops::Pad({x, net.b.ints(std::array<std::int64_t, 2>{2, 3}), net.b.scalar(9.0f)}, {.mode = mode}));
    expect_same(net.one({f32({1, 2, 3})}), f32(want));
  };
  pad("constant", {9, 9, 1, 2, 3, 9, 9, 9});
  pad("edge", {1, 1, 1, 2, 3, 3, 3, 3});
  pad("reflect", {3, 2, 1, 2, 3, 2, 1, 2});
  pad("wrap", {2, 3, 1, 2, 3, 1, 2, 3});
}

TEST(RefView, TransposeAndExpand) {
  Net net;
  const Expr x = net.input("x", Elem::i64, {net.b.dim("N"), 2});
  net.b.output("y", ops::Expand({ops::Transpose({x}, {}), net.b.ints(std::array<std::int64_t, 3>{2, 1, 1})}));
  expect_same(net.one({Tensor::of<std::int64_t>({2, 2}, {1, 2, 3, 4})}),
              Tensor::of<std::int64_t>({2, 2, 2}, {1, 3, 2, 4, 1, 3, 2, 4}));
}

// ---- opaque and composite ----

TEST(RefOpaque, DataDependentExtents) {
  Net net;
  const Expr where = ops::NonZero(net.input("x", Elem::f32, {net.b.dim("N")}));
  net.b.output("y", ops::Gather({where, net.b.scalar<std::int64_t>(0)}, {.axis = 0}));
  net.b.output("n", ops::ShapeOf({where}, {}));
  const auto r = net.run({f32({0, 5, 0, 7})});
  ASSERT_TRUE(r) << r.error().text();
  expect_same((*r)[0].tensor(), i64({1, 3}));
  expect_same((*r)[1].tensor(), i64({1, 2}));
}

TEST(RefOpaque, ErrorsNameTheNode) {
  Net net;
  const std::array in{net.input("x", Elem::f32, {2}), net.input("i", Elem::i64, {1})};
  net.b.output("y", net.b.add(ops::Gather, in, nullptr, 1, "pick")[0]);
  EXPECT_TRUE(net.error({f32({1, 2}), i64({7})}, Code::bad_input).starts_with("node 'pick' (Gather): "));
}

Status lie_types(InferCx& cx) {
  cx.out(0, Type::tensor(Elem::f32, {3}));
  return {};
}
Status lie_run(OpaqueCall& call) {
  const std::array<std::int64_t, 1> sizes{2};
  FRAZIL_TRY(std::byte * out, call.out(0, sizes));
  std::fill_n(out, 8, std::byte{0});
  return {};
}
constexpr auto kLiar = opaque({"Liar", 1}, unary<elems::kF32>, lie_types, lie_run, "a test");

TEST(RefOpaque, ResultsAreHeldAgainstTheirTypes) {
  Net net;
  net.b.output("y", kLiar(net.input("x", Elem::f32, {1})));
  EXPECT_EQ(net.error({f32({1})}, Code::internal), "node #0 (Liar): output 0 gives f32[2], inferred f32[3]");
}

TEST(RefComposite, RecurrentBodyScans) {
  Net net;
  const Expr x = net.input("x", Elem::f32, {net.b.dim("T"), 1, 1});
  const Tensor w = Tensor::of<float>({1, 1, 1}, {1}), r = Tensor::of<float>({1, 1, 1}, {2});
  ops::RnnAttrs attrs;
  attrs.activations = {"Affine"};
  attrs.activation_alpha = {1};
  attrs.activation_beta = {0};
  attrs.hidden_size = 1;
  const auto out = ops::RNN.call({x, net.b.constant(w), net.b.constant(r)}, attrs, 2);
  net.b.output("y", out[0]);
  net.b.output("h", out[1]);
  const auto got = net.run({f32({3, 1, 1}, {1, 10, 100})});
  ASSERT_TRUE(got) << got.error().text();
  expect_same((*got)[0].tensor(), f32({3, 1, 1, 1}, {1, 12, 124}));
  expect_same((*got)[1].tensor(), f32({1, 1, 1}, {124}));
}

TEST(RefComposite, Softmax) {
  Net net;
  net.b.output("y", ops::Softmax({net.input("x", Elem::f32, {net.b.dim("N"), 2})}, {.axis = -1}));
  const Tensor y = net.one({f32({2, 2}, {0, 0, 1000, 0})});
  expect_same(y, f32({2, 2}, {0.5f, 0.5f, 1, 0}));
}

// ---- control flow ----

TEST(RefFlow, IfTakesOneBranch) {
  Net net;
  const Expr cond = net.input("c", Elem::boolean, {}), x = net.input("x", Elem::f32, {net.b.dim("N")});
  const auto y = if_else(
      net.b, cond, [&](Builder& b, auto) { return std::vector{ops::Neg(capture(b, x))}; },
      [&](Builder& b, auto) { return std::vector{ops::Concat({capture(b, x), capture(b, x)}, {.axis = 0})}; });
  net.b.output("y", y[0]);
  expect_same(net.one({Tensor::scalar(true), f32({1, 2})}), f32({-1, -2}));
  expect_same(net.one({Tensor::scalar(false), f32({1, 2})}), f32({1, 2, 1, 2}));
}

/// Sums 0 .. n - 1 into x and collects the sums.
struct SumLoop : Net {
  SumLoop() {
    const Expr n = input("n", Elem::i64, {}), x = input("x", Elem::i64, {b.dim("N")});
    const auto out = loop(
        b, n, b.absent(), {x},
        [](Builder&, std::span<const Expr> p) {
          const Expr sum = ops::Add(p[2], p[0]);
          return std::vector{p[1], sum, sum};
        },
        2, "sums");
    b.output("x", out[0]);
    b.output("all", out[1]);
  }
};

TEST(RefFlow, LoopCarriesAndGathers) {
  SumLoop net;
  const auto r = net.run({Tensor::scalar<std::int64_t>(3), i64({10, 20})});
  ASSERT_TRUE(r) << r.error().text();
  expect_same((*r)[0].tensor(), i64({13, 23}));
  expect_same((*r)[1].tensor(), Tensor::of<std::int64_t>({3, 2}, {10, 20, 11, 21, 13, 23}));
}

TEST(RefFlow, LoopWithoutIterations) {
  SumLoop net;
  for (const std::int64_t n : {0, -5}) {
    const auto r = net.run({Tensor::scalar(n), i64({10, 20})});
    ASSERT_TRUE(r) << r.error().text();
    expect_same((*r)[0].tensor(), i64({10, 20}));
    EXPECT_EQ((*r)[1].tensor().type_str(), "i64[0,2]");
  }
}

TEST(RefFlow, StepLimit) {
  SumLoop net;
  const auto r = net.run({Tensor::scalar<std::int64_t>(1'000'000'000), i64({1})}, {.steps = 100, .time = {}});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::limit);
  EXPECT_TRUE(r.error().text().ends_with("more than 100 steps"));
}

TEST(RefFlow, LoopEndsByItsCondition) {
  Net net;
  const Expr x = net.input("x", Elem::i64, {});
  const auto out = loop(
      net.b, net.b.absent(), net.b.scalar(true), {x},
      [](Builder& b, std::span<const Expr> p) {
        const Expr twice = ops::Mul(p[2], b.scalar<std::int64_t>(2));
        return std::vector{ops::Less(twice, b.scalar<std::int64_t>(100)), twice};
      },
      1);
  net.b.output("y", out[0]);
  expect_same(net.one({Tensor::scalar<std::int64_t>(3)}), Tensor::scalar<std::int64_t>(192 / 2 + 96));
}

TEST(RefFlow, CarriedShapeMayGrow) {
  Net net;
  const Expr x = net.input("x", Elem::f32, {net.b.dim("N")});
  const auto out = loop(
      net.b, net.input("n", Elem::i64, {}), net.b.absent(), {x},
      [](Builder&, std::span<const Expr> p) { return std::vector{p[1], ops::Concat({p[2], p[2]}, {.axis = 0})}; }, 1);
  net.b.output("y", out[0]);
  EXPECT_EQ(net.one({f32({1, 2}), Tensor::scalar<std::int64_t>(3)}).sizes(), (Sizes{16}));
}

TEST(RefFlow, CarriedRankMayGrow) {
  Net net;
  const Expr x = net.input("x", Elem::f32, {2});
  const auto out = loop(
      net.b, net.input("n", Elem::i64, {}), net.b.absent(), {x},
      [](Builder& b, std::span<const Expr> p) {
        const std::array<std::int64_t, 1> front{0};
        return std::vector{p[1], ops::Unsqueeze({p[2], b.ints(front)})};
      },
      1);
  net.b.output("y", ops::Neg(out[0]));
  expect_same(net.one({f32({1, 2}), Tensor::scalar<std::int64_t>(2)}), f32({1, 1, 2}, {-1, -2}));
}

TEST(RefFlow, GatheredExtentsMustAgree) {
  Net net;
  const Expr x = net.input("x", Elem::f32, {1});
  const auto out = loop(
      net.b, net.b.scalar<std::int64_t>(2), net.b.absent(), {x},
      [](Builder&, std::span<const Expr> p) {
        const Expr both = ops::Concat({p[2], p[2]}, {.axis = 0});
        return std::vector{p[1], both, both};
      },
      2, "grow");
  net.b.output("y", out[1]);
  EXPECT_EQ(net.error({f32({1})}, Code::bad_input),
            "node 'grow' (Loop): gathers f32[4] after f32[2]: all iterations must give equal extents");
}

TEST(RefFlow, ScanAxesAndDirections) {
  Net net;
  const Expr s = net.input("s", Elem::f32, {2}), x = net.input("x", Elem::f32, {2, net.b.dim("T")});
  ops::ScanAttrs attrs;
  attrs.num_scan_inputs = 1;
  attrs.scan_input_axes = {-1};
  attrs.scan_input_directions = {1};
  attrs.scan_output_axes = {1};
  attrs.scan_output_directions = {1};
  const auto out = scan(
      net.b, {s, x}, attrs,
      [](Builder&, std::span<const Expr> p) {
        const Expr sum = ops::Add(p[0], p[1]);
        return std::vector{sum, sum};
      },
      2);
  net.b.output("s", out[0]);
  net.b.output("y", out[1]);
  const auto r = net.run({f32({0, 0}), f32({2, 3}, {1, 2, 3, 10, 20, 30})});
  ASSERT_TRUE(r) << r.error().text();
  expect_same((*r)[0].tensor(), f32({6, 60}));
  expect_same((*r)[1].tensor(), f32({2, 3}, {6, 5, 3, 60, 50, 30}));
}

TEST(RefFlow, ScanExtentsMustAgree) {
  Net net;
  const Expr a = net.input("a", Elem::f32, {net.b.dim("T")}), b = net.input("b", Elem::f32, {net.b.dim("U")});
  ops::ScanAttrs attrs;
  attrs.num_scan_inputs = 2;
  const auto out = scan(
      net.b, {a, b}, attrs, [](Builder&, std::span<const Expr> p) { return std::vector{ops::Add(p[0], p[1])}; }, 1,
      "pairs");
  net.b.output("y", out[0]);
  expect_same(net.one({f32({1, 2}), f32({3, 4})}), f32({4, 6}));
  EXPECT_TRUE(net.error({f32({1, 2}), f32({3})}, Code::bad_input).starts_with("node 'pairs' (Scan): "));
}

TEST(RefFlow, SequencesAreCarried) {
  Net net;
  const Expr empty = net.b.add(ops::SequenceEmpty, {}, nullptr)[0];
  const auto out = loop(
      net.b, net.input("n", Elem::i64, {}), net.b.absent(), {empty},
      [](Builder&, std::span<const Expr> p) {
        const Expr item =
            ops::Cast({ops::Unsqueeze({p[0], p[0].builder->ints(std::array<std::int64_t, 1>{0})})}, {.to = Elem::f32});
        return std::vector{p[1], ops::SequenceInsert(p[2], item)};
      },
      1);
  net.b.output("n", ops::SequenceLength(out[0]));
  net.b.output("s", out[0]);
  const auto r = net.run({Tensor::scalar<std::int64_t>(4)});
  ASSERT_TRUE(r) << r.error().text();
  expect_same((*r)[0].tensor(), Tensor::scalar<std::int64_t>(4));
  expect_same((*r)[1].sequence().items.at(3).tensor(), f32({3}));
}

TEST(RefFlow, NestedLoopsBindInnerSymbolsAnew) {
  Net net;
  const Expr x = net.input("x", Elem::i64, {3});
  const auto out = loop(
      net.b, net.b.scalar<std::int64_t>(3), net.b.absent(), {x},
      [](Builder& b, std::span<const Expr> p) {
        const auto inner = loop(
            b, p[0], b.absent(), {},
            [&](Builder& c, std::span<const Expr> q) { return std::vector{q[1], ops::Add(capture(c, p[0]), q[0])}; },
            1);
        return std::vector{p[1], ops::Add(p[2], ops::ReduceSum({inner[0]}, {.keepdims = 0}))};
      },
      1);
  net.b.output("y", out[0]);
  expect_same(net.one({i64({0, 10, 20})}), i64({6, 16, 26}));
}

TEST(RefFlow, DeepNestingTakesNoNativeStack) {
  Net net;
  const Expr cond = net.input("c", Elem::boolean, {}), x = net.input("x", Elem::f32, {1});
  constexpr std::size_t kDepth = 10'000;
  std::vector<std::unique_ptr<Builder>> builders;
  std::vector<NodeId> regions;
  Builder* b = &net.b;
  for (std::size_t i = 0; i < kDepth; ++i) {
    const NodeId id = b->open(ops::If, {cond.value}, nullptr, {0, 0}, "").value();
    regions.push_back(id);
    net.b.yield(id, 1, {x.value});
    builders.push_back(std::make_unique<Builder>(net.graph, net.graph.node(id).blocks[0]));
    b = builders.back().get();
  }
  Value result = ops::Neg(capture(*b, x)).value;
  for (std::size_t i = kDepth; i-- > 0;) {
    net.b.yield(regions[i], 0, {result});
    ASSERT_TRUE((i == 0 ? net.b : *builders[i - 1]).close(regions[i], {true}));
    result = net.graph.node(regions[i]).out[0];
  }
  net.b.output("y", {&net.b, result});
  expect_same(net.one({Tensor::scalar(true), f32({4})}), f32({-4}));
  expect_same(net.one({Tensor::scalar(false), f32({4})}), f32({4}));
}

// ---- single nodes ----

TEST(RefNode, RunsOneNodeWithAbsentInputs) {
  Net net;
  const Expr x = net.input("x", Elem::f32, {net.b.dim("N")});
  net.b.output("y", ops::ReduceSum({x}, {.keepdims = 0}));
  const std::array<std::optional<Datum>, 1> in{Datum(f32({1, 2, 3}))};
  const auto r = run_node(net.graph, NodeId{0}, in);
  ASSERT_TRUE(r) << r.error().text();
  expect_same(r->at(0).tensor(), Tensor::scalar<float>(6));
}

}  // namespace
}  // namespace frazil::test
