#pragma once

// The namespaces of the instruction sets that kernels are compiled for. The code of every instruction set includes this
// header.

// FRAZIL_FOR_ISAS(X) expands to X(namespace) for each set. FRAZIL_DISPATCH(call) returns isa_<current>::call.
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
