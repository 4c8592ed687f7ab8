#include "bench/lazy/products.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "kernel/contract/float_gemm.h"

#if defined(FRAZIL_BENCH_OPENBLAS)
#include <cblas.h>
#endif

namespace bench::lazy {

namespace kernel = frazil::kernel;

std::string_view name_of(Products products) { return products == Products::openblas ? "OpenBLAS" : "packed"; }

float* Buffer::reserve(std::int64_t floats) {
  if (floats > floats_) {
    constexpr std::size_t kLine = 64;
    const std::size_t bytes = (static_cast<std::size_t>(floats) * sizeof(float) + kLine - 1) / kLine * kLine;
    auto* const memory = static_cast<float*>(std::aligned_alloc(kLine, bytes));
    if (memory == nullptr) throw std::bad_alloc();
    memory_.reset(memory);
    floats_ = floats;
  }
  return memory_.get();
}

void Buffer::Free::operator()(float* p) const { std::free(p); }

Weights::Weights(const Matrix& w) : inputs_(w.rows), outputs_(w.cols), plain_(plain_memory_.reserve(w.rows * w.cols)) {
  std::copy(w.values.begin(), w.values.end(), plain_);
  const std::size_t bytes = kernel::packed_b_bytes(frazil::Elem::f32, w.rows, w.cols);
  packed_ = packed_memory_.reserve(static_cast<std::int64_t>(bytes / sizeof(float)));
  kernel::pack_b(frazil::Elem::f32, w.rows, w.cols, w.values.data(), w.cols, 1, packed_);
}

void Multiplier::operator()(std::int64_t m, const Rows& a, const Weights& w, float* c, bool accumulate) {
  if (how_ == Products::openblas) {
    by_openblas(m, a, w, c, accumulate);
  } else {
    by_packed(m, a, w, nullptr, c, accumulate);
  }
}

void Multiplier::with_bias(std::int64_t m, const Rows& a, const Weights& w, const Floats& bias, float* c) {
  if (how_ == Products::packed) {
    by_packed(m, a, w, bias.data(), c, false);
    return;
  }
  for (std::int64_t i = 0; i < m; ++i) std::copy(bias.begin(), bias.end(), c + i * w.outputs());
  by_openblas(m, a, w, c, true);
}

void Multiplier::by_packed(std::int64_t m, const Rows& a, const Weights& w, const float* bias, float* c,
                           bool accumulate) {
  kernel::GemmCall g;
  g.m = m, g.n = w.outputs(), g.k = w.inputs();
  g.a = a.values, g.a_row = a.stride;
  g.c = c, g.c_row = g.n;
  g.bias = bias;
  g.accumulate = accumulate;
  g.backwards = backwards_ = !backwards_;
  g.packed_b = w.packed();
  const std::size_t bytes = kernel::float_gemm_scratch(frazil::Elem::f32, m, g.n, g.k);
  kernel::gemm(g, scratch_.reserve(static_cast<std::int64_t>(bytes / sizeof(float)) + 1));
}

#if defined(FRAZIL_BENCH_OPENBLAS)

std::vector<Products> products_of_build() { return {Products::openblas, Products::packed}; }

std::string_view openblas_core() { return openblas_get_corename(); }

/// OpenBLAS of these versions does not see by itself that one row is a product of a matrix and a vector.
void Multiplier::by_openblas(std::int64_t m, const Rows& a, const Weights& w, float* c, bool accumulate) const {
  const auto rows = static_cast<int>(m), n = static_cast<int>(w.outputs()), k = static_cast<int>(w.inputs());
  const float beta = accumulate ? 1.f : 0.f;
  if (m == 1) {
    cblas_sgemv(CblasRowMajor, CblasTrans, k, n, 1.f, w.plain(), n, a.values, 1, beta, c, 1);
  } else {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, n, k, 1.f, a.values, static_cast<int>(a.stride),
                w.plain(), n, beta, c, n);
  }
}

#else

std::vector<Products> products_of_build() { return {Products::packed}; }

std::string_view openblas_core() { return ""; }

void Multiplier::by_openblas(std::int64_t, const Rows&, const Weights&, float*, bool) const {}

#endif

}  // namespace bench::lazy
