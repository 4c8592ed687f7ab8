#include <cmath>

#include "ir/op/axis.h"
#include "onnx/upgrade/rules.h"

namespace frazil::onnx::rules {
namespace {

/// Returns the only axis from `first` on whose extent is not 1, or nullopt if there are several.
std::optional<std::int64_t> only_axis(const Shape& shape, std::int64_t first) {
  std::optional<std::int64_t> found;
  for (auto a = first; a < static_cast<std::int64_t>(shape.size()); ++a) {
    if (shape[static_cast<std::size_t>(a)] == Dim(1)) continue;
    if (found) return std::nullopt;
    found = a;
  }
  return found ? found : first;
}

}  // namespace

Status last_axis(Draft& d) {
  FRAZIL_TRY(const std::int64_t axis, d.take_or<std::int64_t>("axis", 1));
  FRAZIL_TRY(const Type type, d.input(0));
  const auto rank = static_cast<std::int64_t>(type.rank());
  if (type.ranked) {
    if (rank == 0 || axis < -rank || axis > rank) return d.error("axis {} is outside [{}, {}]", axis, -rank, rank);
    const auto first = static_cast<std::int64_t>(from_front(axis, type.rank()));
    const auto only = first == rank ? std::nullopt : only_axis(type.shape, first);
    if (only) d.set("axis", *only);
    if (only) return {};
  }
  FRAZIL_TRY(const Value flat, d.emit("Flatten", {d.in[0]}, {{"axis", AttrValue(axis)}}));
  FRAZIL_TRY(const Value done, d.emit(d.op, {flat}, {{"axis", AttrValue(std::int64_t{-1})}}));
  FRAZIL_TRY(const Value back, reshape_like(d, done, d.in[0]));
  d.results = {back};
  return {};
}

Status batch_norm_test(Draft& d) {
  d.drop("is_test");
  return {};
}

Status batch_norm_spatial(Draft& d) {
  FRAZIL_TRY(const std::int64_t spatial, d.take_or<std::int64_t>("spatial", 1));
  if (spatial != 0) return {};
  // Every position of an item is a separate channel.
  FRAZIL_CHECK(batch_norm_outputs(d));
  if (d.in.size() != 5) return d.error("it has {} inputs, expected 5", d.in.size());
  FRAZIL_TRY(const Value flat, d.emit("Flatten", {d.in[0]}));
  std::vector<Value> in{flat};
  for (std::size_t i = 1; i < d.in.size(); ++i) {
    FRAZIL_TRY(in.emplace_back(), d.emit("Reshape", {d.in[i], d.ints({-1})}));
  }
  FRAZIL_TRY(const Value done, d.emit(d.op, std::move(in), std::exchange(d.attrs, {})));
  FRAZIL_TRY(const Value back, reshape_like(d, done, d.in[0]));
  d.results = {back};
  return {};
}

Status batch_norm_outputs(Draft& d) {
  for (std::size_t i = 1; i < d.wanted.size(); ++i) {
    if (d.wanted[i]) return d.unsupported("its training outputs are not supported in opset {}", d.opset);
  }
  d.wanted.resize(1);
  return {};
}

Status dropout_ratio(Draft& d) {
  d.drop("ratio");
  d.drop("is_test");
  return {};
}

Status dropout_mask(Draft& d) {
  if (!d.wants(1)) return {};
  FRAZIL_TRY(const Type type, d.input(0));
  FRAZIL_TRY(auto values, d.emit_all("Dropout", d.in, d.attrs, d.wanted));
  const std::int64_t to = onnx_data_type(type.elem);
  FRAZIL_TRY(values[1], d.emit("Cast", {values[1]}, {{"to", AttrValue(to)}}));
  d.results = std::move(values);
  return {};
}

Status output_sequence(Draft& d) {
  d.drop("output_sequence");
  return {};
}

Status lp_norm(Draft& d) {
  FRAZIL_TRY(const auto p, d.take<float>("p"));
  if (!p) return {};
  constexpr float kMaximum = 1 << 24;
  if (!(std::abs(*p) <= kMaximum) || *p != std::floor(*p)) return d.error("p = {} is not a whole number", *p);
  d.set("p", static_cast<std::int64_t>(*p));
  return {};
}

namespace {

/// Expands one value per group to one per channel.
Result<Value> per_channel(Draft& d, Value per_group, Value groups, Value target) {
  FRAZIL_TRY(const Value column, d.emit("Unsqueeze", {per_group, d.ints({1})}));
  FRAZIL_TRY(const Value shape, d.emit("Concat", {groups, target}, {{"axis", AttrValue(std::int64_t{0})}}));
  FRAZIL_TRY(const Value wide, d.emit("Expand", {column, shape}));
  return d.emit("Reshape", {wide, d.ints({-1})});
}

}  // namespace

Status group_norm_scale(Draft& d) {
  for (const auto& attr : d.attrs) {
    const auto* count = attr.name == "num_groups" && attr.plain() ? std::get_if<std::int64_t>(attr.plain()) : nullptr;
    if (count == nullptr) continue;
    if (*count < 1 || !d.has(0) || !d.has(1) || !d.has(2)) break;
    const Value groups = d.ints({*count});
    FRAZIL_TRY(
        const Value channels,
        d.emit("Shape", {d.in[0]}, {{"start", AttrValue(std::int64_t{1})}, {"end", AttrValue(std::int64_t{2})}}));
    FRAZIL_TRY(const Value size, d.emit("Div", {channels, groups}));
    FRAZIL_TRY(d.in[1], per_channel(d, d.in[1], groups, size));
    FRAZIL_TRY(d.in[2], per_channel(d, d.in[2], groups, size));
    return {};
  }
  return d.error("it needs 3 inputs and a positive attribute 'num_groups'");
}

Status grid_sample_mode(Draft& d) {
  FRAZIL_TRY(const auto mode, d.take<std::string>("mode"));
  if (mode) d.set("mode", *mode == "bilinear" ? "linear" : *mode == "bicubic" ? "cubic" : *mode);
  return {};
}

Status roi_align_mode(Draft& d) {
  d.set("coordinate_transformation_mode", std::string("output_half_pixel"));
  return {};
}

Status dft_axis(Draft& d) {
  FRAZIL_TRY(const std::int64_t axis, d.take_or<std::int64_t>("axis", 1));
  d.put(2, d.scalar(axis));
  return {};
}

Status label_encoder(Draft& d) {
  FRAZIL_TRY(const auto classes, d.take<Strings>("classes_strings"));
  FRAZIL_TRY(const Type type, d.input(0));
  if (!classes) return d.error("attribute 'classes_strings' is missing");
  Ints numbers(classes->size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  const bool from_text = type.elem == Elem::string;
  d.set(from_text ? "keys_strings" : "values_strings", *classes);
  d.set(from_text ? "values_int64s" : "keys_int64s", numbers);
  return {};
}

}  // namespace frazil::onnx::rules
