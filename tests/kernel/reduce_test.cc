#include "kernel/row/reduce.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/on_isa.h"
#include "kernel/random_values.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

template <class T>
T naive_reduce(Reduce op, const T* x, int64_t extent, int64_t step) {
  if constexpr (std::is_floating_point_v<T>) {
    double sum = 0, prod = 1, square = 0, abs = 0;
    T high = -std::numeric_limits<T>::infinity(), low = std::numeric_limits<T>::infinity();
    for (int64_t i = 0; i < extent; ++i) {
      const T v = x[i * step];
      sum += v, prod *= v, square += double(v) * v, abs += std::abs(v);
      high = v > high || std::isnan(v) ? v : high;
      low = v < low || std::isnan(v) ? v : low;
    }
    const double all[] = {sum, sum / static_cast<double>(extent), high, low, prod, square, abs};
    return static_cast<T>(all[static_cast<int>(op)]);
  } else {
    using U = std::make_unsigned_t<T>;
    U sum = 0, prod = 1, square = 0, abs = 0;
    T high = std::numeric_limits<T>::min(), low = std::numeric_limits<T>::max();
    for (int64_t i = 0; i < extent; ++i) {
      const T v = x[i * step];
      const U u = static_cast<U>(v);
      sum += u, prod *= u, square += u * u, abs += v > 0 ? u : U(0) - u;
      high = std::max(high, v), low = std::min(low, v);
    }
    const T mean = extent == 0 ? T(0) : static_cast<T>(static_cast<T>(sum) / extent);
    const T all[] = {static_cast<T>(sum), mean, high, low, static_cast<T>(prod), static_cast<T>(square),
                     static_cast<T>(abs)};
    return all[static_cast<int>(op)];
  }
}

struct Shape {
  int64_t outer, extent, inner;
};
constexpr Shape kShapes[] = {{1, 1, 1},    {3, 5, 1},   {2, 16, 1},   {2, 17, 1},    {3, 64, 1}, {1, 100, 1},
                             {2, 255, 1},  {1, 257, 1}, {2, 4096, 1}, {1, 20011, 1}, {0, 4, 3},  {3, 0, 2},
                             {2, 0, 1},    {3, 4, 0},   {2, 3, 2},    {2, 7, 5},     {1, 9, 16}, {2, 65, 33},
                             {1, 300, 70}, {3, 2, 129}, {1, 1000, 3}};

template <class T>
void check_reduce(Elem elem) {
  for (const Shape& s : kShapes) {
    const auto x = values<T>(s.outer * s.extent * s.inner);
    for (int o = 0; o < 7; ++o) {
      const Reduce op = static_cast<Reduce>(o);
      std::vector<T> y(static_cast<std::size_t>(s.outer * s.inner), T(77));
      if (!reduce_supports(op, elem)) {
        EXPECT_FALSE(reduce(op, elem, x.data(), y.data(), s.outer, s.extent, s.inner));
        continue;
      }
      ASSERT_TRUE(reduce(op, elem, x.data(), y.data(), s.outer, s.extent, s.inner));
      on_every_isa([&] {
        std::vector<T> again(y.size(), T(77));
        reduce(op, elem, x.data(), again.data(), s.outer, s.extent, s.inner);
        if (!y.empty()) {
          EXPECT_EQ(0, std::memcmp(y.data(), again.data(), y.size() * sizeof(T)));
        }
      });
      for (int64_t i = 0; i < s.outer * s.inner; ++i) {
        const T* at = x.empty() ? nullptr : x.data() + i / s.inner * s.extent * s.inner + i % s.inner;
        const T want = naive_reduce(op, at, s.extent, s.inner), got = y[static_cast<std::size_t>(i)];
        if constexpr (std::is_floating_point_v<T>) {
          if (std::isnan(want) || std::isinf(want)) {
            EXPECT_TRUE(want == got || (std::isnan(want) && std::isnan(got)));
            continue;
          }
          const double size = 1 + naive_reduce(Reduce::sum_abs, at, s.extent, s.inner);
          const double bound = 2 * std::numeric_limits<T>::epsilon() * std::sqrt(double(s.extent)) * size;
          EXPECT_NEAR(got, want, bound) << s.outer << " " << s.extent << " " << s.inner << " op " << o;
        } else {
          EXPECT_EQ(got, want) << s.outer << " " << s.extent << " " << s.inner << " op " << o;
        }
      }
    }
  }
}

