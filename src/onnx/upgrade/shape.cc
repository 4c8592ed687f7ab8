#include <algorithm>
#include <limits>

#include "onnx/upgrade/rules.h"

namespace frazil::onnx::rules {

Status ints_to_input(Draft& d, std::string_view attr, std::size_t i) {
  FRAZIL_TRY(const auto values, d.take<Ints>(attr));
  if (values) d.put(i, d.ints(*values));
  return {};
}

namespace {

/// Returns input i, which must be present, as i64. A constant remains a constant.
Result<Value> as_i64(Draft& d, std::size_t i) {
  FRAZIL_CHECK(d.input(i));
  const Tensor* constant = d.constant(i);
  if (constant == nullptr || constant->elem() == Elem::string) {
    return d.emit("Cast", {d.in[i]}, {{"to", AttrValue(std::int64_t{onnx_data_type(Elem::i64)})}});
  }
  FRAZIL_TRY(Tensor tensor, Tensor::make(Elem::i64, constant->sizes()));
  for (std::int64_t at = 0; at < tensor.count(); ++at) {
    tensor.as_mutable<std::int64_t>()[static_cast<std::size_t>(at)] = constant->integer_at(at);
  }
  return d.builder().constant(std::move(tensor)).value;
}

}  // namespace

Result<Value> shape_of(Draft& d, Value v) { return d.emit("Shape", {v}); }

Result<Value> reshape_like(Draft& d, Value v, Value like) {
  FRAZIL_TRY(const Value shape, shape_of(d, like));
  return d.emit("Reshape", {v, shape});
}

Status reshape_shape(Draft& d) {
  if (!d.has_attr("shape")) return d.error("attribute 'shape' is missing");
  return ints_to_input(d, "shape", 1);
}

Status slice_bounds(Draft& d) {
  for (const std::string_view attr : {"starts", "ends"}) {
    if (!d.has_attr(attr)) return d.error("attribute '{}' is missing", attr);
  }
  FRAZIL_CHECK(ints_to_input(d, "starts", 1));
  FRAZIL_CHECK(ints_to_input(d, "ends", 2));
  return ints_to_input(d, "axes", 3);
}

Status dynamic_slice(Draft& d) {
  d.op = "Slice";
  return {};
}

/// Converts Crop. `border` holds the amounts to remove: left, top, right, bottom. `scale`, if given, holds the
/// remaining height and width.
Status crop(Draft& d) {
  FRAZIL_TRY(const auto border, d.take<Ints>("border"));
  FRAZIL_TRY(const auto scale, d.take<Ints>("scale"));
  constexpr std::int64_t kMaximum = std::int64_t{1} << 40;
  const auto sizes = [](const Ints& list, std::size_t count) {
    return list.size() == count && std::ranges::all_of(list, [](std::int64_t v) { return v >= 0 && v <= kMaximum; });
  };
  if (!d.has(0)) return d.error("input 0 is missing");
  if (!border || !sizes(*border, 4)) return d.error("attribute 'border' must be 4 sizes");
  if (scale && !sizes(*scale, 2)) return d.error("attribute 'scale' must be 2 sizes");
  const Ints& b = *border;
  const auto end = [](std::int64_t last) { return last == 0 ? std::numeric_limits<std::int64_t>::max() : -last; };
  const Ints ends = scale ? Ints{b[1] + (*scale)[0], b[0] + (*scale)[1]} : Ints{end(b[3]), end(b[2])};
  return d.become("Slice", {d.in[0], d.ints({b[1], b[0]}), d.ints(ends), d.ints({2, 3})});
}

Status axes_input(Draft& d) {
  FRAZIL_TRY(const auto axes, d.take<Ints>("axes"));
  if (axes && !axes->empty()) d.put(1, d.ints(*axes));
  return {};
}

/// Maps negative indices to `depth`, because older opsets treat them as out of range.
Status one_hot_indices(Draft& d) {
  if (!d.has(0) || !d.has(1)) return {};
  FRAZIL_TRY(const Value indices, as_i64(d, 0));
  FRAZIL_TRY(const Value depth, as_i64(d, 1));
  FRAZIL_TRY(const Value outside, d.emit("Reshape", {depth, d.ints({})}));
  FRAZIL_TRY(const Value negative, d.emit("Less", {indices, d.scalar(0)}));
  FRAZIL_TRY(d.in[0], d.emit("Where", {negative, outside, indices}));
  return {};
}

Status split_reals(Draft& d) {
  if (!d.has(1)) return {};
  FRAZIL_TRY(d.in[1], as_i64(d, 1));
  return {};
}

Status split_sizes(Draft& d) { return ints_to_input(d, "split", 1); }

Status split_count(Draft& d) {
  if (!d.has(1)) d.set("num_outputs", static_cast<std::int64_t>(d.wanted.size()));
  return {};
}

Status concat_axis(Draft& d) {
  if (!d.has_attr("axis")) d.set("axis", std::int64_t{1});
  return {};
}

Status pad_names(Draft& d) {
  FRAZIL_TRY(const auto pads, d.take<Ints>("paddings"));
  if (pads) d.set("pads", *pads);
  return {};
}

Status pad_inputs(Draft& d) {
  if (!d.has_attr("pads")) return d.error("attribute 'pads' is missing");
  FRAZIL_CHECK(ints_to_input(d, "pads", 1));
  FRAZIL_TRY(const auto value, d.take<float>("value"));
  FRAZIL_TRY(const Type type, d.input(0));
  if (value) d.put(2, d.number(type.elem, *value));
  return {};
}

/// Converts a Tile whose input `tiles` holds the number of repetitions along `axis`.
Status tile_repeats(Draft& d) {
  if (d.in.size() < 3) return {};
  FRAZIL_TRY(const std::int64_t rank, d.rank(0));
  if (rank == 0) return d.error("input 0 is a scalar, which has no axis");
  for (const std::size_t i : {1, 2}) {
    const Tensor* fixed = d.constant(i);
    if (fixed != nullptr && fixed->count() != 1)
      return d.error("input {} is {}, expected a scalar", i, fixed->type_str());
  }
  if (const Tensor* axis = d.constant(2)) {
    const std::int64_t at = axis->integer_at(0);
    if (at < -rank || at >= rank) return d.error("axis {} is outside [{}, {})", at, -rank, rank);
  }
  std::vector<Value> one(2);
  for (std::size_t i = 0; i < one.size(); ++i) {
    FRAZIL_TRY(const Value whole, as_i64(d, i + 1));
    FRAZIL_TRY(one[i], d.emit("Reshape", {whole, d.ints({1})}));
  }
  const Value ones = d.ints(std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1));
  FRAZIL_TRY(const Value repeats, d.emit("ScatterElements", {ones, one[1], one[0]}));
  d.in = {d.in[0], repeats};
  return {};
}

