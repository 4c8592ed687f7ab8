#include "base/value/float.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace frazil {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr Elem kSmall[] = {Elem::f8e4m3fn, Elem::f8e4m3fnuz, Elem::f8e5m2, Elem::f8e5m2fnuz, Elem::f4e2m1};

// The value of a format's code, computed from the definition.
double value_of(int bits, int exponent_bits, int mantissa_bits, int bias) {
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const bool negative = ((bits >> (mantissa_bits + exponent_bits)) & 1) != 0;
  const double value = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                                     : std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return negative ? -value : value;
}

float next_up(float v) { return std::nextafter(v, kInf); }
float next_down(float v) { return std::nextafter(v, -kInf); }

TEST(HalfTest, EveryPatternWidensExactlyAndComesBack) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const float wide = static_cast<float>(Half::from_bits(static_cast<std::uint16_t>(bits)));
    const bool special = (bits & 0x7c00) == 0x7c00;
    if (!special) {
      ASSERT_EQ(wide, value_of(bits, 5, 10, 15)) << bits;
    } else if ((bits & 0x3ff) == 0) {
      ASSERT_EQ(wide, bits < 0x8000 ? kInf : -kInf);
    } else {
      ASSERT_TRUE(std::isnan(wide)) << bits;
    }
    const int quiet = special && (bits & 0x3ff) != 0 ? 0x200 : 0;
    ASSERT_EQ(Half(wide).bits, bits | quiet);
    ASSERT_EQ(std::signbit(wide), bits >= 0x8000);
  }
}

TEST(HalfTest, EveryMidpointRoundsToEven) {
  for (int bits = 0; bits < 0x7bff; ++bits) {
    const float low = half_to_float(static_cast<std::uint16_t>(bits));
    const float high = half_to_float(static_cast<std::uint16_t>(bits + 1));
    const float middle = (low + high) / 2;
    ASSERT_EQ(float_to_half(middle), bits + (bits & 1)) << bits;
    ASSERT_EQ(float_to_half(next_down(middle)), bits) << bits;
    ASSERT_EQ(float_to_half(next_up(middle)), bits + 1) << bits;
    ASSERT_EQ(float_to_half(-middle), 0x8000 | (bits + (bits & 1))) << bits;
  }
  EXPECT_EQ(float_to_half(next_down(65520.0f)), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0);
}

TEST(BFloat16Test, EveryPatternAndMidpoint) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const float wide = static_cast<float>(BFloat16::from_bits(static_cast<std::uint16_t>(bits)));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide), static_cast<std::uint32_t>(bits) << 16);
    const bool nan = (bits & 0x7fff) > 0x7f80;
    ASSERT_EQ(BFloat16(wide).bits, bits | (nan ? 0x40 : 0)) << bits;
    if ((bits & 0x7fff) >= 0x7f80) continue;
    const auto middle = static_cast<std::uint32_t>(bits) << 16 | 0x8000u;
    ASSERT_EQ(float_to_bfloat16(std::bit_cast<float>(middle)), bits + (bits & 1));
    ASSERT_EQ(float_to_bfloat16(std::bit_cast<float>(middle - 1)), bits);
    ASSERT_EQ(float_to_bfloat16(std::bit_cast<float>(middle + 1)), bits + 1);
  }
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x7fffffffu)), 0x7fff);
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x7f800001u)), 0x7fc0);
}

struct FormatCase {
  Elem elem;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  int max;
  int nan;
  int infinity;  // -1: none
};
constexpr FormatCase kFormats[] = {
    {Elem::f8e4m3fn, 4, 3, 7, 0x7e, 0x7f, -1},  {Elem::f8e4m3fnuz, 4, 3, 8, 0x7f, 0x80, -1},
    {Elem::f8e5m2, 5, 2, 15, 0x7b, 0x7e, 0x7c}, {Elem::f8e5m2fnuz, 5, 2, 16, 0x7f, 0x80, -1},
    {Elem::f4e2m1, 2, 1, 1, 7, 8, -1},
};