TEST(Reduce, Types) {
  check_reduce<float>(Elem::f32);
  check_reduce<double>(Elem::f64);
  check_reduce<std::int32_t>(Elem::i32);
  check_reduce<std::int64_t>(Elem::i64);
  check_reduce<std::int8_t>(Elem::i8);
  check_reduce<std::uint8_t>(Elem::u8);
  float y;
  EXPECT_FALSE(reduce(Reduce::sum, Elem::f16, nullptr, &y, 0, 0, 0));
}

TEST(Reduce, NanWins) {
  for (int64_t inner : {1, 20}) {
    for (int64_t extent : {3, 40, 300}) {
      for (int64_t at = 0; at < extent; at += 13) {
        std::vector<float> x(static_cast<std::size_t>(extent * inner), 1.f), y(static_cast<std::size_t>(inner));
        for (int64_t j = 0; j < inner; ++j) x[static_cast<std::size_t>(at * inner + j)] = NAN;
        for (Reduce op : {Reduce::max, Reduce::min}) {
          reduce(op, Elem::f32, x.data(), y.data(), 1, extent, inner);
          for (float v : y) EXPECT_TRUE(std::isnan(v));
        }
        for (Arg op : {Arg::max, Arg::min}) {
          std::vector<int64_t> where(static_cast<std::size_t>(inner));
          arg_reduce(op, false, Elem::f32, x.data(), where.data(), 1, extent, inner);
          for (int64_t w : where) EXPECT_EQ(w, at);
        }
      }
    }
  }
}

TEST(Reduce, LongSumsStayAccurate) {
  const std::vector<float> x(1 << 24, 0.1f);
  float y;
  reduce(Reduce::sum, Elem::f32, x.data(), &y, 1, 1 << 24, 1);
  EXPECT_NEAR(y, double(0.1f) * (1 << 24), 2);
}

template <class T>
void check_arg(Elem elem) {
  for (const Shape& s : kShapes) {
    auto x = values<T>(s.outer * s.extent * s.inner);
    for (T& v : x) {  // many ties
      if constexpr (std::is_floating_point_v<T>) {
        v = std::trunc(v * 8);
      } else {
        v = static_cast<T>(v % 8);
      }
    }
    for (Arg op : {Arg::max, Arg::min}) {
      for (bool last : {false, true}) {
        on_every_isa([&] {
          std::vector<int64_t> y(static_cast<std::size_t>(s.outer * s.inner), -1);
          ASSERT_TRUE(arg_reduce(op, last, elem, x.data(), y.data(), s.outer, s.extent, s.inner));
          for (int64_t i = 0; i < s.outer * s.inner; ++i) {
            const T* at = x.empty() ? nullptr : x.data() + i / s.inner * s.extent * s.inner + i % s.inner;
            int64_t want = 0;
            for (int64_t r = 1; r < s.extent; ++r) {
              const T v = at[r * s.inner], b = at[want * s.inner];
              if ((op == Arg::max ? v > b : v < b) || (last && v == b)) want = r;
            }
            EXPECT_EQ(y[static_cast<std::size_t>(i)], want);
          }
        });
      }
    }
  }
}

TEST(Reduce, Arg) {
  check_arg<float>(Elem::f32);
  check_arg<double>(Elem::f64);
  check_arg<std::int32_t>(Elem::i32);
  check_arg<std::int64_t>(Elem::i64);
  check_arg<std::int8_t>(Elem::i8);
  check_arg<std::uint8_t>(Elem::u8);
}

}  // namespace
}  // namespace frazil::kernel
