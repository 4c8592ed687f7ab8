#include "ops/microsoft/microsoft.h"

#include "base/thread/poll_throttle.h"
#include "ops/core/compose.h"
#include "ops/elementwise/math.h"
#include "ops/index/index.h"
#include "ops/view/view.h"

namespace frazil::ops {

Status in_range_types(InferCx& cx) {
  for (const std::size_t i : {1, 2}) {
    FRAZIL_CHECK(cx.require_equal(product(cx.scope(), cx.shape(i)), 1, "a bound has one element"));
  }
  cx.out(0, Type::tensor(Elem::i64, cx.shape(0)));
  return {};
}

Status in_range_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const std::int64_t low = call.in(1).integer(0), limit = call.in(2).integer(0);
  FRAZIL_TRY(std::byte* const out, call.out(0, x.sizes));
  auto* const y = reinterpret_cast<std::int64_t*>(out);
  PollThrottle throttle;
  for (std::int64_t i = 0; i < x.count() && !throttle.stop(1); ++i) {
    y[i] = x.integer(i);
    if (y[i] < low || y[i] >= limit) {
      return fail(Code::bad_input, "{} {} is outside [{}, {})", call.attrs<InRangeAttrs>().name, y[i], low, limit);
    }
  }
  return {};
}

namespace microsoft {

Expr in_range(Expr numbers, std::string name, Expr low, Expr limit) {
  return InRange({numbers, low, limit}, {.name = std::move(name)});
}

Expr rows(CompositeCx& cx, Expr table, Expr indices, std::string name) {
  return Gather({table, in_range(indices, std::move(name), int1(cx, 0), extent(table, 0))}, {.axis = 0});
}

Expr widened(Expr x) { return as_elem(x, compute_elem(x.type().elem)); }

Expr channels_to(Expr x, bool front) {
  Ints perm;
  for (std::size_t i = 0; i < x.type().rank(); ++i) perm.push_back(static_cast<std::int64_t>(i));
  if (perm.size() < 3) return x;
  if (front) std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
  if (!front) std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return Transpose({x}, {.perm = std::move(perm)});
}

bool has_rank(CompositeCx& cx, std::size_t i, std::size_t rank) {
  if (cx.rank(i) == rank) return true;
  cx.error("input {} must have {} axes, got {}", i, rank, cx.rank(i));
  return false;
}

bool left_out(CompositeCx& cx, std::string_view attribute, bool at_default) {
  if (!at_default) cx.unsupported("attribute {} is not supported; leave it out", attribute);
  return at_default;
}

bool input_left_out(CompositeCx& cx, std::size_t i, std::string_view name) {
  if (cx.has(i)) cx.unsupported("input {} is not supported; leave it out", name);
  return !cx.has(i);
}

}  // namespace microsoft
}  // namespace frazil::ops
