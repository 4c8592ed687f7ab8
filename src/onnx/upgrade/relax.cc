#include "onnx/upgrade/relax.h"

#include <algorithm>

#include "onnx/import/warn.h"

namespace frazil::onnx {
namespace {

/// Returns whether two shapes of one rank have different constants along another axis than `axis`.
bool contradict(const Shape& a, const Shape& b, std::size_t axis) {
  for (std::size_t d = 0; d < a.size(); ++d) {
    if (d != axis && a[d].is_const() && b[d].is_const() && a[d] != b[d]) return true;
  }
  return false;
}

const std::int64_t* integer_attr(const Draft& draft, std::string_view name) {
  const auto given = std::ranges::find(draft.attrs, name, &NamedAttr::name);
  const AttrValue* const plain = given == draft.attrs.end() ? nullptr : given->plain();
  return plain == nullptr ? nullptr : std::get_if<std::int64_t>(plain);
}

Status relax_concat(Draft& draft, std::vector<std::string>& warnings) {
  const auto is_ranked = [&](Value v) { return v && draft.type(v).is_tensor() && draft.type(v).ranked; };
  if (draft.in.empty() || !std::ranges::all_of(draft.in, is_ranked)) return {};
  const std::size_t rank = draft.type(draft.in[0]).rank();
  const std::int64_t* const number = integer_attr(draft, "axis");
  if (number == nullptr) return {};
  const std::int64_t axis = *number < 0 ? *number + static_cast<std::int64_t>(rank) : *number;
  const auto fits = [&](Value v) {
    return draft.type(v).rank() == rank && axis >= 0 && axis < static_cast<std::int64_t>(rank);
  };
  if (!std::ranges::all_of(draft.in, fits)) return {};
  const auto at = static_cast<std::size_t>(axis);
  const auto is_empty = [&](Value v) { return draft.type(v).shape[at] == Dim(0); };
  const auto first = std::ranges::find_if_not(draft.in, is_empty);
  if (first == draft.in.end()) return {};
  const Shape shape = draft.type(*first).shape;
  const std::size_t dropped =
      std::erase_if(draft.in, [&](Value v) { return is_empty(v) && contradict(draft.type(v).shape, shape, at); });
  if (dropped > 0) {
    warn(warnings, "{}: {} inputs without elements, whose other extents do not fit, are ignored", draft.describe(),
         dropped);
  }
  return {};
}

Status relax_axes(Draft& draft, std::vector<std::string>& warnings) {
  const Tensor* const given = draft.constant(1);
  if (given == nullptr || given->elem() != Elem::i64 || !draft.has(0) || !draft.type(draft.in[0]).is_tensor())
    return {};
  const Type& type = draft.type(draft.in[0]);
  if (!type.ranked) return {};
  const auto rank = static_cast<std::int64_t>(type.rank());
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 0; i < given->count(); ++i) {
    const std::int64_t axis = given->integer_at(i);
    if (axis < -rank || axis >= rank) return {};
    const auto same = [&](std::int64_t other) { return (axis - other) % rank == 0; };
    if (std::ranges::none_of(axes, same)) axes.push_back(axis);
  }
  if (static_cast<std::int64_t>(axes.size()) == given->count()) return {};
  warn(warnings, "{}: repeated axes are ignored", draft.describe());
  draft.put(1, draft.ints(std::move(axes)));
  return {};
}

/// Drops the axes of a reduction of a scalar.
Status relax_reduction(Draft& draft, std::vector<std::string>& warnings) {
  const bool scalar = draft.has(0) && draft.has(1) && draft.type(draft.in[0]).is_tensor() &&
                      draft.type(draft.in[0]).ranked && draft.type(draft.in[0]).rank() == 0;
  if (!scalar || draft.has_attr("noop_with_empty_axes")) return relax_axes(draft, warnings);
  warn(warnings, "{}: axes of a scalar are ignored", draft.describe());
  draft.in.resize(1);
  return {};
}

Status relax_squeeze(Draft& draft, std::vector<std::string>& warnings) {
  const bool empty = draft.has(1) && draft.type(draft.in[1]).is_tensor() && draft.type(draft.in[1]).ranked &&
                     draft.type(draft.in[1]).shape == Shape{Dim(0)};
  if (!empty) return relax_axes(draft, warnings);
  warn(warnings, "{}: it has axes without elements; they are ignored", draft.describe());
  draft.in.resize(1);
  return {};
}

Status relax_attributes(Draft& draft, std::vector<std::string>& warnings) {
  const OpDef* const op = OpRegistry::global().find(draft.domain, draft.op);
  std::erase_if(draft.attrs, [&](const NamedAttr& attr) {
    const bool unknown = op != nullptr && op->attrs.find(attr.name) == nullptr;
    if (unknown) warn(warnings, "{}: unknown attribute '{}' is ignored", draft.describe(), proto::shown(attr.name));
    return unknown;
  });
  return {};
}

Status relax_split(Draft& draft, std::vector<std::string>& warnings) {
  const std::int64_t* const given = integer_attr(draft, "num_outputs");
  const auto outputs = static_cast<std::int64_t>(draft.wanted.size());
  if (given == nullptr || *given == outputs || draft.has(1)) return {};
  warn(warnings, "{}: num_outputs is {}, but it has {} outputs, which count", draft.describe(), *given, outputs);
  draft.set("num_outputs", outputs);
  return {};
}

/// Converts floats in two steps, so that integers out of range wrap around as in C on x86-64.
Status relax_cast(Draft& draft, std::vector<std::string>& /*warnings*/) {
  const std::int64_t* const to = integer_attr(draft, "to");
  const auto elem = to == nullptr ? std::nullopt : elem_from_onnx(*to);
  if (!elem || !draft.has(0) || !draft.type(draft.in[0]).is_tensor() || !is_float(draft.type(draft.in[0]).elem))
    return {};
  const bool narrow = *elem == Elem::u8 || *elem == Elem::i8 || *elem == Elem::u16 || *elem == Elem::i16;
  if (!narrow && *elem != Elem::u32) return {};
  const std::int64_t wide = onnx_data_type(narrow ? Elem::i32 : Elem::i64);
  FRAZIL_TRY(draft.in[0], draft.emit("Cast", {draft.in[0]}, {{"to", AttrValue(wide)}}));
  return {};
}

Status relax_compress(Draft& draft, std::vector<std::string>& /*warnings*/) {
  if (!draft.has(0) || !draft.has(1)) return {};
  const std::int64_t* const axis = integer_attr(draft, "axis");
  Value length;
  if (axis == nullptr) {
    FRAZIL_TRY(const Value size, draft.emit("Size", {draft.in[0]}));
    FRAZIL_TRY(length, draft.emit("Reshape", {size, draft.ints({1})}));
  } else {
    std::vector<NamedAttr> range{{"start", *axis}};
    if (*axis != -1) range.push_back({"end", *axis + 1});
    FRAZIL_TRY(length, draft.emit("Shape", {draft.in[0]}, range));
  }
  FRAZIL_TRY(const Value condition, draft.emit("Slice", {draft.in[1], draft.ints({0}), length}));
  draft.put(1, condition);
  return {};
}

struct Relaxation {
  std::string_view op;
  Status (*apply)(Draft& draft, std::vector<std::string>& warnings);
};
constexpr Relaxation kRelaxations[] = {
    {"Cast", relax_cast},
    {"Compress", relax_compress},
    {"Concat", relax_concat},
    {"LayerNormalization", relax_attributes},
    {"ReduceL1", relax_reduction},
    {"ReduceL2", relax_reduction},
    {"ReduceLogSum", relax_reduction},
    {"ReduceLogSumExp", relax_reduction},
    {"ReduceMax", relax_reduction},
    {"ReduceMean", relax_reduction},
    {"ReduceMin", relax_reduction},
    {"ReduceProd", relax_reduction},
    {"ReduceSum", relax_reduction},
    {"ReduceSumSquare", relax_reduction},
    {"Split", relax_split},
    {"Squeeze", relax_squeeze},
};

/// Keeps one attribute of a Constant, and no input.
void relax_constant(Draft& draft, std::vector<std::string>& warnings) {
  const auto is_value = [](const NamedAttr& attr) {
    return attr.name.starts_with("value") || attr.name == "sparse_value";
  };
  const auto value = std::ranges::find_if(draft.attrs, is_value);
  if (value == draft.attrs.end() || (draft.attrs.size() == 1 && draft.in.empty())) return;
  warn(warnings, "{}: it has one value, '{}'; its inputs and other attributes are ignored", draft.describe(),
       proto::shown(value->name));
  draft.attrs = {NamedAttr(*value)};
  draft.in.clear();
}

/// Flattens an input of two or more axes.
Status flatten(Draft& draft, std::size_t i) {
  if (!draft.has(i) || !draft.type(draft.in[i]).is_tensor()) return {};
  const Type& type = draft.type(draft.in[i]);
  if (!type.ranked || type.rank() < 2) return {};
  FRAZIL_TRY(draft.in[i], draft.emit("Reshape", {draft.in[i], draft.ints({-1})}));
  return {};
}

struct FlatInput {
  std::string_view op;
  std::size_t input;
};
constexpr FlatInput kFlatInputs[] = {
    {"Compress", 1},
    {"GroupNormalization", 1},
    {"GroupNormalization", 2},
    {"SplitToSequence", 1},
};

}  // namespace

Status relax_form(Draft& draft, std::vector<std::string>& warnings) {
  if (!draft.domain.empty()) return {};
  if (draft.op == "Constant") relax_constant(draft, warnings);
  const auto padding = std::ranges::find(draft.attrs, "auto_pad", &NamedAttr::name);
  const AttrValue* const plain = padding == draft.attrs.end() ? nullptr : padding->plain();
  const auto* const text = plain == nullptr ? nullptr : std::get_if<std::string>(plain);
  if (text != nullptr && text->empty()) draft.attrs.erase(padding);
  for (const FlatInput& flat : kFlatInputs) {
    if (flat.op == draft.op) FRAZIL_CHECK(flatten(draft, flat.input));
  }
  return {};
}

Status relax(Draft& draft, std::vector<std::string>& warnings) {
  if (!draft.domain.empty() || draft.results || draft.splice) return {};
  const auto found = std::ranges::find(kRelaxations, draft.op, &Relaxation::op);
  return found == std::end(kRelaxations) ? Status() : found->apply(draft, warnings);
}

}  // namespace frazil::onnx
