#include "kernel/simd/isa.h"

#include <atomic>

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace frazil::kernel {
namespace {

#if defined(__x86_64__)
constexpr Isa kIsas[] = {Isa::base, Isa::avx2, Isa::avx512};
#elif defined(__aarch64__)
constexpr Isa kIsas[] = {Isa::base, Isa::neon};
#else
constexpr Isa kIsas[] = {Isa::base};
#endif

CpuFeatures detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (!avx512) return {.isa = avx2 ? Isa::avx2 : Isa::base};
  return {.isa = Isa::avx512,
          .byte_dot = __builtin_cpu_supports("avx512vnni") != 0,
          .bf16_dot = __builtin_cpu_supports("avx512bf16") != 0};
#elif defined(__aarch64__) && defined(__linux__)
  return {.isa = Isa::neon, .byte_dot = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0};
#else
  return {.isa = kIsas[std::size(kIsas) - 1]};
#endif
}

using Chosen = std::atomic<CpuFeatures>;
static_assert(Chosen::is_always_lock_free);

Chosen& chosen() {
  static Chosen features = supported_features();
  return features;
}

}  // namespace

std::span<const Isa> isas() { return kIsas; }

const CpuFeatures& supported_features() {
  static const CpuFeatures supported = detect();
  return supported;
}

CpuFeatures features() { return chosen().load(std::memory_order_relaxed); }

void force_features(const CpuFeatures& wanted) {
  chosen().store(wanted.clamped_to(supported_features()), std::memory_order_relaxed);
}

}  // namespace frazil::kernel