TEST(SmallFloatTest, EveryPatternHasItsValueAndComesBack) {
  for (const FormatCase& f : kFormats) {
    const int sign = 1 << (f.exponent_bits + f.mantissa_bits);
    for (int code = 0; code < 2 * sign; ++code) {
      SCOPED_TRACE(testing::Message() << name_of(f.elem) << " " << code);
      const float wide = small_to_float(f.elem, static_cast<std::uint8_t>(code));
      const int magnitude = code & (sign - 1);
      const bool fnuz_nan = f.nan == sign && code == sign && f.elem != Elem::f4e2m1;
      if (fnuz_nan || (magnitude > f.max && magnitude != f.infinity)) {
        ASSERT_TRUE(std::isnan(wide));
        continue;
      }
      if (magnitude == f.infinity) {
        ASSERT_EQ(wide, code < sign ? kInf : -kInf);
        ASSERT_EQ(float_to_small(f.elem, wide, false), code);
        continue;
      }
      ASSERT_EQ(wide, value_of(code, f.exponent_bits, f.mantissa_bits, f.bias));
      ASSERT_EQ(float_to_small(f.elem, wide, true), code);
      ASSERT_EQ(float_to_small(f.elem, wide, false), code);
    }
  }
}

TEST(SmallFloatTest, EveryMidpointRoundsToEven) {
  for (const FormatCase& f : kFormats) {
    for (int code = 0; code < f.max; ++code) {
      SCOPED_TRACE(testing::Message() << name_of(f.elem) << " " << code);
      const float low = small_to_float(f.elem, static_cast<std::uint8_t>(code));
      const float high = small_to_float(f.elem, static_cast<std::uint8_t>(code + 1));
      const float middle = (low + high) / 2;
      ASSERT_EQ(float_to_small(f.elem, middle), code + (code & 1));
      ASSERT_EQ(float_to_small(f.elem, next_down(middle)), code);
      ASSERT_EQ(float_to_small(f.elem, next_up(middle)), code + 1);
    }
  }
}

struct SpecialCase {
  Elem elem;
  bool saturate;
  float value;
  int code;
};

TEST(SmallFloatTest, SpecialValuesFollowOnnxCast) {
  const float huge = 1e6f;
  const float tiny = 1e-7f;
  const SpecialCase cases[] = {
      {Elem::f8e4m3fn, true, kNan, 0x7f},     {Elem::f8e4m3fn, true, kInf, 0x7e},
      {Elem::f8e4m3fn, true, -kInf, 0xfe},    {Elem::f8e4m3fn, true, huge, 0x7e},
      {Elem::f8e4m3fn, true, -tiny, 0x80},    {Elem::f8e4m3fn, false, kInf, 0x7f},
      {Elem::f8e4m3fn, false, -huge, 0xff},   {Elem::f8e4m3fn, false, 464.0f, 0x7e},
      {Elem::f8e4m3fn, false, 465.0f, 0x7f},  {Elem::f8e4m3fnuz, true, kNan, 0x80},
      {Elem::f8e4m3fnuz, true, kInf, 0x7f},   {Elem::f8e4m3fnuz, true, -huge, 0xff},
      {Elem::f8e4m3fnuz, true, -tiny, 0},     {Elem::f8e4m3fnuz, true, -0.0f, 0},
      {Elem::f8e4m3fnuz, false, -kInf, 0x80}, {Elem::f8e4m3fnuz, false, huge, 0x80},
      {Elem::f8e5m2, true, kNan, 0x7e},       {Elem::f8e5m2, true, -kInf, 0xfb},
      {Elem::f8e5m2, true, huge, 0x7b},       {Elem::f8e5m2, false, kInf, 0x7c},
      {Elem::f8e5m2, false, -huge, 0xfc},     {Elem::f8e5m2, true, -0.0f, 0x80},
      {Elem::f8e5m2fnuz, true, kInf, 0x7f},   {Elem::f8e5m2fnuz, false, kInf, 0x80},
      {Elem::f8e5m2fnuz, true, -0.0f, 0},     {Elem::f4e2m1, true, kInf, 7},
      {Elem::f4e2m1, false, -kInf, 15},       {Elem::f4e2m1, true, kNan, 8},
      {Elem::f4e2m1, true, -0.0f, 8},         {Elem::f4e2m1, true, 1e30f, 7},
  };
  for (const SpecialCase& c : cases) {
    EXPECT_EQ(float_to_small(c.elem, c.value, c.saturate), c.code)
        << name_of(c.elem) << " " << c.value << " saturate " << c.saturate;
  }
}

