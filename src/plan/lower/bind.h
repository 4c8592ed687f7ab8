#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "plan/model/kernel_params.h"

namespace frazil {

/// The kernel that serves a node, and its capabilities.
struct Binding {
  KernelParams params = params::Reference{};
  bool strided = false;   ///< accepts operands of any strides
  bool epilogue = false;  ///< a product whose kernel calls back for each finished tile of its result
  bool in_place = false;  ///< an output may take the bytes of an operand of the same extents
  Kernel kernel() const { return kernel_of(params); }
};

/// Returns the kernel that serves the node. Returns nullopt if the node's form needs no kernel, for a composite to
/// expand, and for nodes that the reference executor runs.
std::optional<Binding> bind(const Graph& graph, NodeId id);
/// Returns true for a composite that has no kernel, but may have one with channels last.
bool may_have_channels_last_kernel(const Graph& graph, NodeId id);
/// Returns the hand-written kernels that may serve nodes of the operator. Types and attributes decide which one does,
/// if any.
std::vector<Kernel> hand_kernels(const OpDef& op);
/// Returns true if an extent of a result is known only after the node has run. Hand-written kernels do not report such
/// extents.
bool defines_extents(const Graph& graph, const Node& node);
/// Returns the axis of operand 0 from which the node takes one position, named by operand 1, a scalar. The result is a
/// view whose offset is read while the graph runs. Returns nullopt for other nodes.
std::optional<std::size_t> picked_axis(const Graph& graph, NodeId id);
/// Returns true if all operands and results are tensors of known rank whose elements are plain bytes (no strings or
/// complex numbers).
bool all_plain(const Graph& graph, const Node& node);
/// Returns true for f16 and bf16. Kernels widen them to f32 when they read and round when they write.
constexpr bool is_half(Elem e) { return e == Elem::f16 || e == Elem::bf16; }
/// Returns true if every instruction of the scalar program has a tile primitive.
bool tile_supports(const ScalarTape& tape, std::size_t operands);
/// Returns true if the rank of an operand or a result is known only while the graph runs.
bool has_unranked_value(const Graph& graph, NodeId id);

}  // namespace frazil
