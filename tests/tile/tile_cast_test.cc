#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "base/value/float.h"
#include "kernel/tile/tile.h"
#include "tile_testing.h"

namespace frazil::kernel {
namespace {

/// A cast by its definition.
template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<From, Bool>) {
    return converted<To>(x.v);
  } else if constexpr (std::is_same_v<To, Bool>) {
    return Bool{x != 0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using L = std::numeric_limits<To>;
    if (std::isnan(x)) return 0;
    long double t = std::trunc(static_cast<long double>(x));
    if (t <= static_cast<long double>(L::min())) return L::min();
    if (t >= static_cast<long double>(L::max())) return L::max();
    return static_cast<To>(t);
  } else {
    return static_cast<To>(x);
  }
}

template <class T>
std::vector<T> values() {
  std::vector<T> a, b;
  operands(a, b);
  if constexpr (std::is_floating_point_v<T>) {
    for (double bound :
         {127.0, 128.0, 255.0, 256.0, 32767.0, 32768.0, 65535.0, 65536.0, 0x1p31, 0x1p32, 0x1p63, 0x1p64}) {
      for (double by : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
        a.push_back(T(bound + by));
        a.push_back(T(-bound - by));
      }
      a.push_back(std::nextafter(T(bound), T(0)));
      a.push_back(std::nextafter(T(-bound), T(0)));
      a.push_back(std::nextafter(T(bound), std::numeric_limits<T>::infinity()));
      a.push_back(std::nextafter(T(-bound), -std::numeric_limits<T>::infinity()));
    }
  }
  return a;
}

template <class To, class From>
void check_cast() {
  TileFn f = cast_fn(ElemOf<From>::value, ElemOf<To>::value);
  ASSERT_NE(f, nullptr);
  const std::vector<From> a = values<From>();
  auto whole = unwritten<To>(a.size()), part = unwritten<To>(a.size());
  const void* in[] = {a.data()};
  f(whole.data(), in, a.size());
  for (std::size_t begin = 0, n = 1; begin < a.size(); begin += n, n = n % 37 + 1) {
    n = std::min(n, a.size() - begin);
    const void* some[] = {&a[begin]};
    f(&part[begin], some, n);
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    To want = converted<To>(a[i]);
    ASSERT_TRUE(same(whole[i], want)) << shown(a[i]) << " gave " << shown(whole[i]) << ", expected " << shown(want);
    ASSERT_TRUE(same(part[i], want)) << shown(a[i]) << " gave " << shown(part[i]) << ", expected " << shown(want);
  }
}

template <class From, class... To>
void check_casts(::testing::Types<To...>) {
  (
      [] {
        SCOPED_TRACE("to " + std::to_string(static_cast<int>(ElemOf<To>::value)));
        check_cast<To, From>();
      }(),
      ...);
}

template <class T>
class TileCast : public ::testing::Test {};
TYPED_TEST_SUITE(TileCast, TileTypes);

TYPED_TEST(TileCast, IsTotal) {
  on_every_isa([] { check_casts<TypeParam>(TileTypes{}); });
}

TEST(TileCast, InPlace) {
  on_every_isa([] {
    std::vector<float> a(100);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1.5f * static_cast<float>(i);
    const void* in[] = {a.data()};
    cast_fn(Elem::f32, Elem::i32)(a.data(), in, a.size());
    cast_fn(Elem::i32, Elem::f32)(a.data(), in, a.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i], static_cast<float>(i + i / 2));
  });
}

TEST(TileCast, Widens16BitFloats) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  on_every_isa([&] {
    for (const Elem elem : {Elem::f16, Elem::bf16}) {
      std::vector<float> wide(all.size(), 77), want(all.size());
      to_f32(elem, all.data(), want.data(), all.size());
      for (std::size_t begin = 0, n = 1; begin < all.size(); begin += n, n = n * 5 % 97 + 1) {
        n = std::min(n, all.size() - begin);
        const void* in[] = {&all[begin]};
        cast_fn(elem, Elem::f32)(&wide[begin], in, n);
      }
      for (std::size_t i = 0; i < all.size(); ++i) ASSERT_TRUE(same(wide[i], want[i])) << i;
    }
  });
}

TEST(TileCast, RoundsTo16BitFloats) {
  std::vector<float> all = values<float>();
  for (std::uint32_t bits = 0; bits < 0xffff0000; bits += 0x7fed) all.push_back(std::bit_cast<float>(bits));
  on_every_isa([&] {
    for (const Elem elem : {Elem::f16, Elem::bf16}) {
      std::vector<std::uint16_t> narrow(all.size(), 77), want(all.size());
      from_f32(elem, all.data(), want.data(), all.size());
      for (std::size_t begin = 0, n = 1; begin < all.size(); begin += n, n = n * 5 % 97 + 1) {
        n = std::min(n, all.size() - begin);
        const void* in[] = {&all[begin]};
        cast_fn(Elem::f32, elem)(&narrow[begin], in, n);
      }
      for (std::size_t i = 0; i < all.size(); ++i)
        ASSERT_TRUE(narrow[i] == want[i] || std::isnan(all[i])) << shown(all[i]);
    }
  });
}

TEST(TileCast, LeavesOtherTypesToTheCaller) {
  EXPECT_EQ(cast_fn(Elem::f16, Elem::f64), nullptr);
  EXPECT_EQ(cast_fn(Elem::i32, Elem::bf16), nullptr);
  EXPECT_EQ(cast_fn(Elem::f8e5m2, Elem::f32), nullptr);
  EXPECT_EQ(cast_fn(Elem::string, Elem::f32), nullptr);
}

}  // namespace
}  // namespace frazil::kernel
