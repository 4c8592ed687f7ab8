#include "kernel/move/index.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/limits/execution_limits.h"
#include "base/value/float.h"
#include "kernel/dims.h"

namespace frazil::kernel {
namespace {

std::vector<std::int32_t> iota(std::int64_t n) {
  std::vector<std::int32_t> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 100);
  return v;
}

TEST(Gather, AxisAndInner) {
  const std::vector<std::int64_t> wide = {2, 0, -1, 1, -3};
  const std::vector<std::int32_t> narrow(wide.begin(), wide.end());
  for (std::int64_t outer : {0, 1, 3}) {
    for (std::int64_t inner : {0, 1, 2, 3, 4, 7}) {
      const auto src = iota(outer * 3 * inner);
      std::vector<std::int32_t> want;
      for (std::int64_t o = 0; o < outer; ++o)
        for (std::int64_t i : wide)
          for (std::int64_t j = 0; j < inner; ++j)
            want.push_back(src[static_cast<std::size_t>((o * 3 + (i + 3) % 3) * inner + j)]);
      std::vector<std::int32_t> a(want.size()), b(want.size());
      EXPECT_EQ(gather(a.data(), src.data(), outer, 3, inner * 4, wide.data(), 5), -1);
      EXPECT_EQ(gather(b.data(), src.data(), outer, 3, inner * 4, narrow.data(), 5), -1);
      EXPECT_EQ(a, want);
      EXPECT_EQ(b, want);
    }
  }
}

/// When the run has to stop, the check of indices may be incomplete; unchecked indices must not be used.
TEST(Indices, AreNotUsedUncheckedWhenTheRunStops) {
  constexpr std::int64_t kCount = 1 << 17, kFar = std::int64_t{1} << 40;
  ExecutionLimits execution_limits{Limits{}};
  execution_limits.cancel();
  const LimitsScope scope(&execution_limits);
  std::vector<std::int64_t> indices(3 * kCount, 0);
  std::fill(indices.begin() + 65280, indices.end(), kFar);
  const std::int64_t line[] = {4}, cube[] = {4, 4, 4}, count[] = {kCount};
  std::vector<std::int32_t> data(64, 1), out(kCount, 7);
  const auto all_sevens = out, all_ones = data;
  gather(out.data(), data.data(), 1, 4, 4, indices.data(), kCount);
  gather_elements(out.data(), data.data(), line, indices.data(), count, 0, 4);
  gather_nd(out.data(), data.data(), 1, cube, 4, indices.data(), kCount);
  EXPECT_EQ(out, all_sevens);
  scatter_elements(Scatter::none, Elem::i32, data.data(), line, indices.data(), out.data(), count, 0);
  scatter_nd(Scatter::none, Elem::i32, data.data(), cube, 1, indices.data(), kCount, out.data());
  EXPECT_EQ(data, all_ones);
}

TEST(Gather, ReportsTheFirstBadIndex) {
  std::vector<std::int64_t> indices(600, 1);
  const auto src = iota(3);
  std::vector<std::int32_t> dst(600, 7);
  for (std::int64_t bad : {std::int64_t{3}, std::int64_t{-4}, INT64_MAX, INT64_MIN}) {
    indices[450] = bad;
    indices[451] = bad;
    EXPECT_EQ(gather(dst.data(), src.data(), 1, 3, 4, indices.data(), 600), 450);
  }
  EXPECT_EQ(dst, std::vector<std::int32_t>(600, 7));
  EXPECT_EQ(gather(dst.data(), src.data(), 1, 0, 4, indices.data(), 1), 0);
  EXPECT_EQ(gather(dst.data(), src.data(), 1, 0, 4, indices.data(), 0), -1);
}

std::int64_t naive_offset(std::int64_t flat, const Dims& data, const Dims& index, std::size_t axis,
                          std::int64_t value) {
  std::int64_t offset = 0, step = 1;
  for (std::size_t d = index.size(); d-- > 0;) {
    offset += step * (d == axis ? (value < 0 ? value + data[d] : value) : flat % index[d]);
    flat /= index[d];
    step *= data[d];
  }
  return offset;
}

TEST(GatherAndScatterElements, Shapes) {
  struct Case {
    Dims data, index;
  };
  const Case cases[] = {{{5}, {3}},
                        {{4, 3}, {4, 3}},
                        {{4, 3}, {2, 3}},
                        {{4, 3}, {2, 2}},
                        {{2, 3, 4}, {2, 3, 4}},
                        {{3, 3, 3}, {1, 2, 3}},
                        {{3, 2, 4}, {0, 2, 4}},
                        {{2, 2, 2, 2}, {2, 2, 2, 2}}};
  for (const Case& c : cases) {
    for (std::size_t axis = 0; axis < c.data.size(); ++axis) {
      const auto data = iota(count_of(c.data));
      std::vector<std::int64_t> indices(static_cast<std::size_t>(count_of(c.index)));
      for (std::size_t i = 0; i < indices.size(); ++i)
        indices[i] = static_cast<std::int64_t>(i * 7 % static_cast<std::size_t>(2 * c.data[axis])) - c.data[axis];
      std::vector<std::int32_t> got(indices.size(), -77), want(indices.size());
      const auto updates = iota(count_of(c.index));
      auto sums = data, want_sums = data, moved = data, want_moved = data;
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const auto at =
            static_cast<std::size_t>(naive_offset(static_cast<std::int64_t>(i), c.data, c.index, axis, indices[i]));
        want[i] = data[at];
        want_sums[at] += updates[i];
        want_moved[at] = updates[i];
      }
      const auto a = static_cast<std::int64_t>(axis);
      EXPECT_EQ(gather_elements(got.data(), data.data(), c.data, indices.data(), c.index, a, 4), -1);
      EXPECT_EQ(got, want);
      EXPECT_EQ(
          scatter_elements(Scatter::add, Elem::i32, sums.data(), c.data, indices.data(), updates.data(), c.index, a),
          -1);
      EXPECT_EQ(sums, want_sums);
      EXPECT_EQ(
          scatter_elements(Scatter::none, Elem::i32, moved.data(), c.data, indices.data(), updates.data(), c.index, a),
          -1);
      EXPECT_EQ(moved, want_moved);
      if (!indices.empty()) {
        indices.back() = c.data[axis];
        EXPECT_EQ(gather_elements(got.data(), data.data(), c.data, indices.data(), c.index, a, 4),
                  std::int64_t(indices.size()) - 1);
      }
    }
  }
}

