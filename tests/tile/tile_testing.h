#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "base/value/elem.h"
#include "kernel/on_isa.h"

// What the tests of the tile functions share: element types, operands, comparison.
namespace frazil::kernel {

struct Bool {
  std::uint8_t v;
};

template <class T>
struct ElemOf;
#define FRAZIL_X(T, e)                     \
  template <>                              \
  struct ElemOf<T> {                       \
    static constexpr Elem value = Elem::e; \
  };
FRAZIL_X(Bool, boolean)
FRAZIL_X(std::int8_t, i8)
FRAZIL_X(std::int16_t, i16)
FRAZIL_X(std::int32_t, i32)
FRAZIL_X(std::int64_t, i64)
FRAZIL_X(std::uint8_t, u8)
FRAZIL_X(std::uint16_t, u16)
FRAZIL_X(std::uint32_t, u32)
FRAZIL_X(std::uint64_t, u64)
FRAZIL_X(float, f32)
FRAZIL_X(double, f64)
#undef FRAZIL_X

template <class T>
std::vector<T> specials() {
  using L = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, Bool>) {
    return {{0}, {1}};
  } else if constexpr (std::is_integral_v<T>) {
    std::vector<T> r = {
        0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100, L::max(), T(L::max() - 1), T(L::max() / 2)};
    if (std::is_signed_v<T>) r.insert(r.end(), {L::min(), T(L::min() + 1), T(-1), T(-2), T(-3), T(-7), T(-64)});
    return r;
  } else {
    std::vector<T> r = {0,
                        T(0.25),
                        T(0.5),
                        1,
                        T(1.5),
                        2,
                        T(2.5),
                        3,
                        T(0.9),
                        T(1e-3),
                        10,
                        88,
                        T(88.72),
                        T(103.97),
                        709,
                        1e5,
                        1e6,
                        1e7,
                        T(1e30),
                        T(8388607.5),
                        L::max(),
                        L::min(),
                        L::denorm_min(),
                        T(L::min() / 2),
                        L::epsilon(),
                        L::infinity(),
                        L::quiet_NaN()};
    for (std::size_t i = 0, n = r.size(); i < n; ++i) r.push_back(-r[i]);
    return r;
  }
}

template <class T>
T random_value(std::mt19937_64& random) {
  std::uint64_t bits = random();
  T x;
  if constexpr (std::is_same_v<T, Bool>) {
    x.v = bits & 1;
  } else if constexpr (std::is_integral_v<T>) {
    x = static_cast<T>((bits >> 60) < 4 ? std::int64_t(bits % 19) - 9 : std::int64_t(bits));
  } else if ((bits >> 60) < 8) {
    x = std::uniform_real_distribution<T>(-20, 20)(random);
  } else {
    std::memcpy(&x, &bits, sizeof x);
  }
  return x;
}

/// Two columns: every pair of special values, then random ones.
template <class T>
void operands(std::vector<T>& a, std::vector<T>& b) {
  std::mt19937_64 random(42);
  for (T x : specials<T>()) {
    for (T y : specials<T>()) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  for (int i = 0; i < 2000; ++i) {
    a.push_back(random_value<T>(random));
    b.push_back(random_value<T>(random));
  }
}

template <class T>
std::string shown(T x) {
  if constexpr (std::is_same_v<T, Bool>) {
    return std::to_string(x.v);
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(x);
  } else {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", double(x));
    return text;
  }
}

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  }
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Room for n results, of which none looks as if it was written.
template <class T>
std::vector<T> unwritten(std::size_t n) {
  std::vector<T> r(n);
  if (n != 0) std::memset(r.data(), 0x55, n * sizeof(T));
  return r;
}

/// How far a and b are apart in representable numbers.
template <class T>
double distance(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : 1e30;
  if (a == b) return std::signbit(a) == std::signbit(b) ? 0 : 1e20;
  using I = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  I x = std::bit_cast<I>(std::fabs(a)), y = std::bit_cast<I>(std::fabs(b));
  return std::signbit(a) == std::signbit(b) ? std::fabs(double(x - y)) : double(x) + double(y);
}

using TileTypes = ::testing::Types<Bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                                   std::uint16_t, std::uint32_t, std::uint64_t, float, double>;

}  // namespace frazil::kernel
