#include "kernel/contract/plain_gemm.h"

#include <vector>

#include <gtest/gtest.h>

#include "kernel/contract/gemm_kernel.h"
#include "kernel/on_isa.h"
#include "kernel/random_values.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

template <class T>
struct ElemOf;
template <>
struct ElemOf<double> {
  static constexpr Elem kElem = Elem::f64;
};
template <>
struct ElemOf<std::uint32_t> {
  static constexpr Elem kElem = Elem::u32;
};
template <>
struct ElemOf<std::uint64_t> {
  static constexpr Elem kElem = Elem::u64;
};

struct Steps {
  int64_t a_row, a_col, b_row, b_col;
};

/// Every element is the sum of its products in the order of k, bit for bit.
template <class T>
void expect_sums_in_order(int64_t m, int64_t n, int64_t k, const Steps& s) {
  const auto a = values<T>(m * k, 1), b = values<T>(k * n, 2);
  std::vector<T> c(static_cast<std::size_t>(m * n), T(77));
  alignas(64) static std::byte scratch[kPlainGemmScratch];
  const PlainGemm g{m, n, k, a.data(), s.a_row, s.a_col, b.data(), s.b_row, s.b_col, c.data(), n};
  ASSERT_TRUE(plain_gemm(ElemOf<T>::kElem, g, scratch));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        const T product = a[static_cast<std::size_t>(i * s.a_row + p * s.a_col)] *
                          b[static_cast<std::size_t>(p * s.b_row + j * s.b_col)];
        sum += product;
      }
      ASSERT_EQ(c[static_cast<std::size_t>(i * n + j)], sum) << i << ", " << j;
    }
  }
}

TEST(PlainGemm, SumsInTheOrderOfK) {
  const int64_t sizes[][3] = {{1, 1, 1},  {0, 3, 2},    {3, 0, 2},     {2, 3, 0},    {4, 16, 8},
                              {5, 17, 9}, {7, 31, 127}, {3, 300, 129}, {1, 600, 40}, {9, 5, 260}};
  on_every_isa([&] {
    for (const auto& [m, n, k] : sizes) {
      for (const Steps& s : {Steps{k, 1, n, 1}, Steps{1, m, 1, k}}) {
        SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k << ", step " << s.b_col);
        expect_sums_in_order<double>(m, n, k, s);
        expect_sums_in_order<std::uint32_t>(m, n, k, s);
        expect_sums_in_order<std::uint64_t>(m, n, k, s);
      }
    }
  });
}

TEST(PlainGemm, ServesWideTypes) {
  for (int i = 0; i < kElemCount; ++i) {
    const auto elem = static_cast<Elem>(i);
    const GemmKernel* const kernel = find_gemm(elem, elem, elem);
    EXPECT_EQ(kernel != nullptr && !kernel->epilogue, plain_gemm(elem, {}, nullptr)) << name_of(elem);
  }
}

}  // namespace
}  // namespace frazil::kernel
