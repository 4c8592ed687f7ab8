#include "kernel/tile/tile.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "tile_testing.h"

namespace frazil::kernel {
namespace {

// An oracle that reads like base/value/scalar_op.h, one element at a time, in 128-bit integers or double (long double
// for f64).

__extension__ using Big = __int128;

template <class T>
T wrap(Big x) {
  return static_cast<T>(static_cast<std::uint64_t>(x));
}

template <class T>
T int_pow(T base, T power) {
  if (power < 0) {
    if (base == 1) return 1;
    if (base == T(-1)) return power % 2 != 0 ? T(-1) : T(1);
    return 0;
  }
  // x^p mod 2^64 by p's bits, on the sign-extended base.
  std::uint64_t r = 1, b = static_cast<std::uint64_t>(base);
  for (auto p = static_cast<std::uint64_t>(power); p != 0; p >>= 1, b *= b) r = (p & 1) != 0 ? r * b : r;
  return static_cast<T>(r);
}

template <class T>
std::optional<T> int_oracle(ScalarOp op, T x, T y) {
  constexpr int kBits = 8 * sizeof(T);
  Big a = x, b = y;
  bool in_range = b >= 0 && b < kBits;
  switch (op) {
    case ScalarOp::neg: return wrap<T>(-a);
    case ScalarOp::abs: return wrap<T>(a < 0 ? -a : a);
    case ScalarOp::sign: return T((a > 0) - (a < 0));
    case ScalarOp::lnot: return wrap<T>(~a);
    case ScalarOp::add: return wrap<T>(a + b);
    case ScalarOp::sub: return wrap<T>(a - b);
    case ScalarOp::mul: return wrap<T>(static_cast<Big>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)));
    case ScalarOp::div: return b == 0 ? T(0) : wrap<T>(a / b);
    case ScalarOp::fmod: return b == 0 ? T(0) : wrap<T>(a % b);
    case ScalarOp::mod: return b == 0 ? T(0) : wrap<T>(((a % b) + b) % b);
    case ScalarOp::pow: return int_pow(x, y);
    case ScalarOp::min: return y < x ? y : x;
    case ScalarOp::max: return y > x ? y : x;
    case ScalarOp::land: return wrap<T>(a & b);
    case ScalarOp::lor: return wrap<T>(a | b);
    case ScalarOp::lxor: return wrap<T>(a ^ b);
    case ScalarOp::shl: return in_range ? wrap<T>(static_cast<Big>(static_cast<std::uint64_t>(a) << int(b))) : T(0);
    case ScalarOp::shr: return in_range ? wrap<T>(a >> int(b)) : T(0);
    default: return std::nullopt;
  }
}

template <class T>
T python_mod(T a, T b) {
  T r = std::fmod(a, b);
  if (r == 0) return std::copysign(T(0), b);
  return std::signbit(r) == std::signbit(b) || std::isnan(r) ? r : r + b;
}

template <class T>
std::optional<T> float_oracle(ScalarOp op, T a, T b) {
  using W = std::conditional_t<sizeof(T) == 4, double, long double>;
  W x = a;
  switch (op) {
    case ScalarOp::neg: return std::copysign(a, std::signbit(a) ? T(1) : T(-1));
    case ScalarOp::abs: return std::fabs(a);
    case ScalarOp::sign: return std::isnan(a) ? a : a > 0 ? T(1) : a < 0 ? T(-1) : T(0);
    case ScalarOp::floor: return std::floor(a);
    case ScalarOp::ceil: return std::ceil(a);
    case ScalarOp::round: return std::nearbyint(a);
    case ScalarOp::trunc: return std::trunc(a);
    case ScalarOp::sqrt: return std::sqrt(a);
    case ScalarOp::exp: return T(std::exp(x));
    case ScalarOp::log: return T(std::log(x));
    case ScalarOp::log1p: return T(std::log1p(x));
    case ScalarOp::expm1: return T(std::expm1(x));
    case ScalarOp::sin: return T(std::sin(x));
    case ScalarOp::cos: return T(std::cos(x));
    case ScalarOp::tan: return T(std::tan(x));
    case ScalarOp::asin: return T(std::asin(x));
    case ScalarOp::acos: return T(std::acos(x));
    case ScalarOp::atan: return T(std::atan(x));
    case ScalarOp::sinh: return T(std::sinh(x));
    case ScalarOp::cosh: return T(std::cosh(x));
    case ScalarOp::tanh: return T(std::tanh(x));
    case ScalarOp::asinh: return T(std::asinh(x));
    case ScalarOp::acosh: return T(std::acosh(x));
    case ScalarOp::atanh: return T(std::atanh(x));
    case ScalarOp::erf: return T(std::erf(x));
    case ScalarOp::logistic: return T(1 / (1 + std::exp(-x)));
    case ScalarOp::pow: return T(std::pow(x, W(b)));
    case ScalarOp::add: return a + b;
    case ScalarOp::sub: return a - b;
    case ScalarOp::mul: return a * b;
    case ScalarOp::div: return a / b;
    case ScalarOp::fmod: return std::fmod(a, b);
    case ScalarOp::mod: return python_mod(a, b);
    case ScalarOp::min: return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : b < a ? b : a;
    case ScalarOp::max: return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : b > a ? b : a;
    default: return std::nullopt;
  }
}

