#pragma once

#include "ir/op/define.h"

// Linear algebra and index notation.
namespace frazil::ops {

Status det_types(InferCx& cx);
Status det_run(OpaqueCall& call);
FRAZIL_OP(Det, opaque({"Det", {22, 11}, "The determinants of square matrices."}, unary<elems::kFloat>, det_types,
                      det_run, "elimination is not a fold over scalars", Opaque::Work::cubic));

struct DiagonalAttrs {
  std::int64_t first = 0;
  std::int64_t second = 1;
  static constexpr std::array fields{attr<&DiagonalAttrs::first>("first", "the axis to keep"),
                                     attr<&DiagonalAttrs::second>("second", "the later axis, which is removed")};
};
inline constexpr std::array<Port, 1> kDiagonalIn{{{"data", "T", elems::kTensor}}};
inline constexpr std::array<Port, 1> kDiagonalOut{{{"output", "T", elems::kTensor}}};
Status diagonal_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(Diagonal,
          view<DiagonalAttrs>({"Diagonal", 1, "The elements whose positions along two axes are equal.", "frazil"},
                              {kDiagonalIn, kDiagonalOut}, diagonal_maps));

struct EinsumAttrs {
  std::string equation;
  static constexpr std::array fields{
      required<&EinsumAttrs::equation>("equation", "letters for the axes of each input, then of the output")};
};
inline constexpr std::array<Port, 1> kEinsumIn{{{"Inputs", "T", elems::kNumeric, Port::Use::variadic}}};
inline constexpr std::array<Port, 1> kEinsumOut{{{"Output", "T", elems::kNumeric}}};
void einsum_body(CompositeCx& cx);
FRAZIL_OP(Einsum, composite<EinsumAttrs>({"Einsum", 12, "Sums of products in Einstein's notation."},
                                         {kEinsumIn, kEinsumOut}, einsum_body));

}  // namespace frazil::ops