TEST(ScaleTest, EveryPowerOfTwoIsExact) {
  for (int code = 0; code < 255; ++code) {
    const float wide = small_to_float(Elem::f8e8m0, static_cast<std::uint8_t>(code));
    ASSERT_EQ(wide, std::ldexp(1.0f, code - 127));
    for (const ScaleRound round : {ScaleRound::up, ScaleRound::down, ScaleRound::nearest}) {
      ASSERT_EQ(float_to_small(Elem::f8e8m0, wide, true, round), code);
      if (code == 254) continue;
      ASSERT_EQ(float_to_small(Elem::f8e8m0, wide * 1.25f, true, round), code + (round == ScaleRound::up ? 1 : 0));
      ASSERT_EQ(float_to_small(Elem::f8e8m0, wide * 1.5f, true, round), code + (round == ScaleRound::down ? 0 : 1));
    }
  }
  EXPECT_TRUE(std::isnan(small_to_float(Elem::f8e8m0, 255)));
  EXPECT_EQ(float_to_small(Elem::f8e8m0, kNan), 255);
  EXPECT_EQ(float_to_small(Elem::f8e8m0, 0.0f), 0);
  EXPECT_EQ(float_to_small(Elem::f8e8m0, 0.0f, false), 255);
  EXPECT_EQ(float_to_small(Elem::f8e8m0, kInf), 254);
  EXPECT_EQ(float_to_small(Elem::f8e8m0, kInf, false), 255);
  EXPECT_EQ(float_to_small(Elem::f8e8m0, 3e38f), 254);
}

TEST(NarrowToOddTest, DoubleRoundsOnceOnItsWayToHalf) {
  for (int bits = 0; bits < 0x7bff; ++bits) {
    const double low = half_to_float(static_cast<std::uint16_t>(bits));
    const double high = half_to_float(static_cast<std::uint16_t>(bits + 1));
    const double middle = (low + high) / 2;
    ASSERT_EQ(float_to_half(narrow_to_odd(middle)), bits + (bits & 1));
    ASSERT_EQ(float_to_half(narrow_to_odd(std::nextafter(middle, 0.0))), bits);
    ASSERT_EQ(float_to_half(narrow_to_odd(std::nextafter(middle, 1e9))), bits + 1);
    ASSERT_EQ(float_to_half(narrow_to_odd(-std::nextafter(middle, 1e9))), 0x8000 | (bits + 1));
  }
  EXPECT_EQ(narrow_to_odd(1.5), 1.5f);
  EXPECT_EQ(float_to_half(narrow_to_odd(1e300)), 0x7c00);
  EXPECT_EQ(float_to_half(narrow_to_odd(-1e-300)), 0x8000);
  EXPECT_TRUE(std::isnan(narrow_to_odd(std::nan(""))));
}

TEST(BulkTest, AgreesWithSingleConversions) {
  std::mt19937 random(7);
  std::vector<float> values(1003);
  for (float& v : values) v = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  values[0] = kInf;
  values[1] = kNan;
  values[2] = -0.0f;
  for (const Elem elem : kSmall) {
    for (const bool saturate : {true, false}) {
      std::vector<std::uint8_t> codes(values.size());
      from_f32(elem, values.data(), codes.data(), values.size(), saturate);
      std::vector<float> back(values.size());
      to_f32(elem, codes.data(), back.data(), back.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(codes[i], float_to_small(elem, values[i], saturate)) << name_of(elem) << " " << values[i];
        const float single = small_to_float(elem, codes[i]);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(back[i]), std::bit_cast<std::uint32_t>(single));
      }
    }
  }
  std::vector<std::uint16_t> halves(values.size());
  from_f32(Elem::f16, values.data(), halves.data(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(halves[i], float_to_half(values[i]));
  from_f32(Elem::bf16, values.data(), halves.data(), values.size());
  std::vector<float> back(values.size());
  to_f32(Elem::bf16, halves.data(), back.data(), back.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(back[i]), std::uint32_t{float_to_bfloat16(values[i])} << 16);
  }
}

TEST(ElemTest, NamesAndSizes) {
  for (int i = 0; i < kElemCount; ++i) {
    const auto elem = static_cast<Elem>(i);
    EXPECT_EQ(elem_from_name(name_of(elem)), elem);
    EXPECT_GE(byte_size(elem), 1u);
  }
  EXPECT_EQ(elem_from_name("float"), std::nullopt);
  EXPECT_EQ(name_of(Elem::boolean), "bool");
  EXPECT_EQ(byte_size(Elem::c128), 16u);
  EXPECT_EQ(bit_width(Elem::i4), 4);
  EXPECT_EQ(bit_width(Elem::u2), 2);
  EXPECT_EQ(bit_width(Elem::f4e2m1), 4);
  EXPECT_EQ(bit_width(Elem::f8e8m0), 8);
  EXPECT_EQ(byte_size(Elem::i2), 1u);
}

}  // namespace
}  // namespace frazil
