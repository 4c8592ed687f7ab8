#pragma once

#include "ops/microsoft/microsoft.h"
#include "ops/nn/quant.h"

// Operators on tables and weights that are quantised by blocks.
namespace frazil::ops::microsoft {

struct GatherBlockAttrs {
  std::int64_t bits = 4;
  std::int64_t block_size = 128;
  std::int64_t gather_axis = 0;
  std::int64_t quantize_axis = 1;
  static constexpr std::array fields{
      attr<&GatherBlockAttrs::bits>("bits", "bits per number of packed u8 data: 2, 4 or 8"),
      attr<&GatherBlockAttrs::block_size>("block_size", "numbers that share a scale; 0: all, for floats only"),
      attr<&GatherBlockAttrs::gather_axis>("gather_axis", "the axis that is indexed"),
      attr<&GatherBlockAttrs::quantize_axis>("quantize_axis", "the axis that is divided into blocks")};
};
inline constexpr ElemSet kBlockElems = one(Elem::u4) | one(Elem::i4) | one(Elem::u8) | one(Elem::f4e2m1) | kSmallFloat8;
inline constexpr std::array<Port, 4> kGatherBlockIn{{{"data", "T1", kBlockElems},
                                                     {"indices", "", elems::kIndex},
                                                     {"scales", "T2", kHalfOrSingle},
                                                     {"zero_points", "T1", kBlockElems, Port::Use::optional}}};
inline constexpr std::array<Port, 1> kGatherBlockOut{{{"output", "T2", kHalfOrSingle}}};
void gather_block_body(CompositeCx& cx);
FRAZIL_OP(GatherBlockQuantized,
          composite<GatherBlockAttrs>({"GatherBlockQuantized", 1,
                                       "Slices of a table that is quantised by blocks; 0 for an invalid index.",
                                       kDomain},
                                      {kGatherBlockIn, kGatherBlockOut}, gather_block_body));

struct FourBitAttrs {
  std::int64_t quant_type = 0;
  static constexpr std::array fields{attr<&FourBitAttrs::quant_type>("quant_type", "0: FP4, 1: NF4")};
};
Sx four_bit_number(Sx code, const FourBitAttrs& a);
Status check_four_bit(const void* attrs);
FRAZIL_OP(FourBitNumber,
          elementwise<1, FourBitAttrs>(
              {"FourBitNumber", 1, "The number that a 4-bit code stands for.", "frazil"}, unary<elems::kF32>,
              [](Sx code, const FourBitAttrs& a) { return four_bit_number(code, a); }, nullptr, check_four_bit));

struct MatMulBnb4Attrs {
  std::int64_t K = 0;
  std::int64_t N = 0;
  std::int64_t block_size = 0;
  std::optional<std::int64_t> quant_type;
  std::int64_t training_mode = 0;
  std::int64_t transB = 1;
  static constexpr std::array fields{
      required<&MatMulBnb4Attrs::K>("K", "columns of the stored weights"),
      required<&MatMulBnb4Attrs::N>("N", "rows of the stored weights"),
      required<&MatMulBnb4Attrs::block_size>("block_size", "weights that share a scale"),
      required<&MatMulBnb4Attrs::quant_type>("quant_type", "0: FP4, 1: NF4"),
      attr<&MatMulBnb4Attrs::training_mode>("training_mode", "a hint that does not change the result"),
      attr<&MatMulBnb4Attrs::transB>("transB", "1: the weights are transposed first")};
};
inline constexpr std::array<Port, 3> kMatMulBnb4In{
    {{"A", "T1", kHalfOrSingle}, {"B", "", one(Elem::u8)}, {"absmax", "T1", kHalfOrSingle}}};
inline constexpr std::array<Port, 1> kMatMulBnb4Out{{{"Y", "T1", kHalfOrSingle}}};
void matmul_bnb4_body(CompositeCx& cx);
FRAZIL_OP(MatMulBnb4, composite<MatMulBnb4Attrs>({"MatMulBnb4", 1,
                                                  "A times weights of 4-bit floats, quantised by blocks.", kDomain},
                                                 {kMatMulBnb4In, kMatMulBnb4Out}, matmul_bnb4_body));

}  // namespace frazil::ops::microsoft
