#pragma once

#include <string>

#include "ir/op/define.h"

// Shared by the operators of domain com.microsoft. Their objects are in a separate namespace, as many have the names of
// ai.onnx operators.
namespace frazil::ops {

struct InRangeAttrs {
  std::string name;
  static constexpr std::array fields{attr<&InRangeAttrs::name>("name", "name of the numbers in messages")};
};
inline constexpr std::array<Port, 3> kInRangeIn{
    {{"numbers", "T", elems::kIndex}, {"low", "", elems::kI64}, {"limit", "", elems::kI64}}};
inline constexpr std::array<Port, 1> kInRangeOut{{{"output", "", elems::kI64}}};
Status in_range_types(InferCx& cx);
Status in_range_run(OpaqueCall& call);
FRAZIL_OP(InRange, opaque<InRangeAttrs>({"InRange", 1, "The input, checked to lie in [low, limit).", "frazil"},
                                        {kInRangeIn, kInRangeOut}, in_range_types, in_range_run,
                                        "an invalid element ends the run"));

namespace microsoft {

inline constexpr std::string_view kDomain = "com.microsoft";

/// Integers as i64, each checked to be in [low, limit); the bounds are 1-D tensors of one element.
Expr in_range(Expr numbers, std::string name, Expr low, Expr limit);
/// Slices of `table`'s first axis; unlike in ONNX, negative indices are errors.
Expr rows(CompositeCx& cx, Expr table, Expr indices, std::string name);
/// x in its compute type.
Expr widened(Expr x);
/// False, with an error, when input i does not have `rank` axes.
bool has_rank(CompositeCx& cx, std::size_t i, std::size_t rank);
/// Requires an unimplemented attribute to have its default; otherwise false, with an error that names it.
bool left_out(CompositeCx& cx, std::string_view attribute, bool at_default);
/// As left_out, for an optional input.
bool input_left_out(CompositeCx& cx, std::size_t i, std::string_view name);

}  // namespace microsoft
}  // namespace frazil::ops
