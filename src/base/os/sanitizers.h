#pragma once

/// FRAZIL_ASAN and FRAZIL_TSAN are 1 in code compiled with the address or the thread sanitizer, otherwise 0. GCC
/// defines a macro for each; Clang 19 reports them as features.

#if defined(__has_feature)
#define FRAZIL_HAS_FEATURE(x) __has_feature(x)
#else
#define FRAZIL_HAS_FEATURE(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || FRAZIL_HAS_FEATURE(address_sanitizer)
#define FRAZIL_ASAN 1
#else
#define FRAZIL_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || FRAZIL_HAS_FEATURE(thread_sanitizer)
#define FRAZIL_TSAN 1
#else
#define FRAZIL_TSAN 0
#endif
