#include "ops/microsoft/group_norm.h"

#include "ops/core/compose.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "ops/nn/norm.h"
#include "ops/view/view.h"

namespace frazil::ops::microsoft {
namespace {

bool is_group_norm(CompositeCx& cx) {
  const std::int64_t activation = cx.attrs<FusedGroupNormAttrs>().activation.value_or(0);
  if (activation != 0 && activation != 1) cx.error("activation must be 0 or 1, got {}", activation);
  if (cx.rank(0) < 3) cx.error("input 'X' needs at least 3 axes, got {}", cx.rank(0));
  return static_cast<bool>(cx.status());
}

/// Returns the activation of the normalised groups of x, which has the layout of X and compute type.
Expr activated_groups(CompositeCx& cx, Expr x) {
  const auto& a = cx.attrs<FusedGroupNormAttrs>();
  const bool last = a.channels_last != 0;
  const Expr image = last ? channels_to(x, true) : x;
  const auto parameter = [&](std::size_t i, const char* name) {
    return as_elem(fit(cx.in(i), name, {extent(image, 1)}), x.type().elem);
  };
  ops::GroupNormAttrs norm;
  norm.epsilon = a.epsilon;
  norm.num_groups = a.groups.value_or(0);
  Expr y = GroupNormalization({image, parameter(1, "gamma"), parameter(2, "beta")}, norm);
  if (a.activation == 1) y = Mul(y, Sigmoid(y));
  return last ? channels_to(y, false) : y;
}

/// Returns input i, which has one number for each channel or for each item and channel, with the axes of X.
Expr along_channels(CompositeCx& cx, std::size_t i) {
  const Expr x = cx.in(i);
  const std::size_t spatial = cx.rank(0) - 2;
  if (cx.attrs<FusedGroupNormAttrs>().channels_last == 0) return append_unit_axes(cx, x, spatial);
  if (cx.rank(i) == 1) return x;
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 1; axis <= spatial; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  return Unsqueeze({x, cx.ints(axes)});
}

}  // namespace

void fused_group_norm_body(CompositeCx& cx) {
  if (is_group_norm(cx)) cx.out(0, as_elem(activated_groups(cx, widened(cx.in(0))), cx.elem(0)));
}

void skip_group_norm_body(CompositeCx& cx) {
  if (!is_group_norm(cx)) return;
  const Expr x = cx.in(0), skip = cx.rank(3) == 2 ? along_channels(cx, 3) : cx.in(3);
  Expr sum = Add(widened(x), widened(fit_broadcast(skip, "skip", x)));
  if (cx.has(4)) {
    if (!has_rank(cx, 4, 1)) return;
    sum = Add(sum, widened(fit_broadcast(along_channels(cx, 4), "bias", x)));
  }
  cx.out(0, as_elem(activated_groups(cx, sum), cx.elem(0)));
  if (cx.output_count() > 1) cx.out(1, as_elem(sum, cx.elem(0)));
}

}  // namespace frazil::ops::microsoft
