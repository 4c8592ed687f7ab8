#pragma once

#include "ir/op/define.h"

// Counts that composite bodies read from inputs.
namespace frazil::ops {

inline constexpr std::array<Port, 1> kBoundIn{{{"input", "T", elems::kIndex}}};
inline constexpr std::array<Port, 1> kBoundOut{{{"output", "T", elems::kIndex}}};
struct AtLeastAttrs {
  std::int64_t low = 0;
  std::string name;
  static constexpr std::array fields{attr<&AtLeastAttrs::low>("low", "the lower end allowed"),
                                     attr<&AtLeastAttrs::name>("name", "name of the value in messages")};
};
Status at_least_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(AtLeast,
          view<AtLeastAttrs>({"AtLeast", 1, "The input, checked to hold counts of at least a bound.", "frazil"},
                             {kBoundIn, kBoundOut}, at_least_maps));

/// Returns input `i`, a count of one element, as an i64 scalar of at least `low`. If it has more elements, reports an
/// error in `cx` and returns an absent Expr.
Expr count_input(CompositeCx& cx, std::size_t i, std::string name, std::int64_t low);

}  // namespace frazil::ops
