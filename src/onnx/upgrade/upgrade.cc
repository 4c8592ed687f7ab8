#include "onnx/upgrade/upgrade.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "onnx/upgrade/rules.h"

namespace frazil::onnx {
namespace {

constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kMl = "ai.onnx.ml", kMicrosoft = "com.microsoft";

/// A change: `apply` rewrites nodes `op` of opsets below `before`. Changes apply in the order of the table.
struct Change {
  std::string_view op;
  std::int64_t before;
  Status (*apply)(Draft& draft);
  std::string_view domain = {};
};

constexpr Change kChanges[] = {
    // ---- values, not operators ----
    {"Constant", kAlways, rules::constant},
    {"Identity", kAlways, rules::alias},
    {"Optional", kAlways, rules::optional_type},  // attribute tables cannot represent its attribute, which is a type

    // ---- numpy broadcasting replaces `broadcast` and `axis` ----
    {"Add", 7, rules::legacy_broadcast},
    {"And", 7, rules::legacy_broadcast},
    {"Div", 7, rules::legacy_broadcast},
    {"Equal", 7, rules::legacy_broadcast},
    {"Greater", 7, rules::legacy_broadcast},
    {"Less", 7, rules::legacy_broadcast},
    {"Mul", 7, rules::legacy_broadcast},
    {"Or", 7, rules::legacy_broadcast},
    {"Pow", 7, rules::legacy_broadcast},
    {"Sub", 7, rules::legacy_broadcast},
    {"Xor", 7, rules::legacy_broadcast},
    {"PRelu", 7, rules::prelu_slope},
    {"Gemm", 7, rules::gemm_broadcast},

    // ---- arithmetic ----
    {"Cast", 6, rules::cast_target},
    {"Clip", 11, rules::clip_bounds},
    {"Selu", 6, rules::selu_defaults},
    {"Affine", kAlways, rules::affine},
    {"ParametricSoftplus", kAlways, rules::parametric_softplus},
    {"ScaledTanh", kAlways, rules::scaled_tanh},
    {"ImageScaler", kAlways, rules::image_scaler},

    // ---- attributes that became inputs, and related changes ----
    {"Concat", 4, rules::concat_axis},
    {"Crop", kAlways, rules::crop},
    {"DynamicSlice", kAlways, rules::dynamic_slice},
    {"OneHot", 11, rules::one_hot_indices},
    {"Pad", 2, rules::pad_names},
    {"Pad", 11, rules::pad_inputs},
    {"ReduceL1", 18, rules::axes_input},
    {"ReduceL2", 18, rules::axes_input},
    {"ReduceLogSum", 18, rules::axes_input},
    {"ReduceLogSumExp", 18, rules::axes_input},
    {"ReduceMax", 18, rules::axes_input},
    {"ReduceMean", 18, rules::axes_input},
    {"ReduceMin", 18, rules::axes_input},
    {"ReduceProd", 18, rules::axes_input},
    {"ReduceSum", 13, rules::axes_input},
    {"ReduceSumSquare", 18, rules::axes_input},
    {"Reshape", 5, rules::reshape_shape},
    {"Scatter", kAlways, rules::scatter_rename},
    {"Slice", 10, rules::slice_bounds},
    {"Split", 2, rules::split_reals},
    {"Split", 13, rules::split_sizes},
    {"Split", 18, rules::split_count},
    {"Squeeze", 13, rules::axes_input},
    {"Tile", 6, rules::tile_repeats},
    {"TopK", 10, rules::topk_count},
    {"Unsqueeze", 13, rules::axes_input},
    {"Upsample", 7, rules::upsample_sizes},
    {"Upsample", 9, rules::upsample_scales},
    {"Upsample", kAlways, rules::upsample_rename},
    {"Resize", 11, rules::resize_inputs},
    {"Resize", kAlways, rules::empty_resize_inputs},

    // ---- networks ----
    {"BatchNormalization", 7, rules::batch_norm_test},
    {"BatchNormalization", 9, rules::batch_norm_spatial},
    {"BatchNormalization", 14, rules::batch_norm_outputs},
    {"DFT", 20, rules::dft_axis},
    {"Dropout", 12, rules::dropout_ratio},
    {"Dropout", 10, rules::dropout_mask},
    {"GRU", 7, rules::output_sequence},
    {"GlobalLpPool", 2, rules::lp_norm},
    {"GridSample", 20, rules::grid_sample_mode},
    {"GroupNormalization", 21, rules::group_norm_scale},
    {"Hardmax", 13, rules::last_axis},
    {"LSTM", 7, rules::output_sequence},
    {"LogSoftmax", 13, rules::last_axis},
    {"LpPool", 2, rules::lp_norm},
    {"RNN", 7, rules::output_sequence},
    {"RoiAlign", 16, rules::roi_align_mode},
    {"Scan", 9, rules::batched_scan},
    {"SequenceMap", kAlways, rules::sequence_map},
    {"Softmax", 13, rules::last_axis},

    // ---- ai.onnx.preview ----
    {"FlexAttention", kAlways, rules::flex_attention, "ai.onnx.preview"},

    // ---- com.microsoft ----
    {"BeamSearch", kAlways, rules::beam_search, kMicrosoft},
    {"GreedySearch", kAlways, rules::greedy_search, kMicrosoft},
    {"Sampling", kAlways, rules::sampling, kMicrosoft},
    {"WhisperBeamSearch", kAlways, rules::beam_search, kMicrosoft},

    // ---- ai.onnx.ml ----
    {"LabelEncoder", 2, rules::label_encoder, kMl},
};

struct Version {
  std::string_view domain;
  std::int64_t newest;
};
constexpr Version kNewest[] = {
    {"", 28}, {kMl, 5}, {"ai.onnx.preview", 1}, {"ai.onnx.preview.training", 1}, {kMicrosoft, 1},
};

const std::unordered_map<std::string_view, std::vector<const Change*>>& changes_by_op() {
  static const auto map = [] {
    std::unordered_map<std::string_view, std::vector<const Change*>> by_op;
    for (const Change& change : kChanges) by_op[change.op].push_back(&change);
    return by_op;
  }();
  return map;
}

constexpr std::int64_t kLastConsumed = 5;  ///< last opset with `consumed_inputs`, which has no meaning on any operator

}  // namespace

Status upgrade(Draft& draft) {
  if (draft.domain.empty() && draft.opset <= kLastConsumed) draft.drop("consumed_inputs");
  const auto found = changes_by_op().find(draft.op);
  if (found == changes_by_op().end()) return {};
  const std::string_view before = draft.op;
  for (const Change* change : found->second) {
    if (change->domain != draft.domain || draft.opset >= change->before) continue;
    FRAZIL_CHECK(change->apply(draft));
    if (draft.results || draft.op != before) break;
  }
  return {};
}

bool has_upgrade(std::string_view domain, std::string_view op) {
  const auto found = changes_by_op().find(op);
  if (found == changes_by_op().end()) return false;
  return std::ranges::any_of(found->second, [&](const Change* change) { return change->domain == domain; });
}

bool is_known_operator(std::string_view domain, std::string_view op, std::int64_t opset) {
  const auto newest = newest_opset(domain);
  if (opset < 1 || (newest && opset > *newest)) return false;
  if (OpRegistry::global().find(domain, op) != nullptr) return true;
  const auto found = changes_by_op().find(op);
  return found != changes_by_op().end() && std::ranges::any_of(found->second, [&](const Change* change) {
           return change->domain == domain && change->before == kAlways;
         });
}

std::optional<std::int64_t> newest_opset(std::string_view domain) {
  for (const Version& v : kNewest) {
    if (v.domain == domain) return v.newest;
  }
  return std::nullopt;
}

}  // namespace frazil::onnx
