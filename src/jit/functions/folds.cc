// The folds of a row, as functions that generated code calls. They are compiled to bitcode for each instruction
// set, from the source of the reduction kernels, so that the order of sums is the same.
//
//   frazil_<fold>_<elem>_row(result, row, n)

#include "kernel/row/reduce.simd.cc"

using namespace frazil;
using namespace frazil::kernel::FRAZIL_ISA_NS;

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

template <class T, class Op>
FRAZIL_INLINE void fold(void* to, const void* from, std::int64_t n) {
  const T y = row<T, Op>(static_cast<const T*>(from), n);
  __builtin_memcpy(to, &y, sizeof y);
}

template <class T>
FRAZIL_INLINE void fold_mean(void* to, const void* from, std::int64_t n) {
  T y;
  mean<T>(static_cast<const T*>(from), &y, 1, n, 1);
  __builtin_memcpy(to, &y, sizeof y);
}

}  // namespace
}  // namespace frazil::kernel::FRAZIL_ISA_NS

extern "C" {
#define FRAZIL_ORDER(elem, T)                                                                                   \
  void frazil_max_##elem##_row(void* r, const void* x, std::int64_t n) { fold<T, Max<T>>(r, x, n); }            \
  void frazil_min_##elem##_row(void* r, const void* x, std::int64_t n) { fold<T, Min<T>>(r, x, n); }
#define FRAZIL_FOLDS(elem, T)                                                                                   \
  FRAZIL_ORDER(elem, T)                                                                                         \
  void frazil_sum_##elem##_row(void* r, const void* x, std::int64_t n) { fold<T, Sum<T>>(r, x, n); }            \
  void frazil_mean_##elem##_row(void* r, const void* x, std::int64_t n) { fold_mean<T>(r, x, n); }              \
  void frazil_prod_##elem##_row(void* r, const void* x, std::int64_t n) { fold<T, Prod<T>>(r, x, n); }          \
  void frazil_sum_square_##elem##_row(void* r, const void* x, std::int64_t n) { fold<T, SumSquare<T>>(r, x, n); } \
  void frazil_sum_abs_##elem##_row(void* r, const void* x, std::int64_t n) { fold<T, SumAbs<T>>(r, x, n); }
FRAZIL_FOLDS(f32, float)
FRAZIL_FOLDS(f64, double)
FRAZIL_FOLDS(i32, std::int32_t)
FRAZIL_FOLDS(i64, std::int64_t)
FRAZIL_ORDER(i8, std::int8_t)
FRAZIL_ORDER(u8, std::uint8_t)
}
