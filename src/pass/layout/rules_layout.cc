#include <algorithm>
#include <array>
#include <numeric>

#include "ir/op/axis.h"
#include "ops/view/view.h"
#include "pass/layout/layout_rules.h"

// Images with channels last: their axes, and how they are transposed.
namespace frazil::pass {
namespace {

constexpr std::size_t kSmallConstant = std::size_t{1} << 20;  // bytes; larger ones are not copied

Expr constant_transposed(Builder& to, const Tensor& t, const Ints& order) {
  Sizes sizes, strides;
  for (std::int64_t axis : order) {
    sizes.push_back(t.sizes()[static_cast<std::size_t>(axis)]);
    strides.push_back(t.strides()[static_cast<std::size_t>(axis)]);
  }
  const auto offset = static_cast<std::size_t>(t.data() - t.buffer().data());
  auto packed = Tensor(t.elem(), std::move(sizes), std::move(strides), t.buffer(), offset).packed();
  return packed ? to.constant(std::move(*packed)) : to.absent();
}

Expr transposed(Expr x, const Ints& order, std::string_view name) {
  const Constant* c = x.builder->graph().constant(x.value);
  if (c && c->tensor.elem() != Elem::string && c->tensor.bytes() <= kSmallConstant) {
    if (const Expr made = constant_transposed(*x.builder, c->tensor, order)) return made;
  }
  return x.builder->add(ops::Transpose, std::array{x}, shared_attrs(ops::TransposeAttrs{.perm = order}), 1, name)[0];
}

}  // namespace

bool is_image(const Graph& graph, Value v) {
  if (!v) return false;
  const Type& type = graph.type(v);
  return type.is_tensor() && type.ranked && type.rank() >= 3;
}

bool transposes_in_place(const Type& type) {
  const auto is_one = [](Dim d) { return d == Dim(1); };
  return is_one(type.shape[1]) || std::ranges::all_of(std::span(type.shape).subspan(2), is_one);
}

Ints last_order(std::size_t rank) {
  Ints axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  std::ranges::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  return axes;
}

Ints second_order(std::size_t rank) {
  Ints axes{0, static_cast<std::int64_t>(rank) - 1};
  for (std::size_t axis = 1; axis + 1 < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  return axes;
}

Expr channels_last(Expr x, std::string_view name) { return x ? transposed(x, last_order(x.type().rank()), name) : x; }
Expr channels_second(Expr x, std::string_view name) {
  return x ? transposed(x, second_order(x.type().rank()), name) : x;
}

std::int64_t last_axis_of(std::int64_t axis, std::size_t rank) {
  const auto at = static_cast<std::int64_t>(from_front(axis, rank));
  return at == 0 ? 0 : at == 1 ? static_cast<std::int64_t>(rank) - 1 : at - 1;
}

Ints last_axes_of(std::span<const std::int64_t> axes, std::size_t rank) {
  Ints mapped;
  for (std::int64_t axis : axes) mapped.push_back(last_axis_of(axis, rank));
  return mapped;
}

std::optional<Ints> content(const Graph& graph, const Node& node, std::size_t input) {
  if (input >= node.in.size() || !node.in[input]) return Ints{};
  const std::vector<Dim>* known = graph.known_value(node.in[input]);
  if (known == nullptr) return std::nullopt;
  Ints values;
  for (Dim d : *known) {
    if (!d.is_const()) return std::nullopt;
    values.push_back(d.value());
  }
  return values;
}

LayoutChange image_to_image(const Node& node) {
  LayoutChange change{.image_inputs = {node.in[0]}, .image_outputs = {}, .absorbed = {}};
  std::ranges::copy_if(node.out, std::back_inserter(change.image_outputs),
                       [](Value v) { return static_cast<bool>(v); });
  return change;
}

std::vector<Value> rebuilt(const LayoutSite& site, std::vector<Expr> in, Attrs attrs) {
  std::vector<Value> values;
  for (const Expr& e : site.to.add(*site.node.op, in, std::move(attrs), site.node.out.size()))
    values.push_back(e.value);
  return values;
}

std::vector<const Rule*> layout_rules() {
  std::vector<const Rule*> list;
  for (const auto rules : {window_layout_rules(), fold_layout_rules(), move_layout_rules()}) {
    for (const LayoutRule& rule : rules) list.push_back(&rule.row);
  }
  return list;
}

}  // namespace frazil::pass