std::optional<Bool> bool_oracle(ScalarOp op, Bool x, Bool y) {
  bool a = x.v != 0, b = y.v != 0;
  switch (op) {
    case ScalarOp::lnot: return Bool{!a};
    case ScalarOp::land: return Bool{a && b};
    case ScalarOp::lor: return Bool{a || b};
    case ScalarOp::lxor: return Bool{a != b};
    case ScalarOp::min: return Bool{a && b};
    case ScalarOp::max: return Bool{a || b};
    default: return std::nullopt;
  }
}

template <class T>
std::optional<T> oracle(ScalarOp op, T a, T b) {
  if constexpr (std::is_same_v<T, Bool>) {
    return bool_oracle(op, a, b);
  } else if constexpr (std::is_integral_v<T>) {
    return int_oracle(op, a, b);
  } else {
    return float_oracle(op, a, b);
  }
}

template <class T>
std::optional<std::uint8_t> truth_oracle(ScalarOp op, T a, T b) {
  if constexpr (std::is_same_v<T, Bool>) {
    if (op == ScalarOp::eq) return (a.v != 0) == (b.v != 0);
  } else {
    if (op == ScalarOp::lt) return a < b;
    if (op == ScalarOp::le) return a <= b;
    if (op == ScalarOp::eq) return a == b;
    if constexpr (std::is_floating_point_v<T>) {
      if (op == ScalarOp::isnan) return std::isnan(a);
      if (op == ScalarOp::isinf) return std::isinf(a);
    }
  }
  return std::nullopt;
}

/// What a result may differ by from the rounded true one.
double tolerance(ScalarOp op, bool is_f64) {
  switch (op) {
    case ScalarOp::exp:
    case ScalarOp::log: return 2;
    case ScalarOp::log1p:
    case ScalarOp::expm1:
    case ScalarOp::sin:
    case ScalarOp::cos:
    case ScalarOp::tan:
    case ScalarOp::asin:
    case ScalarOp::acos:
    case ScalarOp::atan:
    case ScalarOp::sinh:
    case ScalarOp::cosh:
    case ScalarOp::tanh:
    case ScalarOp::asinh:
    case ScalarOp::acosh:
    case ScalarOp::atanh:
    case ScalarOp::erf:
    case ScalarOp::logistic: return 4;
    case ScalarOp::pow: return is_f64 ? 4 : 1;
    default: return 0;
  }
}

template <class T>
bool matches(ScalarOp op, T got, T want) {
  if constexpr (std::is_floating_point_v<T>) {
    // The sign of zero is open for equal operands of min and max.
    if ((op == ScalarOp::min || op == ScalarOp::max) && got == want) return true;
    return distance(got, want) <= tolerance(op, sizeof(T) == 8);
  } else {
    return same(got, want);
  }
}

// The checks. Each runs on every instruction set that the machine has.

const ScalarOp kOps[] = {
#define FRAZIL_X(name, arity, result) ScalarOp::name,
    FRAZIL_SCALAR_OPS(FRAZIL_X)
#undef FRAZIL_X
};

