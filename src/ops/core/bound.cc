#include "ops/core/bound.h"

#include "ops/core/compose.h"
#include "ops/core/rules.h"
#include "ops/view/view.h"

namespace frazil::ops {
namespace {

/// Requires d to be a valid count. A larger number would be clamped where it is read as an extent.
Status require_extent(InferCx& cx, Dim d, std::string_view what) {
  constexpr std::int64_t kMaxExtent = Dim::kMax - 1;
  Scope& s = cx.scope();
  if (s.less_equal(d, kMaxExtent) == Proof::yes) return {};
  FRAZIL_CHECK(cx.require_equal(d, s.min(d, kMaxExtent), fmt::format("{} exceeds the limit of {}", what, kMaxExtent)));
  return {};
}

}  // namespace

Status at_least_maps(InferCx& cx, std::vector<ViewMap>& maps) {
  const auto& a = cx.attrs<AtLeastAttrs>();
  FRAZIL_TRY(const std::vector<Dim> numbers, cx.ints(0));
  for (Dim number : numbers) {
    FRAZIL_CHECK(require_at_least(cx, number, a.low, a.name));
    FRAZIL_CHECK(require_extent(cx, number, a.name));
  }
  maps.push_back(straight_view(cx.shape(0)));
  return {};
}

Expr count_input(CompositeCx& cx, std::size_t i, std::string name, std::int64_t low) {
  const Expr scalar = Reshape({as_elem(cx.in(i), Elem::i64), cx.ints({})});
  return AtLeast({scalar}, {.low = low, .name = std::move(name)});
}

}  // namespace frazil::ops
