#include "kernel/move/copy.h"

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/dims.h"

namespace frazil::kernel {
namespace {

Dims row_major(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t step = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    strides[d] = step;
    step *= dims[d];
  }
  return strides;
}

std::int64_t offset_of(std::int64_t flat, const Dims& dims, const Dims& strides) {
  std::int64_t offset = 0;
  for (std::size_t d = dims.size(); d-- > 0;) {
    offset += flat % dims[d] * strides[d];
    flat /= dims[d];
  }
  return offset;
}

struct Side {
  std::vector<std::uint8_t> bytes;
  std::int64_t origin = 0;
};

/// Memory for every element that the strides reach, with a guard of 64 bytes on both ends.
Side make_side(const Dims& dims, const Dims& strides, std::int64_t e, std::uint8_t seed) {
  std::int64_t low = 0, high = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const std::int64_t reach = (dims[d] - 1) * strides[d];
    (reach < 0 ? low : high) += reach;
  }
  Side s;
  s.bytes.resize(static_cast<std::size_t>((high - low + 1) * e + 128));
  for (std::size_t i = 0; i < s.bytes.size(); ++i) s.bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251 + seed);
  s.origin = -low * e + 64;
  return s;
}

void check_copy(const Dims& dims, const Dims& dst_strides, const Dims& src_strides, std::int64_t e) {
  SCOPED_TRACE(::testing::PrintToString(dims) + " dst " + ::testing::PrintToString(dst_strides) + " src " +
               ::testing::PrintToString(src_strides) + " elem " + std::to_string(e));
  if (count_of(dims) == 0) {
    copy_strided(nullptr, dst_strides, nullptr, src_strides, dims, e);
    return;
  }
  Side dst = make_side(dims, dst_strides, e, 1);
  const Side src = make_side(dims, src_strides, e, 100);
  std::vector<std::uint8_t> want = dst.bytes;
  for (std::int64_t i = 0; i < count_of(dims); ++i)
    std::memcpy(want.data() + dst.origin + offset_of(i, dims, dst_strides) * e,
                src.bytes.data() + src.origin + offset_of(i, dims, src_strides) * e, static_cast<std::size_t>(e));
  const Side fresh = dst;
  copy_strided(dst.bytes.data() + dst.origin, dst_strides, src.bytes.data() + src.origin, src_strides, dims, e);
  EXPECT_EQ(dst.bytes, want);
  CopyPlan plan;
  if (!plan_copy(plan, dims, dst_strides, src_strides, e)) return;
  dst = fresh;
  const CopyParts parts = copy_parts(plan, 100);
  EXPECT_EQ(copy_bytes(plan), count_of(dims) * e);
  for (std::int64_t end = parts.count, begin; end > 0; end = begin) {
    begin = std::max<std::int64_t>(0, end - 2);
    run_copy_parts(plan, parts, begin, end, dst.bytes.data() + dst.origin, src.bytes.data() + src.origin);
  }
  EXPECT_EQ(dst.bytes, want) << "in " << parts.count << " parts";
}

TEST(Copy, Shapes) {
  for (std::int64_t e : {1, 2, 3, 4, 8, 12, 16, 24}) {
    for (const Dims& dims : {Dims{}, Dims{1}, Dims{7}, Dims{3, 5}, Dims{2, 3, 4}, Dims{17, 33}, Dims{64, 70},
                             Dims{0, 4}, Dims{2, 0, 3}, Dims{5, 1, 9, 2}, Dims{2, 2, 2, 2, 2, 3}}) {
      const Dims packed = row_major(dims);
      check_copy(dims, packed, packed, e);
      Dims spaced = packed;
      for (auto& s : spaced) s *= 2;
      check_copy(dims, spaced, packed, e);
      check_copy(dims, packed, spaced, e);
      check_copy(dims, packed, Dims(dims.size(), 0), e);
    }
  }
}

