#include "kernel/contract/gemm_kernel.h"

#include <type_traits>

#include "kernel/contract/float_gemm.h"
#include "kernel/contract/gemm_i8.h"
#include "kernel/contract/plain_gemm.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

static_assert(kRangeCols % kPanelCols == 0);

std::size_t plain_scratch(int64_t, int64_t, int64_t) { return kPlainGemmScratch; }

template <class T, Elem elem>
void plain_rows(const GemmCall& call, int64_t begin, int64_t end, void* scratch) {
  const int64_t first = call.first_col, past = call.past_col == 0 ? call.n : call.past_col;
  const PlainGemm g{.m = end - begin,
                    .n = past - first,
                    .k = call.k,
                    .a = static_cast<const T*>(call.a) + begin * call.a_row,
                    .a_row = call.a_row,
                    .a_col = call.a_col,
                    .b = static_cast<const T*>(call.b) + first * call.b_col,
                    .b_row = call.b_row,
                    .b_col = call.b_col,
                    .c = static_cast<T*>(call.c) + begin * call.c_row + first,
                    .c_row = call.c_row};
  plain_gemm(elem, g, static_cast<std::byte*>(scratch));
}

template <class T, Elem elem>
constexpr GemmKernel plain() {
  return {.a = elem,
          .b = elem,
          .accumulator = elem,
          .c = elem,
          .multiply_add = &Tuning::wide_product,
          .column_ranges = true,
          .scratch_bytes = plain_scratch,
          .rows = plain_rows<T, elem>};
}

template <bool signed_b>
void i8_pack(const GemmCall& g, void* packed) {
  byte_pack_b(g.k, g.n, g.b, g.b_row, g.b_col, signed_b, packed);
}

template <bool signed_a, bool signed_b>
void i8_rows(const GemmCall& call, int64_t begin, int64_t end, void* scratch) {
  gemm_i8_rows(call, signed_a, signed_b, begin, end, scratch);
}

template <bool signed_a, bool signed_b>
constexpr GemmKernel i8() {
  return {.a = signed_a ? Elem::i8 : Elem::u8,
          .b = signed_b ? Elem::i8 : Elem::u8,
          .accumulator = Elem::i32,
          .c = Elem::i32,
          .multiply_add = &Tuning::byte_product,
          .zero_points = true,
          .column_ranges = true,
          .always_packs = true,
          .scratch_bytes = gemm_i8_scratch,
          .packed_b_bytes = byte_packed_b_bytes,
          .pack_b = i8_pack<signed_b>,
          .passed_bytes = gemm_i8_passed_bytes,
          .rows = i8_rows<signed_a, signed_b>};
}

template <Elem elem>
std::size_t float_scratch(int64_t m, int64_t n, int64_t k) {
  return float_gemm_scratch(elem, m, n, k);
}

template <Elem elem>
std::size_t float_packed_bytes(int64_t k, int64_t n) {
  return packed_b_bytes(elem, k, n);
}

template <Elem elem>
void float_pack(const GemmCall& g, void* packed) {
  pack_b(elem, g.k, g.n, g.b, g.b_row, g.b_col, packed);
}

template <Elem elem, bool wide>
void float_rows(const GemmCall& call, int64_t begin, int64_t end, void* scratch) {
  float_gemm(elem, wide, call, begin, end, scratch);
}

/// Returns the kernel of a float type. If `wide`, the result of 16-bit floats is f32.
template <Elem elem, bool wide = false>
constexpr GemmKernel floats() {
  return {.a = elem,
          .b = elem,
          .accumulator = Elem::f32,
          .c = wide ? Elem::f32 : elem,
          .multiply_add = &Tuning::product,
          .epilogue = !wide,
          .column_ranges = true,
          .always_packs = elem != Elem::f32,
          .scratch_bytes = float_scratch<elem>,
          .packed_b_bytes = float_packed_bytes<elem>,
          .pack_b = float_pack<elem>,
          .rows = float_rows<elem, wide>};
}

constexpr GemmKernel kKernels[] = {
    floats<Elem::f32>(),
    plain<double, Elem::f64>(),
    plain<std::int32_t, Elem::i32>(),
    plain<std::uint32_t, Elem::u32>(),
    plain<std::int64_t, Elem::i64>(),
    plain<std::uint64_t, Elem::u64>(),
    i8<false, false>(),
    i8<false, true>(),
    i8<true, false>(),
    i8<true, true>(),
    floats<Elem::bf16, false>(),
    floats<Elem::bf16, true>(),
    floats<Elem::f16, false>(),
    floats<Elem::f16, true>(),
};

}  // namespace

const GemmKernel* find_gemm(Elem a, Elem b, Elem c) noexcept {
  for (const GemmKernel& kernel : kKernels) {
    if (kernel.a == a && kernel.b == b && kernel.c == c) return &kernel;
  }
  return nullptr;
}

}  // namespace frazil::kernel
