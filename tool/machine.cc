#include "tool/machine.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "kernel/simd/isa.h"
#include "tool/report.h"

#ifdef __x86_64__
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace frazil::tool {
namespace {

constexpr int kChains = 12;           // independent chains, to hide the latency of a multiply-add
constexpr long kChainRounds = 20000;  // rounds of all chains between two clock reads
volatile float g_sink;
volatile float g_factor = 0.9999f, g_addend = 1e-4f;

/// Probes of one instruction set: kChainRounds rounds of multiply-adds, and the sum of `count` floats, a multiple of
/// 128.
struct Probe {
  double (*multiply_add)();  ///< returns the number of operations
  void (*read)(const float* data, std::size_t count);
};

/// Unrolls loops over accumulators, so that they stay in registers.
#define FRAZIL_UNROLL _Pragma("GCC unroll 16")

using Vector4 = float __attribute__((vector_size(16)));

double multiply_add_base() {
  const Vector4 x = Vector4{} + g_factor, y = Vector4{} + g_addend;
  Vector4 acc[kChains] = {};
  for (long i = 0; i < kChainRounds; ++i) {
    FRAZIL_UNROLL for (Vector4& a : acc) a = a * x + y;
  }
  for (const Vector4& a : acc) g_sink = a[0];
  return 2.0 * 4 * kChains * kChainRounds;
}

void read_base(const float* data, std::size_t count) {
  Vector4 acc[8] = {};
  for (std::size_t i = 0; i < count; i += 32) {
    FRAZIL_UNROLL for (std::size_t k = 0; k < 8; ++k) {
      Vector4 v;
      std::memcpy(&v, data + i + 4 * k, sizeof v);
      acc[k] += v;
    }
  }
  for (const Vector4& a : acc) g_sink = a[0];
}

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) double multiply_add_avx2() {
  const __m256 x = _mm256_set1_ps(g_factor), y = _mm256_set1_ps(g_addend);
  __m256 acc[kChains];
  for (__m256& a : acc) a = _mm256_setzero_ps();
  for (long i = 0; i < kChainRounds; ++i) {
    FRAZIL_UNROLL for (__m256& a : acc) a = _mm256_fmadd_ps(a, x, y);
  }
  for (const __m256& a : acc) g_sink = _mm256_cvtss_f32(a);
  return 2.0 * 8 * kChains * kChainRounds;
}

__attribute__((target("avx2"))) void read_avx2(const float* data, std::size_t count) {
  __m256 acc[8];
  for (__m256& a : acc) a = _mm256_setzero_ps();
  for (std::size_t i = 0; i < count; i += 64) {
    FRAZIL_UNROLL for (std::size_t k = 0; k < 8; ++k) acc[k] = _mm256_add_ps(acc[k], _mm256_loadu_ps(data + i + 8 * k));
  }
  for (const __m256& a : acc) g_sink = _mm256_cvtss_f32(a);
}

__attribute__((target("avx512f"))) double multiply_add_avx512() {
  const __m512 x = _mm512_set1_ps(g_factor), y = _mm512_set1_ps(g_addend);
  __m512 acc[kChains];
  for (__m512& a : acc) a = _mm512_setzero_ps();
  for (long i = 0; i < kChainRounds; ++i) {
    FRAZIL_UNROLL for (__m512& a : acc) a = _mm512_fmadd_ps(a, x, y);
  }
  for (const __m512& a : acc) g_sink = _mm512_cvtss_f32(a);
  return 2.0 * 16 * kChains * kChainRounds;
}

__attribute__((target("avx512f"))) void read_avx512(const float* data, std::size_t count) {
  __m512 acc[8];
  for (__m512& a : acc) a = _mm512_setzero_ps();
  for (std::size_t i = 0; i < count; i += 128) {
    FRAZIL_UNROLL for (std::size_t k = 0; k < 8; ++k) acc[k] =
        _mm512_add_ps(acc[k], _mm512_loadu_ps(data + i + 16 * k));
  }
  for (const __m512& a : acc) g_sink = _mm512_cvtss_f32(a);
}
#elif defined(__aarch64__)
double multiply_add_neon() {
  const float32x4_t x = vdupq_n_f32(g_factor), y = vdupq_n_f32(g_addend);
  float32x4_t acc[kChains];
  for (float32x4_t& a : acc) a = vdupq_n_f32(0);
  for (long i = 0; i < kChainRounds; ++i) {
    FRAZIL_UNROLL for (float32x4_t& a : acc) a = vfmaq_f32(y, a, x);
  }
  for (const float32x4_t& a : acc) g_sink = vgetq_lane_f32(a, 0);
  return 2.0 * 4 * kChains * kChainRounds;
}
#endif

Probe probe_for(Isa isa) {
#ifdef __x86_64__
  if (isa == Isa::avx512) return {multiply_add_avx512, read_avx512};
  if (isa == Isa::avx2) return {multiply_add_avx2, read_avx2};
#elif defined(__aarch64__)
  if (isa == Isa::neon) return {multiply_add_neon, read_base};
#endif
  (void)isa;
  return {multiply_add_base, read_base};
}

/// Returns the best rate of several runs of `work`, in 1e9 units per second. `work` returns its number of units.
template <class Work>
double best_rate(double seconds, Work work) {
  double best = 0;
  const double end = now() + seconds;
  do {
    const double begin = now();
    const double done = work();
    best = std::max(best, done / std::max(now() - begin, 1e-9) * 1e-9);
  } while (now() < end);
  return best;
}

std::size_t cache_bytes(int name, std::size_t otherwise) {
  const long size = sysconf(name);
  return size > 0 ? static_cast<std::size_t>(size) : otherwise;
}

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// Touched pages, huge if possible; freed in the destructor.
class HugePages {
 public:
  explicit HugePages(std::size_t bytes) : bytes_(bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return;
    madvise(at, bytes, MADV_HUGEPAGE);
    std::memset(at, 1, bytes);
    data_ = static_cast<const float*>(at);
  }
  ~HugePages() {
    if (data_ != nullptr) munmap(const_cast<float*>(data_), bytes_);
  }
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;
  const float* data() const { return data_; }

 private:
  std::size_t bytes_;
  const float* data_ = nullptr;
};

Machine measure_machine() {
  const double begin = now();
  const Isa isa = kernel::features().isa;
  const Probe probe = probe_for(isa);
  Machine m{.isa = std::string(name_of(isa)),
            .l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, kMiB),
            .l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 16 * kMiB)};
  m.memory_bytes = std::clamp(2 * m.l3_bytes, 32 * kMiB, 128 * kMiB);
  m.peak_gflops = best_rate(0.01, probe.multiply_add);
  const HugePages pages(m.memory_bytes);
  if (pages.data() != nullptr) {
    const auto reading = [&](std::size_t bytes, double seconds) {
      const std::size_t count = bytes / sizeof(float) / 128 * 128;
      return best_rate(seconds, [&] {
        probe.read(pages.data(), count);
        return static_cast<double>(count * sizeof(float));
      });
    };
    m.l2_gbs = reading(m.l2_bytes / 2, 0.005);
    m.l3_gbs = reading(std::clamp(m.l3_bytes / 2, m.l2_bytes * 2, std::max(m.l2_bytes * 2, 16 * kMiB)), 0.01);
    m.memory_gbs = reading(m.memory_bytes, 0.03);
  }
  m.seconds = now() - begin;
  return m;
}

}  // namespace

double Machine::gbs_for(double bytes) const {
  if (bytes <= static_cast<double>(l2_bytes)) return l2_gbs;
  return bytes <= static_cast<double>(l3_bytes) ? l3_gbs : memory_gbs;
}

const Machine& machine() {
  static const Machine measured = measure_machine();
  return measured;
}

}  // namespace frazil::tool