TEST(Copy, EveryPermutation) {
  for (std::int64_t e : {1, 2, 4, 8, 16}) {
    for (const Dims& base : {Dims{19, 37}, Dims{5, 18, 33}, Dims{2, 17, 3, 20}, Dims{300, 261}}) {
      std::vector<int> order(base.size());
      std::iota(order.begin(), order.end(), 0);
      do {
        const Dims strides = row_major(base);
        Dims dims, src;
        for (int d : order) {
          dims.push_back(base[static_cast<std::size_t>(d)]);
          src.push_back(strides[static_cast<std::size_t>(d)]);
        }
        check_copy(dims, row_major(dims), src, e);
        check_copy(dims, src, row_major(dims), e);
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
}

TEST(Copy, NegativeAndBroadcastStrides) {
  for (std::int64_t e : {1, 4, 8}) {
    check_copy({5, 6}, {6, 1}, {6, -1}, e);
    check_copy({5, 6}, {6, 1}, {-6, -1}, e);
    check_copy({5, 6}, {-6, 1}, {6, 1}, e);
    check_copy({5, 20}, {20, 1}, {1, 0}, e);
    check_copy({5, 20}, {20, 1}, {0, 1}, e);
    check_copy({3, 5, 20}, {100, 20, 1}, {0, 1, 0}, e);
    check_copy({3, 8, 4}, {64, 8, 1}, {32, 4, 1}, e);
  }
}

TEST(Copy, FewRowsInTurns) {
  for (const std::int64_t e : {1, 2, 4, 8}) {
    for (std::int64_t rows = 2; rows <= 9; ++rows) {
      for (const std::int64_t n : {2, 5, 17, 70}) {
        const std::int64_t all = rows * n;
        check_copy({3, n, rows}, {all, rows, 1}, {all, 1, n}, e);
        check_copy({3, n, rows}, {all + 1, rows, 1}, {rows * (n + 3), 1, n + 3}, e);
        check_copy({3, n, rows}, {all * 2, rows * 2, 1}, {all, 1, n}, e);
        check_copy({3, rows, n}, {all, n, 1}, {all, 1, rows}, e);
        check_copy({3, rows, n}, {rows * (n + 3), n + 3, 1}, {all, 1, rows}, e);
        check_copy({3, rows, n}, {all, n, 1}, {all * 3, 1, rows * 3}, e);
      }
    }
  }
}

TEST(Copy, HighRank) {
  Dims dims(20, 2), dst = row_major(dims), src(20);
  for (std::size_t d = 0; d < 20; ++d) src[d] = dst[19 - d];
  CopyPlan plan;
  EXPECT_FALSE(plan_copy(plan, dims, dst, src, 4));
  check_copy(dims, dst, src, 4);
  check_copy(dims, dst, dst, 4);
}

TEST(Copy, PlanMerges) {
  CopyPlan plan;
  const Dims dims = {4, 1, 5, 6}, strides = row_major(dims);
  ASSERT_TRUE(plan_copy(plan, dims, strides, strides, 4));
  EXPECT_EQ(plan.kind, CopyPlan::Kind::block);
  ASSERT_TRUE(plan_copy(plan, Dims{4, 5, 6}, Dims{30, 6, 1}, Dims{60, 12, 1}, 4));
  EXPECT_EQ(plan.kind, CopyPlan::Kind::rows);
  EXPECT_EQ(plan.rank, 2);
  ASSERT_TRUE(plan_copy(plan, Dims{30, 40}, Dims{40, 1}, Dims{1, 30}, 4));
  EXPECT_EQ(plan.kind, CopyPlan::Kind::transpose);
  ASSERT_TRUE(plan_copy(plan, Dims{30, 40, 2}, Dims{80, 2, 1}, Dims{2, 60, 1}, 4));
  EXPECT_EQ(plan.kind, CopyPlan::Kind::transpose);
  EXPECT_EQ(plan.elem_size, 8);
  ASSERT_TRUE(plan_copy(plan, Dims{30, 5}, Dims{5, 1}, Dims{1, 30}, 4));
  EXPECT_EQ(plan.kind, CopyPlan::Kind::interleave);
  ASSERT_TRUE(plan_copy(plan, Dims{5, 30}, Dims{30, 1}, Dims{1, 5}, 4));
  EXPECT_EQ(plan.kind, CopyPlan::Kind::interleave);
}

TEST(Copy, Fill) {
  std::vector<float> x(2 * 3 * 10, 1.f);
  const float value = 7.f;
  fill_strided(x.data(), Dims{30, 10, 1}, Dims{2, 3, 4}, &value, 4);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i], i % 10 < 4 ? 7.f : 1.f);
  fill_strided(x.data(), Dims(20, 1), Dims(20, 1), &value, 4);
  EXPECT_EQ(x[0], 7.f);
}

}  // namespace
}  // namespace frazil::kernel
