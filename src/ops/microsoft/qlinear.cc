#include "ops/microsoft/qlinear.h"

#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "ops/nn/norm.h"
#include "ops/nn/quant.h"
#include "ops/view/view.h"
#include "tensor/onnx_proto.h"

namespace frazil::ops::microsoft {
namespace {

/// Returns the scale or zero point of a whole tensor: one element, with or without an axis.
Expr of_tensor(CompositeCx& cx, std::size_t i, std::string name) {
  if (!cx.has(i)) return cx.builder().absent();
  const Expr x = cx.in(i);
  return x.type().rank() == 0 ? x : fit(x, std::move(name), {int1(cx, 1)});
}

/// Dequantises input i with the scale and zero point in the next two inputs.
Expr real_input(CompositeCx& cx, std::size_t i) {
  return ops::DequantizeLinear({cx.in(i), of_tensor(cx, i + 1, "scale"), of_tensor(cx, i + 2, "zero_point")});
}

/// Quantises x with the scale in input i and the zero point in the next one.
Expr quantised(CompositeCx& cx, Expr x, std::size_t i, Elem to) {
  QuantizeAttrs a;
  a.output_dtype = to;
  return ops::QuantizeLinear({x, of_tensor(cx, i, "scale"), of_tensor(cx, i + 1, "zero_point")}, a);
}

void unary_out(CompositeCx& cx, Expr y) { cx.out(0, quantised(cx, y, 3, cx.elem(0))); }

}  // namespace

void qlinear_add_body(CompositeCx& cx) {
  cx.out(0, quantised(cx, Add(real_input(cx, 0), real_input(cx, 3)), 6, cx.elem(0)));
}

void qlinear_mul_body(CompositeCx& cx) {
  cx.out(0, quantised(cx, Mul(real_input(cx, 0), real_input(cx, 3)), 6, cx.elem(0)));
}

void qlinear_sigmoid_body(CompositeCx& cx) { unary_out(cx, Sigmoid(real_input(cx, 0))); }

void qlinear_leaky_relu_body(CompositeCx& cx) {
  unary_out(cx, LeakyRelu({real_input(cx, 0)}, {.alpha = cx.attrs<QLeakyReluAttrs>().alpha}));
}

void qlinear_softmax_body(CompositeCx& cx) {
  const auto& a = cx.attrs<QSoftmaxAttrs>();
  const Expr x = real_input(cx, 0);
  if (a.opset.value_or(0) >= 13) return unary_out(cx, Softmax({x}, {.axis = a.axis}));
  const Expr rows_of = Flatten({x}, {.axis = a.axis});
  unary_out(cx, Reshape({Softmax({rows_of}, {.axis = 1}), ShapeOf({x})}, {.allowzero = 1}));
}

void qlinear_concat_body(CompositeCx& cx) {
  const Elem elem = cx.elem(1);
  if (cx.input_count() < 5 || (cx.input_count() - 2) % 3 != 0) {
    return cx.error("the inputs after Y_zero_point must be triples, got {}", cx.input_count() - 2);
  }
  std::vector<Expr> parts;
  for (std::size_t i = 2; i < cx.input_count(); i += 3) {
    if (!cx.has(i) || !cx.has(i + 1) || !cx.has(i + 2)) return cx.error("input {} or one after it is missing", i);
    if (cx.elem(i) != elem || cx.elem(i + 1) != Elem::f32 || cx.elem(i + 2) != elem) {
      return cx.error("inputs {} to {} must be {}, f32 and {}", i, i + 2, name_of(elem), name_of(elem));
    }
    parts.push_back(quantised(cx, real_input(cx, i), 0, elem));
  }
  cx.out(0, Concat(std::span<const Expr>(parts), {.axis = cx.attrs<QConcatAttrs>().axis}));
}

void qlinear_average_pool_body(CompositeCx& cx) {
  const auto& a = cx.attrs<QAveragePoolAttrs>();
  const bool last = a.channels_last != 0;
  const Expr x = real_input(cx, 0);
  const Expr y = AveragePool({last ? channels_to(x, true) : x}, static_cast<const AveragePoolAttrs&>(a));
  unary_out(cx, last ? channels_to(y, false) : y);
}

void qlinear_global_pool_body(CompositeCx& cx) {
  const bool last = cx.attrs<ChannelsLastAttrs>().channels_last != 0;
  const Expr x = real_input(cx, 0);
  const Expr y = GlobalAveragePool(last ? channels_to(x, true) : x);
  unary_out(cx, last ? channels_to(y, false) : y);
}

void qlinear_reduce_mean_body(CompositeCx& cx) {
  const auto& a = cx.attrs<QReduceMeanAttrs>();
  unary_out(cx, ReduceMean({real_input(cx, 0), cx.ints(a.axes)}, {.keepdims = a.keepdims.value_or(1)}));
}

void qlinear_where_body(CompositeCx& cx) {
  const Expr z = Where(cx.in(0), real_input(cx, 1), real_input(cx, 4));
  cx.out(0, quantised(cx, z, 7, cx.elem(1)));
}

void qlinear_conv_body(CompositeCx& cx) {
  const auto& a = cx.attrs<QConvAttrs>();
  const bool last = a.channels_last != 0;
  std::vector<Expr> in{last ? channels_to(cx.in(0), true) : cx.in(0)};
  for (std::size_t i = 1; i < cx.input_count(); ++i) in.push_back(cx.has(i) ? cx.in(i) : cx.builder().absent());
  const Expr y = ops::QLinearConv(in, static_cast<const ConvAttrs&>(a));
  cx.out(0, last ? channels_to(y, false) : y);
}

void nhwc_max_pool_body(CompositeCx& cx) {
  MaxPoolAttrs pool;
  static_cast<PoolAttrs&>(pool) = cx.attrs<NhwcPoolAttrs>();
  cx.out(0, channels_to(MaxPool({channels_to(cx.in(0), true)}, pool), false));
}

}  // namespace frazil::ops::microsoft
