#include "ops/core/compose.h"

#include "ir/op/axis.h"
#include "ops/control/control.h"
#include "ops/elementwise/logic.h"
#include "ops/view/view.h"
#include "tensor/onnx_proto.h"

namespace frazil::ops {

Expr as_elem(Expr x, Elem elem) { return x.type().elem == elem ? x : Cast({x}, {.to = elem}); }

Expr extent(Expr x, std::int64_t axis) {
  const auto a = static_cast<std::int64_t>(from_front(axis, x.type().rank()));
  return ShapeOf({x}, {.start = a, .end = a + 1});
}

Expr extent_scalar(Expr x, std::int64_t axis) {
  const std::array<std::int64_t, 1> zero{0};
  const Expr e = extent(x, axis);
  return Squeeze({e, x.builder->ints(zero)});
}

Expr iota(CompositeCx& cx, Expr n) { return Range({cx.number(Elem::i64, 0), n, cx.number(Elem::i64, 1)}); }

Expr join_shape(std::initializer_list<Expr> parts) { return Concat(parts, {.axis = 0}); }

Expr int1(CompositeCx& cx, std::int64_t value) { return cx.ints({value}); }

Expr cut(CompositeCx& cx, Expr x, std::int64_t axis, Expr from, Expr to) {
  return Slice({x, from, to, cx.ints({axis})});
}

Expr pick(CompositeCx& cx, Expr x, std::int64_t axis, std::int64_t index) {
  const Expr part = cut(cx, x, axis, int1(cx, index), int1(cx, index + 1));
  return Squeeze({part, cx.ints({axis})});
}

Expr fit(Expr x, std::string name, std::initializer_list<Expr> extents) {
  return Fit({x, join_shape(extents)}, {.name = std::move(name)});
}

Expr fit_broadcast(Expr x, std::string name, Expr to) {
  return Fit({x, ShapeOf({to})}, {.name = std::move(name), .broadcasts = 1});
}

Expr append_unit_axes(CompositeCx& cx, Expr x, std::size_t count) {
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < count; ++i) axes.push_back(static_cast<std::int64_t>(x.type().rank() + i));
  return count == 0 ? x : Unsqueeze({x, cx.ints(axes)});
}

std::vector<Expr> scan(CompositeCx& cx, std::span<const Expr> states, std::span<const Expr> sequences, bool reverse,
                       std::size_t outputs, const ScanBody& body) {
  Builder& outer = cx.builder();
  std::vector<Expr> nothing(states.size() + outputs, outer.absent());
  if (!outer.status() || !cx.status()) return nothing;
  std::vector<Value> inputs;
  for (const Expr& e : states) inputs.push_back(e.value);
  for (const Expr& e : sequences) inputs.push_back(e.value);
  ScanAttrs attrs{.num_scan_inputs = static_cast<std::int64_t>(sequences.size())};
  attrs.scan_input_directions.assign(sequences.size(), reverse);
  attrs.scan_output_directions.assign(outputs, reverse);
  const std::size_t params = inputs.size();
  auto region = outer.open(Scan, std::move(inputs), std::make_shared<const ScanAttrs>(std::move(attrs)), {params}, "");
  if (!region) {
    cx.error("{}", region.error().text());
    return nothing;
  }
  const BlockId block = outer.graph().node(*region).blocks[0];
  Builder inner(outer.graph(), block);
  std::vector<Expr> in;
  for (Value v : outer.graph().block(block).params) in.push_back({&inner, v});
  CompositeCx inner_cx(inner, in, nullptr, 0);
  std::vector<Value> results;
  for (const Expr& e : body(inner_cx, in)) results.push_back(e.value);
  if (!inner.status()) {
    cx.error("{}", inner.status().error().text());
    return nothing;
  }
  outer.yield(*region, 0, std::move(results));
  if (Status s = outer.close(*region, std::vector<bool>(nothing.size(), true)); !s) {
    cx.error("{}", s.error().text());
    return nothing;
  }
  std::vector<Expr> out;
  for (Value v : outer.graph().node(*region).out) out.push_back({&outer, v});
  return out;
}

}  // namespace frazil::ops
