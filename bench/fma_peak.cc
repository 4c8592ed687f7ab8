#include "bench/fma_peak.h"

#include <vector>

#include "bench/interleave.h"
#include "kernel/simd/isa.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench {
namespace {

constexpr int kTurns = 20000;
constexpr int kChains = 12;  ///< independent ones, more than a core has in flight

/// The empty assembler keeps the compiler from shortening the chains.
#define BENCH_CHAINS(Vector, one, step, constraint)                  \
  Vector chain[kChains];                                             \
  for (Vector& c : chain) c = one;                                   \
  const Vector x = one;                                              \
  for (int turn = 0; turn < kTurns; ++turn) {                        \
    _Pragma("GCC unroll 12") for (Vector & c : chain) c = step;      \
    _Pragma("GCC unroll 12") for (Vector & c : chain) {              \
      asm volatile("" : constraint(c));                              \
    }                                                                \
  }                                                                  \
  return 2.0 * kTurns * kChains * (sizeof(Vector) / sizeof(float))

double chains_base() {
  using Four [[gnu::vector_size(16)]] = float;
  const Four half = {0.5f, 0.5f, 0.5f, 0.5f};
  BENCH_CHAINS(Four, half, c * x + half, "+x");
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] double chains_avx2() {
  BENCH_CHAINS(__m256, _mm256_set1_ps(0.5f), _mm256_fmadd_ps(c, x, x), "+x");
}
[[gnu::target("avx512f")]] double chains_avx512() {
  BENCH_CHAINS(__m512, _mm512_set1_ps(0.5f), _mm512_fmadd_ps(c, x, x), "+v");
}
#endif

double chains() {
#if defined(__x86_64__)
  if (frazil::kernel::features().isa == frazil::Isa::avx512) return chains_avx512();
  if (frazil::kernel::features().isa == frazil::Isa::avx2) return chains_avx2();
#endif
  return chains_base();
}

}  // namespace

double fma_peak() {
  constexpr int kWindows = 15, kWarmUp = 3;
  std::vector<double> rates;
  for (int i = 0; i < kWindows; ++i) {
    const auto begin = detail::Clock::now();
    double operations = 0;
    while (detail::since_ms(begin) < 1) operations += chains();
    if (i >= kWarmUp) rates.push_back(operations * 1e-6 / detail::since_ms(begin));
  }
  return detail::quantile(rates, 0.5);
}

}  // namespace bench
