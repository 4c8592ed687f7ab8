#pragma once

#include "ops/contraction/contraction.h"
#include "ops/microsoft/microsoft.h"

// Matrix products with quantised operands.
namespace frazil::ops::microsoft {

struct MatMulNBitsAttrs {
  std::int64_t K = 0;
  std::int64_t N = 0;
  std::int64_t accuracy_level = 0;
  std::int64_t bits = 4;
  std::int64_t block_size = 0;
  std::int64_t weight_prepacked = 0;
  static constexpr std::array fields{
      required<&MatMulNBitsAttrs::K>("K", "rows of the weights"),
      required<&MatMulNBitsAttrs::N>("N", "columns of the weights"),
      attr<&MatMulNBitsAttrs::accuracy_level>("accuracy_level", "accuracy level for A; A is not converted"),
      attr<&MatMulNBitsAttrs::bits>("bits", "bits per weight: 2, 4 or 8"),
      required<&MatMulNBitsAttrs::block_size>("block_size", "weights of a column that share a scale"),
      attr<&MatMulNBitsAttrs::weight_prepacked>("weight_prepacked", "must be 0")};
};
inline constexpr ElemSet kNBitsElems = elems::kF32 | one(Elem::f16) | one(Elem::bf16);
inline constexpr std::array<Port, 6> kMatMulNBitsIn{
    {{"A", "T1", kNBitsElems},
     {"B", "", one(Elem::u8)},
     {"scales", "T1", kNBitsElems},
     {"zero_points", "T3", kNBitsElems | one(Elem::u8), Port::Use::optional},
     {"g_idx", "", one(Elem::i32), Port::Use::optional},
     {"bias", "T1", kNBitsElems, Port::Use::optional}}};
inline constexpr std::array<Port, 1> kMatMulNBitsOut{{{"Y", "T1", kNBitsElems}}};
void matmul_nbits_body(CompositeCx& cx);
FRAZIL_OP(MatMulNBits,
          composite<MatMulNBitsAttrs>({"MatMulNBits", 1,
                                       "A times weights of few bits, quantised by blocks of a column.", kDomain},
                                      {kMatMulNBitsIn, kMatMulNBitsOut}, matmul_nbits_body));

inline constexpr std::array<Port, 5> kDynamicMatMulIn{{{"A", "", elems::kF32},
                                                       {"B", "T2", kByte},
                                                       {"b_scale", "", elems::kF32},
                                                       {"b_zero_point", "T2", kByte, Port::Use::optional},
                                                       {"bias", "", elems::kF32, Port::Use::optional}}};
inline constexpr std::array<Port, 1> kRealOut{{{"Y", "", elems::kF32}}};
void dynamic_matmul_body(CompositeCx& cx);
FRAZIL_OP(DynamicQuantizeMatMul, composite({"DynamicQuantizeMatMul", 1,
                                            "The product of A, quantised by its range, with quantised B.", kDomain},
                                           {kDynamicMatMulIn, kRealOut}, dynamic_matmul_body));

inline constexpr std::array<Port, 7> kMatMulToFloatIn{{{"A", "T1", kByte},
                                                       {"B", "T2", kByte},
                                                       {"a_scale", "T3", kScaleElems},
                                                       {"b_scale", "T3", kScaleElems},
                                                       {"a_zero_point", "T1", kByte, Port::Use::optional},
                                                       {"b_zero_point", "T2", kByte, Port::Use::optional},
                                                       {"bias", "T3", kScaleElems, Port::Use::optional}}};
inline constexpr std::array<Port, 1> kScaledOut{{{"Y", "T3", kScaleElems}}};
void matmul_to_float_body(CompositeCx& cx);
FRAZIL_OP(MatMulIntegerToFloat,
          composite({"MatMulIntegerToFloat", 1, "The product of quantised matrices, plus a bias.", kDomain},
                    {kMatMulToFloatIn, kScaledOut}, matmul_to_float_body));

struct QGemmAttrs {
  float alpha = 1;
  std::int64_t transA = 0;
  std::int64_t transB = 0;
  static constexpr std::array fields{attr<&QGemmAttrs::alpha>("alpha", "factor of the product"),
                                     attr<&QGemmAttrs::transA>("transA", "1: A is transposed first"),
                                     attr<&QGemmAttrs::transB>("transB", "1: B is transposed first")};
};
inline constexpr std::array<Port, 9> kQGemmIn{{{"A", "TA", kByte},
                                               {"a_scale", "", elems::kF32},
                                               {"a_zero_point", "TA", kByte},
                                               {"B", "TB", kByte},
                                               {"b_scale", "", elems::kF32},
                                               {"b_zero_point", "TB", kByte},
                                               {"C", "", one(Elem::i32), Port::Use::optional},
                                               {"y_scale", "", elems::kF32, Port::Use::optional},
                                               {"y_zero_point", "TY", kByte, Port::Use::optional}}};
inline constexpr std::array<Port, 1> kQGemmOut{{{"Y", "", elems::kF32 | kByte}}};
void qgemm_body(CompositeCx& cx);
FRAZIL_OP(QGemm, composite<QGemmAttrs>({"QGemm", 1, "Gemm of quantised matrices, real or quantised.", kDomain},
                                       {kQGemmIn, kQGemmOut}, qgemm_body));

// ---- shared by the operators on packed weights ----

/// Unpacks numbers of `bits` bits, 2, 4 or 8, along the last axis, lowest bits first.
Expr unpacked_bits(CompositeCx& cx, Expr bytes, std::int64_t bits);
/// Return true for an extent in [1, 2^31), and for a power of two of at least 16. Otherwise they report an error.
bool is_extent(CompositeCx& cx, std::string_view name, std::int64_t value);
bool is_block_size(CompositeCx& cx, std::int64_t size);

}  // namespace frazil::ops::microsoft
