#include "pass/rules/channels.h"

#include <cstring>

#include "base/value/float.h"
#include "ops/contraction/contraction.h"

namespace frazil::pass {
namespace {

constexpr std::size_t kSmallWeight = std::size_t{1} << 19;  ///< bytes

Tensor scaled(const Tensor& weight, const Affine& a) {
  Tensor out = Tensor::make_or_throw(Elem::f32, weight.sizes());
  std::memcpy(out.mutable_data(), weight.data(), weight.bytes());
  const auto all = out.as_mutable<float>();
  const std::size_t each = all.size() / a.factor.size();
  for (std::size_t c = 0; c < a.factor.size(); ++c) {
    for (float& w : all.subspan(c * each, each)) w *= a.factor[c];
  }
  return out;
}

}  // namespace

bool is_16_bit(Elem elem) { return elem == Elem::f16 || elem == Elem::bf16; }

std::vector<float> floats(const Tensor& t) {
  std::vector<float> values(static_cast<std::size_t>(t.count()));
  if (is_16_bit(t.elem()))
    to_f32(t.elem(), t.data(), values.data(), values.size());
  else
    std::memcpy(values.data(), t.data(), t.bytes());
  return values;
}

bool is_list(const Tensor* t, std::size_t count) {
  return t && (t->elem() == Elem::f32 || is_16_bit(t->elem())) && t->rank() == 1 && t->contiguous() &&
         t->sizes()[0] == static_cast<std::int64_t>(count);
}

bool absorbs_channels(const Graph& graph, const Node& conv, std::size_t channels) {
  const Constant* weight = graph.constant(conv.in[1]);
  const bool small = weight && weight->tensor.elem() == Elem::f32 && weight->tensor.bytes() <= kSmallWeight &&
                     weight->tensor.contiguous();
  if (!small || weight->tensor.sizes()[0] != static_cast<std::int64_t>(channels)) return false;
  if (conv.in.size() < 3 || !conv.in[2]) return true;
  const Constant* bias = graph.constant(conv.in[2]);
  return bias && bias->tensor.elem() == Elem::f32 && is_list(&bias->tensor, channels);
}

Expr convolution_with(const Graph& graph, const Node& conv, const Affine& a, Builder& to) {
  Tensor bias = Tensor::make_or_throw(Elem::f32, {static_cast<std::int64_t>(a.offset.size())});
  const bool biased = conv.in.size() > 2 && conv.in[2];
  const auto given = biased ? floats(graph.constant(conv.in[2])->tensor) : std::vector<float>(a.offset.size());
  for (std::size_t c = 0; c < a.offset.size(); ++c) {
    bias.as_mutable<float>()[c] = given[c] * a.factor[c] + a.offset[c];
  }
  const Expr weight = to.constant(scaled(graph.constant(conv.in[1])->tensor, a));
  return ops::Conv({Expr{&to, conv.in[0]}, weight, to.constant(std::move(bias))}, conv.attributes<ops::ConvAttrs>());
}

}  // namespace frazil::pass
