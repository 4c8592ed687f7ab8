#pragma once

#include "onnx/upgrade/upgrade.h"

// One function per change of meaning. The table in upgrade.cc lists the operators and opsets.
namespace frazil::onnx::rules {

/// Moves the ints attribute `attr`, if present, to input `i`.
Status ints_to_input(Draft& d, std::string_view attr, std::size_t i);
/// Emit Shape(v), and v reshaped to the shape of `like`.
Result<Value> shape_of(Draft& d, Value v);
Result<Value> reshape_like(Draft& d, Value v, Value like);

/// The form in which older opsets express a node: an input was an attribute, or an attribute did not exist.
struct OlderForm {
  std::int64_t below;   ///< the opset that introduced the new form
  std::int64_t oldest;  ///< the oldest opset with the older form
  std::string_view attribute;
  std::optional<std::size_t> input;  ///< constant input to write as the attribute; nullopt omits the attribute
};
std::optional<OlderForm> older_form(const Graph& graph, const Node& node);
/// Return the inputs and the AttributeProtos of a node in `opset` of its domain. Internal attributes that upgrade rules
/// introduced are converted back.
std::vector<Value> written_inputs(const Graph& graph, const Node& node, std::int64_t opset);
Result<std::vector<std::string>> written_attributes(const Graph& graph, const Node& node, std::int64_t opset);
/// Return the opset that the node's inputs, their types and its attribute values require. 0 means any opset of the
/// operator and its attributes.
std::int64_t needed_by_values(const Graph& graph, const Node& node);
std::int64_t needed_by_types(const Graph& graph, const Node& node);
/// Returns a NodeProto that gives value `from` a second name.
std::string alias_node(std::string_view from, std::string_view to);
/// Returns the NodeProto of a Constant.
Result<std::string> constant_node(const Tensor& value, std::string_view name);

// ---- values ----
Status constant(Draft& d);
Status alias(Draft& d);
Status optional_type(Draft& d);

// ---- arithmetic ----
Status legacy_broadcast(Draft& d);
Status prelu_slope(Draft& d);
Status clip_bounds(Draft& d);
Status cast_target(Draft& d);
Status selu_defaults(Draft& d);
Status affine(Draft& d);
Status parametric_softplus(Draft& d);
Status scaled_tanh(Draft& d);
Status image_scaler(Draft& d);

// ---- shape ----
Status reshape_shape(Draft& d);
Status slice_bounds(Draft& d);
Status dynamic_slice(Draft& d);
Status crop(Draft& d);
Status axes_input(Draft& d);
Status one_hot_indices(Draft& d);
Status split_reals(Draft& d);
Status split_sizes(Draft& d);
Status split_count(Draft& d);
Status concat_axis(Draft& d);
Status pad_names(Draft& d);
Status pad_inputs(Draft& d);
Status tile_repeats(Draft& d);
Status topk_count(Draft& d);
Status scatter_rename(Draft& d);
Status upsample_sizes(Draft& d);
Status upsample_scales(Draft& d);
Status upsample_rename(Draft& d);
Status resize_inputs(Draft& d);
Status empty_resize_inputs(Draft& d);

// ---- networks ----
Status last_axis(Draft& d);
Status batch_norm_test(Draft& d);
Status batch_norm_spatial(Draft& d);
Status batch_norm_outputs(Draft& d);
Status dropout_ratio(Draft& d);
Status dropout_mask(Draft& d);
Status gemm_broadcast(Draft& d);
Status output_sequence(Draft& d);
Status lp_norm(Draft& d);
Status group_norm_scale(Draft& d);
Status grid_sample_mode(Draft& d);
Status roi_align_mode(Draft& d);
Status dft_axis(Draft& d);
Status label_encoder(Draft& d);
Status batched_scan(Draft& d);

// ---- inlined subgraphs ----
Status sequence_map(Draft& d);
Status flex_attention(Draft& d);

// ---- decoding loops ----
Status greedy_search(Draft& d);
Status sampling(Draft& d);
Status beam_search(Draft& d);

}  // namespace frazil::onnx::rules
