#include "ops/contraction/channels_last.h"

#include "ops/contraction/window.h"
#include "ops/view/view.h"

namespace frazil::ops {
namespace {

Expr channels_second(CompositeCx& cx) {
  const auto rank = static_cast<std::int64_t>(cx.rank(0));
  Ints perm{0, rank - 1};
  for (std::int64_t axis = 1; axis < rank - 1; ++axis) perm.push_back(axis);
  return Transpose({cx.in(0)}, {.perm = std::move(perm)});
}

Expr channels_last(CompositeCx& cx, Expr y) {
  Ints perm{0};
  for (std::size_t axis = 2; axis < cx.rank(0); ++axis) perm.push_back(static_cast<std::int64_t>(axis));
  perm.push_back(1);
  return Transpose({y}, {.perm = std::move(perm)});
}

}  // namespace

void conv_channels_last_body(CompositeCx& cx) {
  if (!is_image(cx)) return;
  const Expr bias = cx.has(2) ? cx.in(2) : cx.builder().absent();
  cx.out(0, channels_last(cx, Conv({channels_second(cx), cx.in(1), bias}, cx.attrs<ConvAttrs>())));
}

void conv_integer_channels_last_body(CompositeCx& cx) {
  if (!is_image(cx)) return;
  const auto optional = [&](std::size_t i) { return cx.has(i) ? cx.in(i) : cx.builder().absent(); };
  const Expr y = ConvInteger({channels_second(cx), cx.in(1), optional(2), optional(3)}, cx.attrs<ConvAttrs>());
  cx.out(0, channels_last(cx, y));
}

void max_pool_channels_last_body(CompositeCx& cx) {
  if (is_image(cx)) cx.out(0, channels_last(cx, MaxPool({channels_second(cx)}, cx.attrs<MaxPoolAttrs>())));
}

void average_pool_channels_last_body(CompositeCx& cx) {
  if (is_image(cx)) cx.out(0, channels_last(cx, AveragePool({channels_second(cx)}, cx.attrs<AveragePoolAttrs>())));
}

}  // namespace frazil::ops
