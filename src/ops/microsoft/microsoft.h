#pragma once

#include <string>

#include "ir/op/define.h"

// Helpers of the operators of domain com.microsoft. The operator objects are in a separate namespace because many share
// their names with ai.onnx operators.
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

/// Returns integers as i64, each checked to be in [low, limit). The bounds are 1-D tensors of one element.
Expr in_range(Expr numbers, std::string name, Expr low, Expr limit);
/// Returns slices of `table` along its first axis. Unlike in ONNX, negative indices are errors.
Expr rows(CompositeCx& cx, Expr table, Expr indices, std::string name);
/// Returns x in its compute type.
Expr widened(Expr x);
/// Moves the channels of an image after the batch, or to the last axis.
Expr channels_to(Expr x, bool front);
/// Returns true if input i has `rank` axes, else reports an error.
bool has_rank(CompositeCx& cx, std::size_t i, std::size_t rank);
/// Requires an unimplemented attribute to have its default. Otherwise reports an error that names it and returns false.
bool left_out(CompositeCx& cx, std::string_view attribute, bool at_default);
/// Requires an unimplemented optional input to be absent. Otherwise reports an error that names it and returns false.
bool input_left_out(CompositeCx& cx, std::size_t i, std::string_view name);

}  // namespace microsoft
}  // namespace frazil::ops
