#pragma once

#include "ir/op/define.h"

// Counts read by composite bodies.
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

/// Input `i`, a count of one element, as an i64 scalar of at least `low`. Returns an absent Expr, and sets an error in
/// `cx`, when it has more elements.
Expr count_input(CompositeCx& cx, std::size_t i, std::string name, std::int64_t low);

}  // namespace frazil::ops