TEST(GatherElements, IndexLargerThanDataOffAxis) {
  const Dims data = {2, 3}, index = {3, 3};
  const std::int64_t indices[9] = {};
  std::int32_t from[6] = {}, to[9] = {};
  EXPECT_EQ(gather_elements(to, from, data, indices, index, 1, 4), 6);
  EXPECT_EQ(gather_elements(to, from, data, indices, index, 0, 4), -1);
}

TEST(GatherNd, BatchAndTuples) {
  const auto src = iota(2 * 3 * 4 * 5);
  const Dims tuple = {3, 4};
  const std::vector<std::int32_t> indices = {0, 0, -1, -1, 1, 2, 2, 3};
  std::vector<std::int32_t> dst(2 * 2 * 5);
  ASSERT_EQ(gather_nd(dst.data(), src.data(), 2, tuple, 20, indices.data(), 2), -1);
  const std::size_t rows[] = {0, 11, 12 + 6, 12 + 11};
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(dst[r * 5 + j], src[rows[r] * 5 + j]);
  const std::vector<std::int32_t> bad = {0, 0, 0, 4};
  EXPECT_EQ(gather_nd(dst.data(), src.data(), 1, tuple, 20, bad.data(), 2), 3);
  EXPECT_EQ(gather_nd(dst.data(), src.data(), 1, {}, 20, bad.data(), 2), -1);
  EXPECT_EQ(dst[5], src[0]);
}

template <class T>
void check_reductions(Elem elem) {
  const std::vector<std::int64_t> indices = {1, -1, 1};
  const T updates[] = {T(2.f), T(3.f), T(5.f)};
  const float want[4][3] = {{4, 11, 7}, {4, 40, 12}, {4, 5, 4}, {4, 2, 3}};
  for (int op = 0; op < 4; ++op) {
    T data[] = {T(4.f), T(4.f), T(4.f)};
    const Scatter s = static_cast<Scatter>(op + 1);
    ASSERT_TRUE(scatter_supports(s, elem));
    EXPECT_EQ(scatter_nd(s, elem, data, Dims{3}, 1, indices.data(), 3, updates), -1);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(static_cast<float>(data[i]), want[op][i]) << op << " " << i;
  }
}

TEST(Scatter, ReductionsOfEveryType) {
  check_reductions<float>(Elem::f32);
  check_reductions<double>(Elem::f64);
  check_reductions<Half>(Elem::f16);
  check_reductions<BFloat16>(Elem::bf16);
  check_reductions<std::int8_t>(Elem::i8);
  check_reductions<std::int16_t>(Elem::i16);
  check_reductions<std::int32_t>(Elem::i32);
  check_reductions<std::int64_t>(Elem::i64);
  check_reductions<std::uint8_t>(Elem::u8);
  check_reductions<std::uint16_t>(Elem::u16);
  check_reductions<std::uint32_t>(Elem::u32);
  check_reductions<std::uint64_t>(Elem::u64);
  EXPECT_FALSE(scatter_supports(Scatter::none, Elem::string));
  EXPECT_FALSE(scatter_supports(Scatter::add, Elem::c64));
  EXPECT_TRUE(scatter_supports(Scatter::none, Elem::c128));
}

TEST(ScatterNd, RowsNanAndFaults) {
  std::vector<float> data(12, 1.f);
  const float updates[] = {NAN, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> indices = {3, 0};
  ASSERT_EQ(scatter_nd(Scatter::max, Elem::f32, data.data(), Dims{4}, 3, indices.data(), 2, updates), -1);
  EXPECT_TRUE(std::isnan(data[9]));
  EXPECT_EQ(data[10], 2.f);
  EXPECT_EQ(data[0], 4.f);
  const std::vector<std::int64_t> bad = {1, 4};
  EXPECT_EQ(scatter_nd(Scatter::none, Elem::f32, data.data(), Dims{4}, 3, bad.data(), 2, updates), 1);
  EXPECT_EQ(data[3], 1.f);
}

}  // namespace
}  // namespace frazil::kernel
