#include <algorithm>
#include <numeric>

#include "ops/contraction/channels_last.h"
#include "ops/core/compose.h"
#include "ops/elementwise/math.h"
#include "ops/nn/norm.h"
#include "ops/view/view.h"
#include "pass/layout/layout_rules.h"

// Convolutions, pools and the normalisation of their results, on images with channels last.
namespace frazil::pass {
namespace {

// ---- whether there is a kernel ----

/// Returns the type with its axes in the order of `axes`, over symbols of another graph.
Type type_elsewhere(Builder& to, const Type& type, const Ints& axes) {
  Shape shape;
  for (std::int64_t axis : axes) {
    const Dim d = type.shape[static_cast<std::size_t>(axis)];
    shape.push_back(d.is_const() ? d : to.dim("d" + std::to_string(axis)));
  }
  return Type::tensor(type.elem, std::move(shape));
}

Value operand_elsewhere(Builder& to, const LayoutQuery& q, std::size_t i) {
  const Value v = q.node.in[i];
  if (!v) return v;
  if (const Constant* c = q.graph.constant(v)) return to.constant(c->tensor).value;
  const Type& type = q.graph.type(v);
  Ints axes(type.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return to.input("in" + std::to_string(i), type_elsewhere(to, type, i == 0 ? last_order(axes.size()) : axes)).value;
}

/// Returns true if a kernel serves `op` in place of the node.
bool has_kernel(const LayoutQuery& q, const OpDef& op) {
  if (!q.options.keep) return false;
  Graph other;
  Builder to(other);
  std::vector<Value> in;
  for (std::size_t i = 0; i < q.node.in.size(); ++i) in.push_back(operand_elsewhere(to, q, i));
  const auto made = to.append(op, std::move(in), q.node.attrs, {true}, "");
  return made && q.options.keep(other, *made);
}

// ---- convolutions ----

bool all_are(const Ints& values, std::int64_t number) {
  return std::ranges::all_of(values, [&](std::int64_t v) { return v == number; });
}

/// Returns the weight if each pixel is a product with it; else null.
const Tensor* pixel_weight(const Graph& graph, const Node& node) {
  const auto& a = node.attributes<ops::ConvAttrs>();
  const Constant* c = graph.constant(node.in[1]);
  const bool fits = c && a.group == 1 && c->tensor.contiguous() && all_are(a.strides, 1) && all_are(a.pads, 0);
  if (!fits || c->tensor.count() != c->tensor.sizes()[0] * c->tensor.sizes()[1]) return nullptr;
  return c->tensor.count() > 0 ? &c->tensor : nullptr;
}

/// Returns the time that channels last save a convolution, in moves of one element, per element of its result.
/// The number is proportional to the multiply-adds per element. It is fixed if each channel has its own window, and 0
/// if a pixel is a product in either layout.
double gain_of(const Type& weight) {
  constexpr double kProductsPerMove = 48, kGainPerChannelWindow = 2.5;
  double products = 1;
  for (Dim d : std::span(weight.shape).subspan(1)) products *= d.is_const() ? static_cast<double>(d.value()) : 0;
  const bool one_channel = weight.shape[1] == Dim(1);
  const bool one_pixel = std::ranges::all_of(std::span(weight.shape).subspan(2), [](Dim d) { return d == Dim(1); });
  return one_pixel ? 0 : one_channel ? kGainPerChannelWindow : products / kProductsPerMove;
}

/// The additional gain for 16-bit floats, which must be cast for the kernels of images with channels second.
constexpr double kGainOfHalves = 8;

std::optional<LayoutChange> match_conv(const LayoutQuery& q) {
  const Node& node = q.node;
  const Elem elem = q.graph.type(node.in[0]).elem;
  const auto same = [&](Value v) { return !v || (q.graph.type(v).ranked && q.graph.type(v).elem == elem); };
  const bool half = elem == Elem::f16 || elem == Elem::bf16;
  if ((elem != Elem::f32 && !half) || !std::ranges::all_of(node.in, same) || !is_image(q.graph, node.in[0]))
    return std::nullopt;
  if ((half || !pixel_weight(q.graph, node)) && !has_kernel(q, ops::ConvChannelsLast)) return std::nullopt;
  LayoutChange change = image_to_image(node);
  change.gain = gain_of(q.graph.type(node.in[1])) + (half ? kGainOfHalves : 0);
  return change;
}

Expr optional(const LayoutSite& s, std::size_t i) {
  return i < s.node.in.size() && s.node.in[i] ? s.second(s.node.in[i]) : s.to.absent();
}

Expr product_per_pixel(const LayoutSite& s, const Tensor& weight) {
  const Expr rows = s.to.constant(reshaped(weight, {weight.sizes()[0], weight.sizes()[1]}));
  const Expr columns = ops::Transpose({rows}, {.perm = {1, 0}});
  const Expr y = ops::MatMul(s.last(s.node.in[0]), columns);
  const Expr bias = optional(s, 2);
  return bias ? ops::Add(y, bias) : y;
}

std::vector<Value> make_layout_conv(const LayoutSite& s) {
  const bool f32 = s.from.type(s.node.in[0]).elem == Elem::f32;  // others would be rounded before the bias is added
  if (const Tensor* weight = f32 ? pixel_weight(s.from, s.node) : nullptr) return {product_per_pixel(s, *weight).value};
  const Expr x = s.last(s.node.in[0]), weight = s.second(s.node.in[1]);
  return {ops::ConvChannelsLast({x, weight, optional(s, 2)}, s.attrs<ops::ConvAttrs>()).value};
}

std::optional<LayoutChange> match_conv_integer(const LayoutQuery& q) {
  if (!is_image(q.graph, q.node.in[0]) || !has_kernel(q, ops::ConvIntegerChannelsLast)) return std::nullopt;
  LayoutChange change = image_to_image(q.node);
  change.gain = gain_of(q.graph.type(q.node.in[1]));
  return change;
}

std::vector<Value> make_conv_integer(const LayoutSite& s) {
  const Expr x = s.last(s.node.in[0]), weight = s.second(s.node.in[1]);
  return {ops::ConvIntegerChannelsLast({x, weight, optional(s, 2), optional(s, 3)}, s.attrs<ops::ConvAttrs>()).value};
}

// ---- pools ----

template <const auto& Op>
std::optional<LayoutChange> match_pool(const LayoutQuery& q) {
  const bool one_result = q.node.out[0] && (q.node.out.size() == 1 || !q.node.out[1]);
  if (!one_result || !is_image(q.graph, q.node.in[0]) || !has_kernel(q, Op)) return std::nullopt;
  return image_to_image(q.node);
}

template <const auto& Op>
std::vector<Value> make_pool(const LayoutSite& s) {
  std::vector<Value> made(s.node.out.size());
  made[0] = s.to.add(Op, std::array{s.last(s.node.in[0])}, s.node.attrs)[0].value;
  return made;
}

std::optional<LayoutChange> match_global_pool(const LayoutQuery& q) {
  if (!is_image(q.graph, q.node.in[0])) return std::nullopt;
  return image_to_image(q.node);
}

std::vector<Value> make_global_pool(const LayoutSite& s) {
  const Expr x = s.last(s.node.in[0]);
  Ints axes;
  for (std::size_t axis = 1; axis + 1 < s.from.type(s.node.in[0]).rank(); ++axis) {
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  const bool largest = s.node.op == &ops::GlobalMaxPool;
  return {largest ? ops::ReduceMax(x, s.to.ints(axes)).value : ops::ReduceMean(x, s.to.ints(axes)).value};
}

// ---- normalisation ----

std::optional<LayoutChange> match_batch_norm(const LayoutQuery& q) {
  const Node& node = q.node;
  const Elem elem = q.graph.type(node.in[0]).elem;
  const bool served = elem == Elem::f32 || elem == Elem::f16 || elem == Elem::bf16;
  const auto same = [&](Value v) { return q.graph.type(v).is_tensor() && q.graph.type(v).elem == elem; };
  if (!served || node.attributes<ops::BatchNormAttrs>().training_mode != 0 || node.out.size() != 1) return std::nullopt;
  if (!is_image(q.graph, node.in[0]) || !std::ranges::all_of(node.in, same)) return std::nullopt;
  return image_to_image(node);
}

/// Computes the scale and the offset of each channel first, from few values.
std::vector<Value> make_batch_norm(const LayoutSite& s) {
  const Elem elem = s.from.type(s.node.in[0]).elem;
  const auto in = [&](std::size_t i) { return ops::as_elem(s.second(s.node.in[i]), Elem::f32); };
  const Expr epsilon = s.to.scalar(s.attrs<ops::BatchNormAttrs>().epsilon);
  const Expr factor = ops::Div(in(1), ops::Sqrt(ops::Add(in(4), epsilon)));
  const Expr offset = ops::Sub(in(2), ops::Mul(in(3), factor));
  const Expr x = ops::as_elem(s.last(s.node.in[0]), Elem::f32);
  return {ops::as_elem(ops::Add(ops::Mul(x, factor), offset), elem).value};
}

std::optional<LayoutChange> match_squares(const LayoutQuery& q) {
  if (!is_image(q.graph, q.node.in[0])) return std::nullopt;
  return image_to_image(q.node);
}

/// Merges the pixels into one axis, so that the channels are the second axis again.
std::vector<Value> make_squares(const LayoutSite& s) {
  const Expr x = s.last(s.node.in[0]);
  const auto before = static_cast<std::int64_t>(s.from.type(s.node.in[0]).rank()) - 1;
  const Expr y = ops::ChannelSquares({ops::MergeAxes({x}, {.axis = 0, .count = before})}, s.attrs<ops::LrnAttrs>());
  return {ops::Reshape(y, ops::ShapeOf(x)).value};
}

using N = Numerics;
constexpr LayoutRule kWindowLayoutRules[] = {
    {{"last_conv", kOps<ops::Conv>,
      "channels last: Conv with constant weights -> ConvChannelsLast, or MatMul and Add where each pixel is a product",
      N::reassociated},
     match_conv,
     make_layout_conv,
     true},
    {{"last_conv_integer", kOps<ops::ConvInteger>,
      "channels last: ConvInteger with constant weights -> ConvIntegerChannelsLast", N::exact},
     match_conv_integer,
     make_conv_integer,
     true},
    {{"last_max_pool", kOps<ops::MaxPool>, "channels last: MaxPool -> MaxPoolChannelsLast", N::exact},
     match_pool<ops::MaxPoolChannelsLast>,
     make_pool<ops::MaxPoolChannelsLast>},
    {{"last_average_pool", kOps<ops::AveragePool>, "channels last: AveragePool -> AveragePoolChannelsLast",
      N::reassociated},
     match_pool<ops::AveragePoolChannelsLast>,
     make_pool<ops::AveragePoolChannelsLast>},
    {{"last_global_pool", kOps<ops::GlobalAveragePool, ops::GlobalMaxPool>,
      "channels last: a global pool -> ReduceMean or ReduceMax over the spatial axes", N::reassociated},
     match_global_pool,
     make_global_pool},
    {{"last_batch_norm", kOps<ops::BatchNormalization>,
      "channels last: BatchNormalization -> x * a + b per channel, a and b computed in each run", N::reassociated},
     match_batch_norm,
     make_batch_norm},
    {{"last_squares", kOps<ops::ChannelSquares>, "channels last: squares summed over nearby channels", N::exact},
     match_squares,
     make_squares},
};

}  // namespace

std::span<const LayoutRule> window_layout_rules() { return kWindowLayoutRules; }

}  // namespace frazil::pass
