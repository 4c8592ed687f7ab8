#include "tensor/compare.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace frazil {
namespace {

using testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct FloatCase {
  float got;
  float want;
  bool same;
};

TEST(DifferenceTest, FloatsFollowAllclose) {
  const FloatCase cases[] = {
      {1, 1, true},         {1.0009f, 1, true},   {1.0011f, 1, false}, {0, 9e-8f, true},   {0, 2e-7f, false},
      {kNan, kNan, true},   {kNan, 1, false},     {1, kNan, false},    {kInf, kInf, true}, {kInf, -kInf, false},
      {kInf, 3e38f, false}, {3e38f, kInf, false}, {0.0f, -0.0f, true}, {-1, 1, false},
  };
  for (const FloatCase& c : cases) {
    EXPECT_EQ(!difference(Tensor::scalar(c.got), Tensor::scalar(c.want)), c.same) << c.got << " " << c.want;
    EXPECT_EQ(!difference(Tensor::scalar<double>(c.got), Tensor::scalar<double>(c.want)), c.same);
    const std::complex<float> got(1, c.got);
    const std::complex<float> want(1, c.want);
    EXPECT_EQ(!difference(Tensor::scalar(got), Tensor::scalar(want)), c.same) << c.got << " " << c.want;
  }
  EXPECT_TRUE(difference(Tensor::scalar(1.0009f), Tensor::scalar(1.0f), {.rtol = 0, .atol = 0}));
  EXPECT_FALSE(difference(Tensor::scalar(Half(1.0f)), Tensor::scalar(Half(1.0009f))));
  EXPECT_TRUE(difference(Tensor::scalar(Half(1.0f)), Tensor::scalar(Half(1.002f))));
  EXPECT_TRUE(difference(Tensor::scalar(BFloat16(1.0f)), Tensor::scalar(BFloat16(1.01f))));
}

TEST(DifferenceTest, MessageSaysWhereAndHowMuch) {
  const Tensor got = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 9, 6});
  const Tensor want = Tensor::of<float>({2, 3}, {1, 2.5f, 3, 4, 5, 6});
  EXPECT_EQ(difference(got, want),
            "f32[2,3]: 2 of 6 elements differ, first at [0,1]: got 2, expected 2.5; largest error 4 at [1,1]: got 9, "
            "expected 5");
  const Tensor turned(Elem::f32, {2, 3}, {1, 2}, got.buffer(), 0);
  EXPECT_THAT(*difference(turned, want), HasSubstr("got 3, expected 2.5"));
  EXPECT_EQ(difference(turned, turned.packed().value()), std::nullopt);
}

TEST(DifferenceTest, ExactTypes) {
  EXPECT_THAT(*difference(Tensor::scalar<std::int64_t>(INT64_MAX), Tensor::scalar<std::int64_t>(INT64_MIN)),
              HasSubstr("largest error 1.84467e+19"));
  EXPECT_TRUE(difference(Tensor::scalar<std::int64_t>((1ll << 60) + 1), Tensor::scalar<std::int64_t>(1ll << 60)));
  EXPECT_TRUE(difference(Tensor::scalar<std::uint8_t>(1), Tensor::scalar<std::uint8_t>(2)));
  EXPECT_EQ(*difference(Tensor::scalar(true), Tensor::scalar(false)),
            "bool[]: 1 of 1 elements differ, first at []: got true, expected false");
  EXPECT_EQ(*difference(Tensor::scalar<std::string>("a"), Tensor::scalar<std::string>("b")),
            "string[]: 1 of 1 elements differ, first at []: got \"a\", expected \"b\"");
  EXPECT_FALSE(difference(Tensor::scalar<std::string>("a"), Tensor::scalar<std::string>("a")));
}

TEST(DifferenceTest, TypesAndExtentsMustAgree) {
  EXPECT_EQ(*difference(Tensor::scalar(1.0f), Tensor::scalar(1.0)), "got f32[], expected f64[]");
  EXPECT_EQ(*difference(Tensor::of<int>({1}, {1}), Tensor::scalar(1)), "got i32[1], expected i32[]");
  EXPECT_TRUE(difference(Tensor::make(Elem::f32, {0, 2}).value(), Tensor::make(Elem::f32, {0, 3}).value()));
  EXPECT_FALSE(difference(Tensor::make(Elem::f32, {0, 2}).value(), Tensor::make(Elem::f32, {0, 2}).value()));
  EXPECT_EQ(*difference(Tensor(), Tensor::scalar(1)), "got no tensor, expected one");
  EXPECT_EQ(*difference(Datum(), Tensor::scalar(1)), "got an empty optional, expected a tensor");
  EXPECT_FALSE(difference(Datum(), Datum()));
}

TEST(DifferenceTest, SequencesAndMaps) {
  const auto sequence = [](std::vector<Datum> items) -> Datum {
    return std::make_shared<const Sequence>(Sequence{std::move(items)});
  };
  const auto map = [](std::vector<std::pair<Tensor, Datum>> items) -> Datum {
    return std::make_shared<const MapValue>(MapValue{std::move(items)});
  };
  const Datum one = Tensor::scalar(1);
  const Datum two = Tensor::scalar(2);
  EXPECT_FALSE(difference(sequence({one, two}), sequence({one, two})));
  EXPECT_EQ(*difference(sequence({one}), sequence({one, two})), "got a sequence of 1 items, expected 2");
  EXPECT_THAT(*difference(sequence({one, one}), sequence({one, two})), HasSubstr("item 1: i32[]: 1 of 1"));
  const Tensor a = Tensor::scalar<std::string>("a");
  const Tensor b = Tensor::scalar<std::string>("b");
  EXPECT_FALSE(difference(map({{a, one}, {b, two}}), map({{b, two}, {a, one}})));
  EXPECT_EQ(*difference(map({{a, one}}), map({{b, one}})), "key \"b\" is missing");
  EXPECT_THAT(*difference(map({{a, one}}), map({{a, two}})), HasSubstr("key \"a\": i32[]"));
}

}  // namespace
}  // namespace frazil