/// Runs `f` in tiles of sizes that leave all kinds of remainders; a scalar operand changes from tile to tile.
template <class R, class T>
void check_tiles(ScalarOp op, unsigned mask, auto want_of) {
  TileFn f = tile_fn(op, ElemOf<T>::value, mask);
  std::vector<T> a, b;
  operands(a, b);
  const std::size_t kSizes[] = {1, 2, 3, 5, 8, 15, 16, 17, 33, 64, 100};
  std::vector<R> out(200);
  int failures = 0;
  for (std::size_t begin = 0, tile = 0; begin < a.size() && failures < 5; ++tile) {
    std::size_t n = std::min(kSizes[tile % std::size(kSizes)], a.size() - begin), shift = tile % 3;
    std::memset(out.data(), 0x55, out.size() * sizeof(R));
    const R untouched = out[0];
    const void* in[] = {&a[begin], &b[begin]};
    f(out.data() + shift, in, n);
    for (std::size_t i = 0; i < n; ++i) {
      T x = a[begin + ((mask & 1) != 0 ? 0 : i)], y = b[begin + ((mask & 2) != 0 ? 0 : i)];
      auto want = want_of(x, y);
      if (!matches(op, out[shift + i], want)) {
        ADD_FAILURE() << name_of(op) << " mask " << mask << " n " << n << ": (" << shown(x) << ", " << shown(y)
                      << ") gave " << shown(out[shift + i]) << ", expected " << shown(want);
        ++failures;
      }
    }
    EXPECT_TRUE(same(out[shift + n], untouched)) << name_of(op) << " wrote past the end, n " << n;
    begin += n;
  }
}

template <class T>
class Tile : public ::testing::Test {};
TYPED_TEST_SUITE(Tile, TileTypes);

TYPED_TEST(Tile, AgreesWithTheOracle) {
  using T = TypeParam;
  on_every_isa([] {
    for (ScalarOp op : kOps) {
      if (op == ScalarOp::select) continue;
      bool truth = truth_oracle<T>(op, T{}, T{}).has_value(), plain = oracle<T>(op, T{}, T{}).has_value();
      for (unsigned mask = 0; mask < (arity(op) == 1 ? 1u : 3u); ++mask) {
        EXPECT_EQ(tile_fn(op, ElemOf<T>::value, mask) != nullptr, truth || plain) << name_of(op);
        if (truth) {
          check_tiles<std::uint8_t, T>(op, mask, [&](T x, T y) { return *truth_oracle<T>(op, x, y); });
        } else if (plain) {
          check_tiles<T, T>(op, mask, [&](T x, T y) { return *oracle<T>(op, x, y); });
        }
      }
      EXPECT_EQ(tile_fn(op, ElemOf<T>::value, 8), nullptr);
    }
  });
}

TYPED_TEST(Tile, SelectsUnderEveryMask) {
  using T = TypeParam;
  on_every_isa([] {
    std::vector<T> a, b;
    operands(a, b);
    std::mt19937 random(3);
    for (unsigned mask = 0; mask < 8; ++mask) {
      TileFn f = tile_fn(ScalarOp::select, ElemOf<T>::value, mask);
      ASSERT_NE(f, nullptr);
      for (std::size_t n : {1, 2, 7, 31, 64, 100, 300}) {
        std::vector<std::uint8_t> c(n);
        for (auto& v : c) v = random() & 1;
        auto out = unwritten<T>(n);
        const void* in[] = {c.data(), a.data(), b.data()};
        f(out.data(), in, n);
        for (std::size_t i = 0; i < n; ++i) {
          T want = c[(mask & 1) != 0 ? 0 : i] != 0 ? a[(mask & 2) != 0 ? 0 : i] : b[(mask & 4) != 0 ? 0 : i];
          ASSERT_TRUE(same(out[i], want)) << "mask " << mask << " n " << n << " i " << i;
        }
      }
    }
  });
}

