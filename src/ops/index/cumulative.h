#pragma once

#include "ir/op/define.h"

// Folds along one axis that return all partial results.
namespace frazil::ops {

inline constexpr std::string_view kCarriesValue = "linear time needs a value carried along the axis";
inline constexpr ElemSet kCumElems = elems::kFloat | elems::kIndex | one(Elem::u32) | one(Elem::u64);
inline constexpr std::array<Port, 2> kCumulativeIn{{{"x", "T", kCumElems}, {"axis", "", elems::kIndex}}};
struct CumulativeAttrs {
  std::int64_t exclusive = 0;
  std::int64_t reverse = 0;
  static constexpr std::array fields{attr<&CumulativeAttrs::exclusive>("exclusive", "1: without the element itself"),
                                     attr<&CumulativeAttrs::reverse>("reverse", "1: from the end")};
};
Status cum_sum_types(InferCx& cx);
Status cum_sum_run(OpaqueCall& call);
FRAZIL_OP(CumSum,
          opaque<CumulativeAttrs>({"CumSum", {14, 11}, "Running sums along one axis."},
                                  {kCumulativeIn, kPortY<kCumElems>}, cum_sum_types, cum_sum_run, kCarriesValue));

Status cum_prod_types(InferCx& cx);
Status cum_prod_run(OpaqueCall& call);
FRAZIL_OP(CumProd,
          opaque<CumulativeAttrs>({"CumProd", 26, "Running products along one axis."},
                                  {kCumulativeIn, kPortY<kCumElems>}, cum_prod_types, cum_prod_run, kCarriesValue));

}  // namespace frazil::ops
