#pragma once

#include "ir/op/define.h"

namespace frazil::ops {

inline constexpr std::array<Port, 1> kAnyOutputs{{{"outputs", "", 0, Port::Use::variadic}}};

inline constexpr std::array<std::string_view, 2> kIfBlocks{"then_branch", "else_branch"};
inline constexpr std::array<std::string_view, 1> kBodyBlock{"body"};

inline constexpr std::array<Port, 1> kIfIn{{{"cond", "", elems::kBool}}};
Result<std::vector<Type>> if_params(RegionCx& cx, std::size_t index);
Status if_types(RegionCx& cx);
void if_lower(const Node& node, const Graph& graph, Flow& flow);
FRAZIL_OP(If, region({"If", {25, 1}, "Runs one of two blocks, chosen by a condition."}, {kIfIn, kAnyOutputs},
                     {if_params, if_types, if_lower, 2, kIfBlocks}));

inline constexpr std::array<Port, 3> kLoopIn{{
    {"M", "", elems::kI64, Port::Use::optional},
    {"cond", "", elems::kBool, Port::Use::optional},
    {"v_initial", "", 0, Port::Use::variadic},
}};
Result<std::vector<Type>> loop_params(RegionCx& cx, std::size_t index);
Status loop_types(RegionCx& cx);
void loop_lower(const Node& node, const Graph& graph, Flow& flow);
FRAZIL_OP(Loop, region({"Loop", {25, 1}, "Repeats a block up to M times while a condition holds, carrying values."},
                       {kLoopIn, kAnyOutputs}, {loop_params, loop_types, loop_lower, 1, kBodyBlock}));

struct ScanAttrs {
  std::int64_t num_scan_inputs = 0;
  Ints scan_input_axes;
  Ints scan_input_directions;
  Ints scan_output_axes;
  Ints scan_output_directions;
  static constexpr std::array fields{
      required<&ScanAttrs::num_scan_inputs>("num_scan_inputs", "number of scanned inputs, the last ones"),
      attr<&ScanAttrs::scan_input_axes>("scan_input_axes", "the axis of each scanned input; empty: all 0"),
      attr<&ScanAttrs::scan_input_directions>("scan_input_directions", "1: from the end; empty: all 0"),
      attr<&ScanAttrs::scan_output_axes>("scan_output_axes", "the axis of each scan output; empty: all 0"),
      attr<&ScanAttrs::scan_output_directions>("scan_output_directions", "1: prepends; empty: all 0"),
  };
};
inline constexpr std::array<Port, 1> kScanIn{{{"initial_state_and_scan_inputs", "", 0, Port::Use::variadic}}};
Result<std::vector<Type>> scan_params(RegionCx& cx, std::size_t index);
Status scan_types(RegionCx& cx);
void scan_lower(const Node& node, const Graph& graph, Flow& flow);
FRAZIL_OP(Scan, region<ScanAttrs>({"Scan", {25, 9}, "Runs a block on each slice of its inputs, carrying states."},
                                  {kScanIn, kAnyOutputs}, {scan_params, scan_types, scan_lower, 1, kBodyBlock}));

}  // namespace frazil::ops
