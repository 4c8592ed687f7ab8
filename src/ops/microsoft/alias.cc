#include "ops/microsoft/alias.h"

#include "ops/core/compose.h"

namespace frazil::ops::microsoft {
namespace {

/// Returns input i, which has one element, as a scalar.
Expr scalar_input(CompositeCx& cx, std::size_t i) {
  const std::vector<std::int64_t> none;
  return cx.rank(i) == 0 ? cx.in(i) : Reshape({cx.in(i), cx.ints(none)});
}

}  // namespace

void gather_nd_body(CompositeCx& cx) { cx.out(0, ops::GatherND({cx.in(0), as_elem(cx.in(1), Elem::i64)})); }

void pad_body(CompositeCx& cx) {
  const Expr pads = cx.rank(1) == 1 ? cx.in(1) : Reshape({cx.in(1), cx.ints({-1})});
  const Expr value = cx.has(2) ? scalar_input(cx, 2) : cx.builder().absent();
  cx.out(0, ops::Pad({cx.in(0), pads, value}, cx.attrs<PadAttrs>()));
}

void range_body(CompositeCx& cx) {
  const Expr delta = cx.has(2) ? scalar_input(cx, 2) : cx.number(cx.elem(0), 1);
  cx.out(0, ops::Range(scalar_input(cx, 0), scalar_input(cx, 1), delta));
}

void unique_body(CompositeCx& cx) {
  if (!has_rank(cx, 0, 1)) return;
  UniqueAttrs as_they_come;
  as_they_come.sorted = 0;
  const auto y = ops::Unique.call({cx.in(0)}, as_they_come, 4);
  cx.out(0, y[0]);
  if (cx.output_count() > 1) cx.out(1, y[2]);
  if (cx.output_count() > 2) cx.out(2, y[3]);
}

}  // namespace frazil::ops::microsoft
