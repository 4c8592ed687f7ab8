#pragma once

#include <string>

#include "ir/define.h"

// What the operators of domain com.microsoft share. Their objects live in a namespace of their own, as many have the
// names of ai.onnx operators.
namespace frazil::ops {

struct InRangeAttrs {
  std::string name;
  static constexpr std::array fields{attr<&InRangeAttrs::name>("name", "what the user calls the numbers")};
};
inline constexpr std::array<Port, 3> kInRangeIn{
    {{"numbers", "T", elems::kIndex}, {"low", "", elems::kI64}, {"limit", "", elems::kI64}}};
inline constexpr std::array<Port, 1> kInRangeOut{{{"output", "", elems::kI64}}};
Status in_range_types(InferCx& cx);
Status in_range_run(OpaqueCall& call);
FRAZIL_OP(InRange, opaque<InRangeAttrs>({"InRange", 1, "The input, whose numbers must lie in [low, limit).", "frazil"},
                                        {kInRangeIn, kInRangeOut}, in_range_types, in_range_run,
                                        "an element that breaks the rule ends the run"));

namespace microsoft {

inline constexpr std::string_view kDomain = "com.microsoft";

/// Integers as i64, each checked to lie in [low, limit), which are 1-D tensors of one element.
Expr in_range(Expr numbers, std::string name, Expr low, Expr limit);
/// Slices of `table`'s first axis; negative indices are errors, other than in ONNX.
Expr rows(CompositeCx& cx, Expr table, Expr indices, std::string name);
/// x in the type in which it is computed.
Expr widened(Expr x);
/// An error, and false, when input i has another number of axes.
bool has_rank(CompositeCx& cx, std::size_t i, std::size_t rank);
/// An attribute that nothing here implements must have its default: else an error that names it, and false.
bool left_out(CompositeCx& cx, std::string_view attribute, bool at_default);
/// The same for an optional input.
bool input_left_out(CompositeCx& cx, std::size_t i, std::string_view name);

}  // namespace microsoft
}  // namespace frazil::ops
