#include "kernel/simd/isa.h"

#include <algorithm>
#include <atomic>

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace frazil::kernel {
namespace {

struct Name {
  Isa isa;
  std::string_view name;
};
constexpr Name kNames[] = {{Isa::base, "base"}, {Isa::avx2, "avx2"}, {Isa::avx512, "avx512"}, {Isa::neon, "neon"}};

#if defined(__x86_64__)
constexpr Isa kIsas[] = {Isa::base, Isa::avx2, Isa::avx512};
#elif defined(__aarch64__)
constexpr Isa kIsas[] = {Isa::base, Isa::neon};
#else
constexpr Isa kIsas[] = {Isa::base};
#endif

Isa detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx2 && avx512) return Isa::avx512;
  return avx2 ? Isa::avx2 : Isa::base;
#else
  return isas().back();
#endif
}

std::atomic<Isa>& chosen() {
  static std::atomic<Isa> isa = best_isa();
  return isa;
}

bool has_byte_dot() {
#if defined(__x86_64__)
  return best_isa() == Isa::avx512 && __builtin_cpu_supports("avx512vnni");
#elif defined(__aarch64__) && defined(__linux__)
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
  return false;
#endif
}

std::atomic<bool>& byte_dot_allowed() {
  static std::atomic<bool> allowed = has_byte_dot();
  return allowed;
}

bool has_bf16_dot() {
#if defined(__x86_64__)
  return best_isa() == Isa::avx512 && __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

std::atomic<bool>& bf16_dot_allowed() {
  static std::atomic<bool> allowed = has_bf16_dot();
  return allowed;
}

}  // namespace

std::string_view name_of(Isa isa) {
  const auto* found = std::ranges::find(kNames, isa, &Name::isa);
  return found == std::end(kNames) ? "?" : found->name;
}

std::optional<Isa> isa_from_name(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name, &Name::name);
  if (found == std::end(kNames)) return std::nullopt;
  return found->isa;
}

std::span<const Isa> isas() { return kIsas; }

Isa best_isa() {
  static const Isa isa = detect();
  return isa;
}

Isa current_isa() { return chosen().load(std::memory_order_relaxed); }

void force_isa(Isa isa) {
  const bool known = std::ranges::find(kIsas, isa) != std::end(kIsas);
  chosen().store(known ? std::min(isa, best_isa()) : best_isa(), std::memory_order_relaxed);
}

bool uses_byte_dot() { return byte_dot_allowed().load(std::memory_order_relaxed); }

bool uses_bf16_dot() { return bf16_dot_allowed().load(std::memory_order_relaxed); }

void allow_bf16_dot(bool allowed) { bf16_dot_allowed().store(allowed && has_bf16_dot(), std::memory_order_relaxed); }

void allow_byte_dot(bool allowed) { byte_dot_allowed().store(allowed && has_byte_dot(), std::memory_order_relaxed); }

}  // namespace frazil::kernel