/// Same bits alone, inside of a tile, at another alignment, in place, and from a repeated scalar.
template <class T>
void check_position(ScalarOp op, const std::vector<T>& a, const std::vector<T>& b) {
  const std::size_t n = a.size();
  TileFn f = tile_fn(op, ElemOf<T>::value, 0);
  auto whole = unwritten<T>(n), other = unwritten<T>(n + 3);
  const void* in[] = {a.data(), b.data()};
  f(whole.data(), in, n);
  auto expect = [&](const T* got, std::size_t from, std::size_t count, const char* how) {
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(same(got[i], whole[from + i]))
          << name_of(op) << " " << how << " at " << from + i << ": " << shown(got[i]) << ", " << shown(whole[from + i]);
    }
  };
  for (std::size_t i = 0; i < n; ++i) {
    const void* one[] = {&a[i], &b[i]};
    f(other.data(), one, 1);
    expect(other.data(), i, 1, "alone");
  }
  for (std::size_t from = 0; from < 40; ++from) {
    const void* part[] = {&a[from], &b[from]};
    f(other.data() + from % 3, part, 5 * from + 2);
    expect(other.data() + from % 3, from, 5 * from + 2, "in part");
  }
  other = a;
  const void* first[] = {other.data(), b.data()};
  f(other.data(), first, n);
  expect(other.data(), 0, n, "in place of the first");
  if (arity(op) == 1) return;
  other = b;
  const void* second[] = {a.data(), other.data()};
  f(other.data(), second, n);
  expect(other.data(), 0, n, "in place of the second");
  for (std::size_t i = 0; i < n; i += 17) {
    for (unsigned mask : {1u, 2u}) {
      const std::vector<T> repeated(40, mask == 1 ? a[i] : b[i]);
      const void* vectors[] = {mask == 1 ? &repeated[0] : &a[0], mask == 1 ? &b[0] : &repeated[0]};
      f(whole.data(), vectors, 40);
      tile_fn(op, ElemOf<T>::value, mask)(other.data(), vectors, 40);
      expect(other.data(), 0, 40, "from a scalar");
    }
  }
}

TYPED_TEST(Tile, ResultsDependOnTheElementOnly) {
  using T = TypeParam;
  std::vector<T> a, b;
  operands(a, b);
  a.resize(1021);
  b.resize(1021);
  on_every_isa([&] {
    for (ScalarOp op : kOps) {
      if (returns_bool(op) || op == ScalarOp::select || tile_fn(op, ElemOf<T>::value, 0) == nullptr) continue;
      check_position(op, a, b);
    }
  });
}

TYPED_TEST(Tile, EveryIsaGivesTheSame) {
  using T = TypeParam;
  std::vector<T> a, b;
  operands(a, b);
  for (ScalarOp op : kOps) {
    if (returns_bool(op) || op == ScalarOp::select || tile_fn(op, ElemOf<T>::value, 0) == nullptr) continue;
    std::vector<T> base;
    on_every_isa([&] {
      auto out = unwritten<T>(a.size());
      const void* in[] = {a.data(), b.data()};
      tile_fn(op, ElemOf<T>::value, 0)(out.data(), in, a.size());
      if (base.empty()) base = out;
      for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_TRUE(same(out[i], base[i])) << name_of(op) << " of " << shown(a[i]) << ", " << shown(b[i]);
      }
    });
  }
}

TEST(TileFn, HasNoOtherTypesOrPrimitives) {
  EXPECT_EQ(tile_fn(ScalarOp::add, Elem::f16, 0), nullptr);
  EXPECT_EQ(tile_fn(ScalarOp::add, Elem::string, 0), nullptr);
  EXPECT_EQ(tile_fn(ScalarOp::add, Elem::f32, 3), nullptr);
  EXPECT_EQ(tile_fn(ScalarOp::cast, Elem::f32, 0), nullptr);
  EXPECT_EQ(tile_fn(ScalarOp::constant, Elem::f32, 0), nullptr);
  EXPECT_EQ(tile_fn(ScalarOp::load, Elem::f32, 0), nullptr);
}

TEST(TileFn, NothingHappensForNoElements) {
  for (ScalarOp op : {ScalarOp::add, ScalarOp::exp, ScalarOp::pow, ScalarOp::select}) {
    tile_fn(op, Elem::f32, 0)(nullptr, std::vector<const void*>(3).data(), 0);
  }
}

TEST(Fill, RepeatsAnElement) {
  for (std::size_t size : {1, 2, 4, 8, 16}) {
    for (std::size_t n : {0, 1, 2, 3, 17, 1024, 5001}) {
      std::vector<unsigned char> value(size), out(n * size + 1, 0xee);
      for (std::size_t i = 0; i < size; ++i) value[i] = static_cast<unsigned char>(3 * i + 1);
      fill(out.data(), value.data(), size, n);
      for (std::size_t i = 0; i < n * size; ++i) ASSERT_EQ(out[i], value[i % size]);
      EXPECT_EQ(out.back(), 0xee);
    }
  }
}

}  // namespace
}  // namespace frazil::kernel
