#include <map>
#include <tuple>
#include <utility>

#include <frazil/lazy.h>

#include "api/access.h"
#include "api/lazy_access.h"

namespace frazil::api {
namespace {

LazyArray ints(const std::vector<std::int64_t>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Array::of<std::int64_t>({count}, std::span(values));
}

/// An operator whose only attribute is this number.
const Operator& with_number(std::string_view name, std::string_view attribute, std::int64_t number,
                            std::size_t outputs = 1) {
  thread_local std::map<std::tuple<std::string_view, std::int64_t, std::size_t>, Operator> known;
  const auto at = known.find({name, number, outputs});
  if (at != known.end()) return at->second;
  return known.emplace(std::tuple(name, number, outputs), Operator(name, {{std::string(attribute), number}}, outputs))
      .first->second;
}

LazyArray reduced(std::string_view name, const Operand& x, const std::vector<std::int64_t>& axes, bool keepdims) {
  const Operator& reduce = with_number(name, "keepdims", keepdims ? 1 : 0);
  if (axes.empty()) return reduce({x});
  const LazyArray over = ints(axes);
  return reduce({x, over});
}

}  // namespace

LazyArray sum(Operand x, std::vector<std::int64_t> axes, bool keepdims) {
  return reduced("ReduceSum", x, axes, keepdims);
}
LazyArray mean(Operand x, std::vector<std::int64_t> axes, bool keepdims) {
  return reduced("ReduceMean", x, axes, keepdims);
}
LazyArray max(Operand x, std::vector<std::int64_t> axes, bool keepdims) {
  return reduced("ReduceMax", x, axes, keepdims);
}
LazyArray min(Operand x, std::vector<std::int64_t> axes, bool keepdims) {
  return reduced("ReduceMin", x, axes, keepdims);
}

LazyArray argmax(Operand x, std::int64_t axis) {
  thread_local std::map<std::int64_t, Operator> known;
  const auto at = known.try_emplace(axis, "ArgMax", Attributes{{"axis", axis}, {"keepdims", 0}}).first;
  return at->second({x});
}

LazyArray softmax(Operand x, std::int64_t axis) { return with_number("Softmax", "axis", axis)({x}); }

LazyArray concatenate(std::initializer_list<Operand> arrays, std::int64_t axis) {
  return with_number("Concat", "axis", axis)(arrays);
}

LazyArray concatenate(std::span<const LazyArray> arrays, std::int64_t axis, Line line) {
  std::vector<Operand> operands;
  for (const LazyArray& array : arrays) operands.emplace_back(array, line);
  return with_number("Concat", "axis", axis)(operands);
}

LazyArray stack(std::span<const LazyArray> arrays, std::int64_t axis, Line line) {
  const LazyArray at = ints({axis});
  static const Operator unsqueeze("Unsqueeze");
  std::vector<LazyArray> wider;
  for (const LazyArray& array : arrays) wider.push_back(unsqueeze({Operand(array, line), at}));
  return concatenate(wider, axis, line);
}

std::vector<LazyArray> split(Operand x, std::int64_t parts, std::int64_t axis) {
  if (parts < 1) refuse(frazil::Code::bad_input, "split: expected at least 1 part, got {}", parts);
  using Key = std::pair<std::int64_t, std::int64_t>;
  thread_local std::map<Key, Operator> known;
  const auto at = known.try_emplace(Key{parts, axis}, "Split", Attributes{{"axis", axis}, {"num_outputs", parts}},
                                    static_cast<std::size_t>(parts));
  return at.first->second.all(std::span(&x, 1));
}

LazyArray reshape(Operand x, const Sizes& sizes) {
  static const Operator operation("Reshape");
  const LazyArray to = ints(sizes);
  return operation({x, to});
}

LazyArray transpose(Operand x, const std::vector<std::int64_t>& axes) {
  thread_local std::map<std::vector<std::int64_t>, Operator> known;
  const Attributes attributes = axes.empty() ? Attributes{} : Attributes{{"perm", axes}};
  return known.try_emplace(axes, "Transpose", attributes).first->second({x});
}

LazyArray take(Operand x, Operand indices, std::int64_t axis) {
  return with_number("Gather", "axis", axis)({x, indices});
}

LazyArray slice(Operand x, std::int64_t begin, std::int64_t end, std::int64_t axis) {
  static const Operator operation("Slice");
  const LazyArray from = ints({begin}), to = ints({end}), along = ints({axis});
  return operation({x, from, to, along});
}

LazyArray astype(Operand x, Dtype dtype) { return with_number("Cast", "to", onnx_number(dtype))({x}); }

}  // namespace frazil::api
