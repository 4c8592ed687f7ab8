#include "kernel/isa.h"

#include <algorithm>
#include <atomic>

namespace frazil::kernel {
namespace {

Isa detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx2 && avx512) return Isa::avx512;
  if (avx2) return Isa::avx2;
#endif
  return Isa::base;
}

std::atomic<Isa>& chosen() {
  static std::atomic<Isa> isa = best_isa();
  return isa;
}

}  // namespace

namespace {

bool has_vnni() {
#if defined(__x86_64__)
  return best_isa() == Isa::avx512 && __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

std::atomic<bool>& vnni_allowed() {
  static std::atomic<bool> allowed = has_vnni();
  return allowed;
}

}  // namespace

bool uses_vnni() { return vnni_allowed().load(std::memory_order_relaxed); }

void allow_vnni(bool allowed) { vnni_allowed().store(allowed && has_vnni(), std::memory_order_relaxed); }

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::base: return "base";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
  }
  return "?";
}

std::optional<Isa> isa_from_name(std::string_view name) {
  for (Isa isa : {Isa::base, Isa::avx2, Isa::avx512}) {
    if (name == name_of(isa)) return isa;
  }
  return std::nullopt;
}

Isa best_isa() {
  static const Isa isa = detect();
  return isa;
}

Isa current_isa() { return chosen().load(std::memory_order_relaxed); }

void force_isa(Isa isa) { chosen().store(std::min(isa, best_isa()), std::memory_order_relaxed); }

}  // namespace frazil::kernel
