#pragma once

// The instruction sets that kernels are compiled for, as namespaces. This header is compiled for all of them.

// FRAZIL_FOR_ISAS(X): X(namespace) for each. FRAZIL_DISPATCH(call): returns isa_<current>::call.
#if defined(__x86_64__)
#define FRAZIL_FOR_ISAS(X) X(isa_base) X(isa_avx2) X(isa_avx512)
#define FRAZIL_DISPATCH(...)                                \
  do {                                                      \
    switch (features().isa) {                               \
      case Isa::avx512: return isa_avx512::__VA_ARGS__;     \
      case Isa::avx2: return isa_avx2::__VA_ARGS__;         \
      default: return isa_base::__VA_ARGS__;                \
    }                                                       \
  } while (false)
#elif defined(__aarch64__)
#define FRAZIL_FOR_ISAS(X) X(isa_base) X(isa_neon)
#define FRAZIL_DISPATCH(...)                                \
  do {                                                      \
    if (features().isa == Isa::neon) return isa_neon::__VA_ARGS__; \
    return isa_base::__VA_ARGS__;                           \
  } while (false)
#else
#define FRAZIL_FOR_ISAS(X) X(isa_base)
#define FRAZIL_DISPATCH(...) return isa_base::__VA_ARGS__
#endif
