#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "plan/model/kernel_params.h"

namespace frazil {

/// How a kernel serves a node.
struct Binding {
  KernelParams params = params::Reference{};
  bool strided = false;   ///< takes operands of any strides
  bool epilogue = false;  ///< a product whose kernel tells of each finished tile of its result
  bool in_place = false;  ///< an output may take the bytes of an operand of the same extents
  Kernel kernel() const { return kernel_of(params); }
};

/// The kernel that serves the node, for forms that need one; nullopt: a composite to expand, or the reference executor.
std::optional<Binding> bind(const Graph& graph, NodeId id);
/// True for a composite that has no kernel, but may have one with channels last.
bool may_be_turned(const Graph& graph, NodeId id);
/// The hand kernels that may serve nodes of the operator; which of them, and whether, depends on types and attributes.
std::vector<Kernel> hand_kernels(const OpDef& op);
/// True when an extent of a result is known only once the node has run, which hand kernels do not tell.
bool defines_extents(const Graph& graph, const Node& node);
/// The axis of operand 0 from which the node takes the one position that operand 1, a scalar, names: such a result is a
/// view whose offset is read while the graph runs.
std::optional<std::size_t> picked_axis(const Graph& graph, NodeId id);
/// True when all operands and results are tensors of a known rank whose elements have bytes of their own.
bool all_plain(const Graph& graph, const Node& node);
/// f16 and bf16, which kernels widen to f32 and round to as they write.
constexpr bool is_half(Elem e) { return e == Elem::f16 || e == Elem::bf16; }
/// True when every instruction of the scalar program has a tile primitive.
bool tile_serves(const ScalarTape& tape, std::size_t operands);
/// True when the rank of an operand or a result is known only while the graph runs.
bool has_unranked_value(const Graph& graph, NodeId id);

}  // namespace frazil
