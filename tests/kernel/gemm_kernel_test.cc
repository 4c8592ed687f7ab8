#include "kernel/contract/gemm_kernel.h"

#include <vector>

#include <gtest/gtest.h>

#include "kernel/on_isa.h"
#include "kernel/random_values.h"

// The one door to products of all element types: each row of its table computes what its types say, in any order of
// rows, on each instruction set.
namespace frazil::kernel {
namespace {

using std::int64_t;

struct Zeros {
  int64_t step = 0;  ///< 0: one; 1: one per row and column
  bool given = false;
};

template <class A, class B, class C>
void expect_products(Elem a_elem, Elem b_elem, Elem c_elem, Zeros zeros) {
  const GemmKernel* const kernel = find_gemm(a_elem, b_elem, c_elem);
  ASSERT_NE(kernel, nullptr);
  const int64_t m = 7, n = 131, k = 29;
  const auto a = values<A>(m * k, 1), a_zero = values<A>(m, 3);
  const auto b = values<B>(k * n, 2), b_zero = values<B>(n, 4);
  std::vector<C> c(static_cast<std::size_t>(m * n), C(77));
  std::vector<std::byte> scratch(kernel->scratch_bytes(m, n, k) + 64);
  GemmCall g{.m = m,
             .n = n,
             .k = k,
             .a = a.data(),
             .a_row = 1,
             .a_col = m,
             .b = b.data(),
             .b_row = n,
             .c = c.data(),
             .c_row = n};
  if (zeros.given) g.a_zero = a_zero.data(), g.b_zero = b_zero.data(), g.a_zero_step = g.b_zero_step = zeros.step;
  kernel->rows(g, 5, 7, scratch.data());
  kernel->rows(g, 0, 2, scratch.data());
  ASSERT_TRUE(kernel->column_ranges);
  for (const auto& [first, past] : {std::pair<int64_t, int64_t>{96, n}, {0, 32}, {32, 96}}) {
    g.first_col = first, g.past_col = past;
    kernel->rows(g, 2, 5, scratch.data());
  }
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const C x0 = zeros.given ? static_cast<C>(a_zero[static_cast<std::size_t>(i * zeros.step)]) : C(0);
      const C y0 = zeros.given ? static_cast<C>(b_zero[static_cast<std::size_t>(j * zeros.step)]) : C(0);
      C sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        const C product = (static_cast<C>(a[static_cast<std::size_t>(i + p * m)]) - x0) *
                          (static_cast<C>(b[static_cast<std::size_t>(p * n + j)]) - y0);
        sum += product;
      }
      if constexpr (std::is_same_v<C, float>)
        ASSERT_NEAR(c[static_cast<std::size_t>(i * n + j)], sum, 1e-4f * static_cast<float>(k)) << i << ", " << j;
      else
        ASSERT_EQ(c[static_cast<std::size_t>(i * n + j)], sum) << i << ", " << j;
    }
  }
}

using GemmKernels = OnIsa;

TEST_P(GemmKernels, MultiplyTheirTypes) {
  expect_products<float, float, float>(Elem::f32, Elem::f32, Elem::f32, {});
  expect_products<double, double, double>(Elem::f64, Elem::f64, Elem::f64, {});
  expect_products<std::uint32_t, std::uint32_t, std::uint32_t>(Elem::u32, Elem::u32, Elem::u32, {});
  expect_products<std::uint64_t, std::uint64_t, std::uint64_t>(Elem::u64, Elem::u64, Elem::u64, {});
}

TEST_P(GemmKernels, TakeZeroPointsOfBytes) {
  for (const Zeros zeros : {Zeros{}, Zeros{0, true}, Zeros{1, true}}) {
    expect_products<std::int8_t, std::int8_t, std::int32_t>(Elem::i8, Elem::i8, Elem::i32, zeros);
    expect_products<std::int8_t, std::uint8_t, std::int32_t>(Elem::i8, Elem::u8, Elem::i32, zeros);
    expect_products<std::uint8_t, std::int8_t, std::int32_t>(Elem::u8, Elem::i8, Elem::i32, zeros);
    expect_products<std::uint8_t, std::uint8_t, std::int32_t>(Elem::u8, Elem::u8, Elem::i32, zeros);
  }
}

TEST(GemmKernel, IsNullForTypesWithoutOne) {
  EXPECT_EQ(find_gemm(Elem::f32, Elem::f64, Elem::f32), nullptr);
  EXPECT_EQ(find_gemm(Elem::i8, Elem::i8, Elem::f32), nullptr);
  EXPECT_EQ(find_gemm(Elem::boolean, Elem::boolean, Elem::boolean), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Isa, GemmKernels, ::testing::ValuesIn(isas()), name_of_isa);

}  // namespace
}  // namespace frazil::kernel
