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

Status relax_concat(Draft& draft, std::vector<std::string>& warnings) {
  const auto is_ranked = [&](Value v) { return v && draft.type(v).is_tensor() && draft.type(v).ranked; };
  if (draft.in.empty() || !std::ranges::all_of(draft.in, is_ranked)) return {};
  const std::size_t rank = draft.type(draft.in[0]).rank();
  const auto given = std::ranges::find(draft.attrs, "axis", &NamedAttr::name);
  const AttrValue* const plain = given == draft.attrs.end() ? nullptr : given->plain();
  const auto* const number = plain == nullptr ? nullptr : std::get_if<std::int64_t>(plain);
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

Status relax_compress(Draft& draft, std::vector<std::string>& /*warnings*/) {
  if (!draft.has(0) || !draft.has(1)) return {};
  const auto given = std::ranges::find(draft.attrs, "axis", &NamedAttr::name);
  const AttrValue* const plain = given == draft.attrs.end() ? nullptr : given->plain();
  const auto* const axis = plain == nullptr ? nullptr : std::get_if<std::int64_t>(plain);
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
    {"Compress", relax_compress}, {"Concat", relax_concat},     {"ReduceL1", relax_axes},
    {"ReduceL2", relax_axes},     {"ReduceLogSum", relax_axes}, {"ReduceLogSumExp", relax_axes},
    {"ReduceMax", relax_axes},    {"ReduceMean", relax_axes},   {"ReduceMin", relax_axes},
    {"ReduceProd", relax_axes},   {"ReduceSum", relax_axes},    {"ReduceSumSquare", relax_axes},
    {"Squeeze", relax_axes},
};

}  // namespace

Status relax(Draft& draft, std::vector<std::string>& warnings) {
  if (!draft.domain.empty() || draft.results || draft.splice) return {};
  const auto found = std::ranges::find(kRelaxations, draft.op, &Relaxation::op);
  return found == std::end(kRelaxations) ? Status() : found->apply(draft, warnings);
}

}  // namespace frazil::onnx
