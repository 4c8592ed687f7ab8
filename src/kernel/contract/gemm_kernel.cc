#include "kernel/contract/gemm_kernel.h"

#include <type_traits>

#include "kernel/contract/gemm.h"
#include "kernel/contract/gemm_16.h"
#include "kernel/contract/gemm_i8.h"
#include "kernel/contract/plain_gemm.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

static_assert(kRangeCols % kPartCols == 0);

std::size_t f32_scratch(int64_t m, int64_t n, int64_t k) {
  return static_cast<std::size_t>(gemm_scratch_bytes(m, n, k));
}
std::size_t f32_packed_bytes(int64_t k, int64_t n) { return static_cast<std::size_t>(gemm_packed_b_bytes(k, n)); }
void f32_pack(const GemmCall& g, void* packed) {
  gemm_pack_b(g.k, g.n, static_cast<const float*>(g.b), g.b_row, g.b_col, packed);
}

void f32_rows(const GemmCall& call, int64_t begin, int64_t end, void* scratch) {
  const Gemm g{.m = call.m,
               .n = call.n,
               .k = call.k,
               .a = static_cast<const float*>(call.a),
               .a_row = call.a_row,
               .a_col = call.a_col,
               .b = static_cast<const float*>(call.b),
               .b_row = call.b_row,
               .b_col = call.b_col,
               .c = static_cast<float*>(call.c),
               .c_row = call.c_row,
               .bias = static_cast<const float*>(call.bias),
               .addend = static_cast<const float*>(call.addend),
               .slope = call.slope,
               .on_tile = call.on_tile,
               .backwards = call.backwards};
  const int64_t past = call.past_col == 0 ? call.n : call.past_col;
  gemm_part(g, call.packed_b, {begin, end, call.first_col, past}, scratch);
}

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
std::size_t half_packed_bytes(int64_t k, int64_t n) {
  return half_packed_b_bytes(elem, k, n);
}

template <Elem elem>
void half_pack(const GemmCall& g, void* packed) {
  half_pack_b(elem, g.k, g.n, g.b, g.b_row, g.b_col, packed);
}

template <Elem elem, bool wide>
void half_rows(const GemmCall& call, int64_t begin, int64_t end, void* scratch) {
  gemm_half_rows(call, elem, wide, begin, end, scratch);
}

/// `wide`: the result is of f32.
template <Elem elem, bool wide>
constexpr GemmKernel half() {
  return {.a = elem,
          .b = elem,
          .accumulator = Elem::f32,
          .c = wide ? Elem::f32 : elem,
          .multiply_add = &Tuning::product,
          .epilogue = !wide,
          .column_ranges = true,
          .always_packs = true,
          .scratch_bytes = gemm_half_scratch,
          .packed_b_bytes = half_packed_bytes<elem>,
          .pack_b = half_pack<elem>,
          .rows = half_rows<elem, wide>};
}

constexpr GemmKernel kKernels[] = {
    {.a = Elem::f32,
     .b = Elem::f32,
     .accumulator = Elem::f32,
     .c = Elem::f32,
     .multiply_add = &Tuning::product,
     .epilogue = true,
     .column_ranges = true,
     .scratch_bytes = f32_scratch,
     .packed_b_bytes = f32_packed_bytes,
     .pack_b = f32_pack,
     .rows = f32_rows},
    plain<double, Elem::f64>(),
    plain<std::int32_t, Elem::i32>(),
    plain<std::uint32_t, Elem::u32>(),
    plain<std::int64_t, Elem::i64>(),
    plain<std::uint64_t, Elem::u64>(),
    i8<false, false>(),
    i8<false, true>(),
    i8<true, false>(),
    i8<true, true>(),
    half<Elem::bf16, false>(),
    half<Elem::bf16, true>(),
    half<Elem::f16, false>(),
    half<Elem::f16, true>(),
};

}  // namespace

const GemmKernel* find_gemm(Elem a, Elem b, Elem c) noexcept {
  for (const GemmKernel& kernel : kKernels) {
    if (kernel.a == a && kernel.b == b && kernel.c == c) return &kernel;
  }
  return nullptr;
}

}  // namespace frazil::kernel
