#pragma once

#include "onnx/upgrade.h"

// One function per change of meaning; the table in upgrade.cc says which operators and opsets it applies to.
namespace frazil::onnx::rules {

/// Moves ints attribute `attr` to input `i`, where it is given.
Status ints_to_input(Draft& d, std::string_view attr, std::size_t i);
/// Shape(v), and v reshaped to it.
Result<Value> shape_of(Draft& d, Value v);
Result<Value> reshape_like(Draft& d, Value v, Value like);

/// A form in which older opsets say the same: an input was an attribute, or an attribute was not needed.
struct OlderForm {
  std::int64_t below;   ///< the opset that brought the new form
  std::int64_t oldest;  ///< the oldest one that says the node so
  std::string_view attribute;
  std::optional<std::size_t> input;  ///< constant, and said as the attribute; none: the attribute is left out
};
std::optional<OlderForm> older_form(const Graph& graph, const Node& node);
/// The inputs and the AttributeProtos of a node as `opset` of its domain says them; what a rule turned into attributes
/// of our own is turned back.
std::vector<Value> written_inputs(const Graph& graph, const Node& node, std::int64_t opset);
Result<std::vector<std::string>> written_attributes(const Graph& graph, const Node& node, std::int64_t opset);
/// The opset that the node's inputs, their types and the values of its attributes need, where the operator and the
/// attribute are older; 0 elsewhere.
std::int64_t needed_by_values(const Graph& graph, const Node& node);
std::int64_t needed_by_types(const Graph& graph, const Node& node);
/// A NodeProto that gives value `from` another name.
std::string alias_node(std::string_view from, std::string_view to);
/// The NodeProto of a Constant.
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

// ---- subgraphs put in place ----
Status sequence_map(Draft& d);
Status flex_attention(Draft& d);

}  // namespace frazil::onnx::rules