Status topk_count(Draft& d) {
  FRAZIL_TRY(const auto k, d.take<std::int64_t>("k"));
  if (!k) return d.error("attribute 'k' is missing");
  d.put(1, d.ints({*k}));
  return {};
}

Status scatter_rename(Draft& d) {
  d.op = "ScatterElements";
  return {};
}

Status upsample_sizes(Draft& d) {
  if (d.has_attr("scales")) return {};
  FRAZIL_TRY(const auto height, d.take<float>("height_scale"));
  FRAZIL_TRY(const auto width, d.take<float>("width_scale"));
  if (!height || !width) return d.error("attributes 'height_scale' and 'width_scale' are missing");
  d.set("scales", Floats{1, 1, *height, *width});
  return {};
}

Status upsample_scales(Draft& d) {
  FRAZIL_TRY(const auto scales, d.take<Floats>("scales"));
  if (!scales) return d.error("attribute 'scales' is missing");
  const Tensor t = Tensor::of<float>({static_cast<std::int64_t>(scales->size())}, std::span<const float>(*scales));
  d.put(1, d.builder().constant(t).value);
  return {};
}

namespace {

/// Converts the inputs and semantics of the first Resize, in which positions are `x * scale`.
Status asymmetric(Draft& d) {
  if (!d.has(1)) return d.error("input 1, the scales, is missing");
  d.in = {d.in[0], {}, d.in[1]};
  FRAZIL_TRY(const std::string mode, d.take_or<std::string>("mode", "nearest"));
  // Compare as a view: GCC 12 warns that the string itself may be uninitialised.
  d.set("mode", std::string_view(mode) == "bilinear" ? "linear" : mode);
  d.set("coordinate_transformation_mode", std::string("asymmetric"));
  d.set("nearest_mode", std::string("floor"));
  return {};
}

}  // namespace

Status upsample_rename(Draft& d) {
  d.op = "Resize";
  return asymmetric(d);
}

Status resize_inputs(Draft& d) { return asymmetric(d); }

Status empty_resize_inputs(Draft& d) {
  for (std::size_t i = 1; i < d.in.size(); ++i) {
    const Tensor* t = d.constant(i);
    if (t != nullptr && t->count() == 0) d.in[i] = {};
  }
  return {};
}

}  // namespace frazil::onnx::rules
