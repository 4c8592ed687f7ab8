#include "ops/control/control.h"

#include <algorithm>

#include "ir/op/axis.h"
#include "ops/core/rules.h"

namespace frazil::ops {
namespace {

/// Returns true if d reads no symbol of the node's bodies, so that it is valid outside.
bool lives_outside(RegionCx& cx, Dim d) {
  return std::ranges::none_of(cx.scope().symbols_of(d), [&](SymbolId s) {
    return std::ranges::find(cx.node().blocks, cx.graph().symbol_block(s)) != cx.node().blocks.end();
  });
}

/// Requires `type` to be a tensor of one element.
Status check_single(RegionCx& cx, const Type& type, Elem elem, std::string_view what) {
  if (!type.is_tensor() || type.elem != elem) {
    return cx.error("{} must be {}[], got {}", what, name_of(elem), str(type, cx.scope()));
  }
  if (!type.ranked) {
    return cx.unsupported("{} needs a known number of axes, got {}", what, str(type, cx.scope()));
  }
  const Dim count = product(cx.scope(), type.shape);
  if (cx.scope().equal(count, 1) == Proof::no) {
    return cx.error("{} must have one element, got {}", what, str(type, cx.scope()));
  }
  if (!lives_outside(cx, count)) return {};  // depends on the body: checked when the value is read
  FRAZIL_TRY(const Dim known, cx.require_equal(count, 1, fmt::format("element count of {}", what)));
  (void)known;
  return {};
}

/// Returns the type of a scan output: the body's type with symbols of the body replaced, and with `extent` inserted at
/// `axis`.
Result<Type> gathered_type(RegionCx& cx, std::size_t output, const Type& inner, std::int64_t axis, Dim extent) {
  if (!inner.is_tensor()) return cx.error("scan output {} must be a tensor, got {}", output, str(inner, cx.scope()));
  if (!inner.ranked) return inner;
  FRAZIL_TRY(const int at, cx.axis(axis, inner.rank() + 1, "scan output axis"));
  Type type = Type::tensor(inner.elem, inner.shape);
  for (Dim& d : type.shape) {
    const int place = static_cast<int>(&d - type.shape.data());
    if (!lives_outside(cx, d)) d = cx.flow_extent(output, place < at ? place : place + 1);
  }
  type.shape.insert(type.shape.begin() + at, extent);
  return type;
}

/// Widens `count` params, starting at `param`, by the results that start at `result`.
Status widen_carried(RegionCx& cx, std::size_t param, std::size_t result, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    const Type type = cx.result_type(0, result + k);
    FRAZIL_CHECK(cx.widen(0, param + k, type));
  }
  return {};
}

/// Sets the types of outputs [0, count), the final carried values. Each is an initial value (an input) or a result.
Status give_carried(RegionCx& cx, std::size_t param, std::size_t input, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    FRAZIL_TRY(Type type, cx.join(cx.param_type(0, param + k), cx.type(input + k)));
    cx.out(k, std::move(type));
  }
  return {};
}

}  // namespace

// ---- If ----

Result<std::vector<Type>> if_params(RegionCx&, std::size_t) { return std::vector<Type>{}; }

namespace {

/// Returns the condition as a 0/1 expression over extents, if it is one.
std::optional<Dim> known_condition(const Graph& graph, const Node& node) {
  const std::vector<Dim>* condition = graph.known_value(node.in[0]);
  return condition && condition->size() == 1 ? std::optional((*condition)[0]) : std::nullopt;
}

/// Returns the branch that is taken if the condition is known at build time.
std::optional<std::size_t> known_branch(const Graph& graph, const Node& node) {
  const auto condition = known_condition(graph, node);
  if (!condition || !condition->is_const()) return std::nullopt;
  return condition->value() != 0 ? 0 : 1;
}

bool ranks_differ(const Type& a, const Type& b) {
  return a.is_tensor() && b.is_tensor() && a.ranked && b.ranked && a.rank() != b.rank();
}

/// Assumes one branch if the ranks of the results differ, because only one branch's types can be used. Returns that
/// branch.
std::optional<std::size_t> assumed_branch(RegionCx& cx) {
  const auto condition = known_condition(cx.graph(), cx.node());
  if (!condition) return std::nullopt;
  for (std::size_t i = 0; i < cx.output_count(); ++i) {
    if (!ranks_differ(cx.result_type(0, i), cx.result_type(1, i))) continue;
    const auto side = cx.assume(*condition, cx.first_condition());
    return side ? std::optional<std::size_t>(*side ? 0 : 1) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Status if_types(RegionCx& cx) {
  FRAZIL_CHECK(check_single(cx, cx.type(0), Elem::boolean, "input 'cond'"));
  const std::size_t then_count = cx.block(0).results.size(), else_count = cx.block(1).results.size();
  if (then_count != else_count) {
    return cx.error("then_branch returns {} outputs, else_branch {}", then_count, else_count);
  }
  if (cx.output_count() > then_count) {
    return cx.error("{} outputs requested, its branches return {}", cx.output_count(), then_count);
  }
  auto branch = known_branch(cx.graph(), cx.node());
  if (!branch) branch = assumed_branch(cx);
  for (std::size_t i = 0; i < cx.output_count(); ++i) {
    if (branch) {
      cx.out(i, cx.result_type(*branch, i));
      continue;
    }
    FRAZIL_TRY(Type type, cx.join(cx.result_type(0, i), cx.result_type(1, i)));
    cx.out(i, std::move(type));
  }
  return {};
}

void if_lower(const Node& node, const Graph& graph, Flow& flow) {
  const auto give_all = [&](BlockId block) {
    flow.enter(block, {});
    for (std::uint32_t i = 0; i < node.out.size(); ++i) {
      if (node.out[i]) flow.output(i, {Cell::Kind::result, i, block});
    }
  };
  auto branch = known_branch(graph, node);
  if (const auto side = assumed_branch(graph, node); !branch && side) {
    flow.expect({Cell::Kind::input, 0}, *side);
    branch = *side ? 0 : 1;
  }
  if (branch) {
    give_all(node.blocks[*branch]);
    return;
  }
  flow.branch({Cell::Kind::input, 0});
  give_all(node.blocks[0]);
  flow.otherwise();
  give_all(node.blocks[1]);
  flow.join();
}

// ---- Loop: inputs M, cond, carried...; params iteration, cond, carried...; results cond, carried..., scanned... ----

namespace {

std::size_t carried_inputs(std::size_t inputs) { return inputs > 2 ? inputs - 2 : 0; }

/// Returns true if input i is absent or provably true.
bool surely_true(RegionCx& cx, std::size_t i) {
  if (!cx.has(i)) return true;
  const auto* known = cx.known_value(i);
  return known && known->size() == 1 && (*known)[0] == Dim(1);
}

/// Returns true if the condition never ends the loop.
bool runs_to_the_end(RegionCx& cx) {
  if (!surely_true(cx, 1)) return false;
  const Value condition = cx.block(0).results[0];
  if (condition == cx.block(0).params[1]) return true;
  const auto* known = cx.graph().known_value(condition);
  return known && known->size() == 1 && (*known)[0] == Dim(1);
}

/// Returns the number of iterations, or nullopt if it is known only at run time.
Result<std::optional<Dim>> trip_count(RegionCx& cx) {
  if (!cx.has(0) || !runs_to_the_end(cx)) return std::optional<Dim>{};
  FRAZIL_TRY(const Dim count, cx.int_scalar(0));
  return std::optional(cx.scope().max(count, 0));
}

}  // namespace

Result<std::vector<Type>> loop_params(RegionCx& cx, std::size_t) {
  std::vector<Type> types{Type::tensor(Elem::i64), Type::tensor(Elem::boolean)};
  for (std::size_t i = 2; i < cx.input_count(); ++i) {
    if (!cx.has(i)) return cx.error("carried input {} is missing", i);
    types.push_back(cx.type(i));
  }
  return types;
}

Status loop_types(RegionCx& cx) {
  const std::size_t carried = carried_inputs(cx.input_count()), results = cx.block(0).results.size();
  if (cx.has(0)) FRAZIL_CHECK(check_single(cx, cx.type(0), Elem::i64, "input 'M'"));
  if (cx.has(1)) FRAZIL_CHECK(check_single(cx, cx.type(1), Elem::boolean, "input 'cond'"));
  if (results < carried + 1) return cx.error("its body returns {} outputs, expected at least {}", results, carried + 1);
  if (cx.output_count() + 1 > results) {
    return cx.error("{} outputs requested, its body returns {}", cx.output_count(), results - 1);
  }
  const Type condition = cx.result_type(0, 0);
  FRAZIL_CHECK(check_single(cx, condition, Elem::boolean, "the body's condition"));
  FRAZIL_CHECK(widen_carried(cx, 2, 1, carried));
  if (cx.widens()) return {};
  FRAZIL_CHECK(give_carried(cx, 2, 2, std::min(carried, cx.output_count())));
  FRAZIL_TRY(const std::optional<Dim> count, trip_count(cx));
  for (std::size_t i = carried; i < cx.output_count(); ++i) {
    const Type inner = cx.result_type(0, i + 1);
    FRAZIL_TRY(Type type, gathered_type(cx, i, inner, 0, count ? *count : cx.flow_extent(i, 0)));
    cx.out(i, std::move(type));
  }
  return {};
}

void loop_lower(const Node& node, const Graph& graph, Flow& flow) {
  const BlockId body = node.blocks[0];
  const std::size_t carried = carried_inputs(node.in.size());
  const auto given = [&](std::size_t i) { return i < node.in.size() && node.in[i]; };
  const std::uint32_t iteration = flow.counter(0);
  const std::uint32_t limit = given(0) ? flow.counter_from({Cell::Kind::input, 0}) : 0;
  const Cell condition = flow.variable(), goes_on{Cell::Kind::result, 0, body};
  std::vector<Cell> params{{Cell::Kind::counter, iteration}, condition}, gathers;
  std::vector<std::pair<std::uint32_t, Cell>> first{
      {condition.index, given(1) ? Cell{Cell::Kind::input, 1} : Cell{Cell::Kind::constant_true}}};
  std::vector<std::pair<std::uint32_t, Cell>> next{{condition.index, goes_on}};
  for (std::uint32_t k = 0; k < carried; ++k) {
    const Cell v = flow.variable();
    params.push_back(v);
    first.emplace_back(v.index, Cell{Cell::Kind::input, k + 2});
    next.emplace_back(v.index, Cell{Cell::Kind::result, k + 1, body});
  }
  for (std::size_t i = carried; i < node.out.size(); ++i) gathers.push_back({Cell::Kind::gathered, flow.accumulator()});
  flow.set(std::move(first));
  flow.loop();
  if (given(0)) flow.leave_at(iteration, limit);
  flow.leave_unless(condition);
  flow.enter(body, params);
  for (std::uint32_t i = 0; i < gathers.size(); ++i) {
    const Cell value{Cell::Kind::result, static_cast<std::uint32_t>(carried) + 1 + i, body};
    if (node.out[carried + i]) flow.gather(gathers[i].index, value, 0, false);
  }
  if (!graph.type(graph.block(body).results[0]).has_one_element()) {
    // The element count of the body's condition is known only when the body runs. The loop variable has one element,
    // and the count is checked here.
    flow.branch(goes_on);
    flow.join();
  }
  flow.set(std::move(next));
  flow.step(iteration);
  flow.back_edge();
  for (std::uint32_t i = 0; i < node.out.size(); ++i) {
    if (node.out[i]) flow.output(i, i < carried ? params[i + 2] : gathers[i - carried]);
  }
}

// ---- Scan: inputs states..., scanned...; params states..., slices of scanned...; results states..., scanned... ----

namespace {

/// Returns how many of the inputs are states.
Result<std::size_t> state_count(RegionCx& cx) {
  const std::int64_t scanned = cx.attrs<ScanAttrs>().num_scan_inputs;
  if (scanned < 1 || static_cast<std::size_t>(scanned) > cx.input_count()) {
    return cx.error("num_scan_inputs {} does not fit {} inputs", scanned, cx.input_count());
  }
  return cx.input_count() - static_cast<std::size_t>(scanned);
}

/// Returns the axis along which scanned input k (input states + k) is sliced.
Result<int> scan_axis(RegionCx& cx, std::size_t states, std::size_t k) {
  const std::size_t input = states + k;
  if (!cx.has(input) || !cx.type(input).is_tensor()) return cx.error("scanned input {} must be a tensor", input);
  if (!cx.type(input).ranked) return cx.unsupported("scanned input {} needs a known number of axes", input);
  return cx.axis(listed(cx.attrs<ScanAttrs>().scan_input_axes, k), cx.rank(input), "scan input axis");
}

Status check_lists(RegionCx& cx, std::size_t outputs) {
  const auto& a = cx.attrs<ScanAttrs>();
  const auto inputs = static_cast<std::size_t>(a.num_scan_inputs);
  const auto fits = [](const Ints& list, std::size_t count) { return list.empty() || list.size() == count; };
  if (!fits(a.scan_input_axes, inputs) || !fits(a.scan_input_directions, inputs)) {
    return cx.error("scan_input_axes and scan_input_directions need {} entries", inputs);
  }
  if (!fits(a.scan_output_axes, outputs) || !fits(a.scan_output_directions, outputs)) {
    return cx.error("scan_output_axes and scan_output_directions need {} entries", outputs);
  }
  return {};
}

/// Returns the common extent of the scanned axes.
Result<Dim> scan_extent(RegionCx& cx, std::size_t states) {
  std::optional<Dim> extent;
  for (std::size_t k = 0; states + k < cx.input_count(); ++k) {
    FRAZIL_TRY(const int axis, scan_axis(cx, states, k));
    const Dim d = cx.shape(states + k)[static_cast<std::size_t>(axis)];
    if (!extent) {
      extent = d;
    } else {
      FRAZIL_TRY(extent, cx.require_equal(*extent, d, "extents of the scanned axes"));
    }
  }
  return *extent;
}

}  // namespace

Result<std::vector<Type>> scan_params(RegionCx& cx, std::size_t) {
  FRAZIL_TRY(const std::size_t states, state_count(cx));
  std::vector<Type> types;
  for (std::size_t i = 0; i < states; ++i) {
    if (!cx.has(i)) return cx.error("state {} is missing", i);
    types.push_back(cx.type(i));
  }
  for (std::size_t k = 0; states + k < cx.input_count(); ++k) {
    FRAZIL_TRY(const int axis, scan_axis(cx, states, k));
    Type slice = cx.type(states + k);
    slice.shape.erase(slice.shape.begin() + axis);
    types.push_back(std::move(slice));
  }
  return types;
}

Status scan_types(RegionCx& cx) {
  FRAZIL_TRY(const std::size_t states, state_count(cx));
  const std::size_t results = cx.block(0).results.size();
  if (results < states) return cx.error("its body returns {} outputs, expected at least {}", results, states);
  if (cx.output_count() > results) {
    return cx.error("{} outputs requested, its body returns {}", cx.output_count(), results);
  }
  FRAZIL_CHECK(check_lists(cx, results - states));
  FRAZIL_CHECK(widen_carried(cx, 0, 0, states));
  if (cx.widens()) return {};
  FRAZIL_TRY(const Dim extent, scan_extent(cx, states));
  FRAZIL_CHECK(give_carried(cx, 0, 0, std::min(states, cx.output_count())));
  for (std::size_t i = states; i < cx.output_count(); ++i) {
    const Type inner = cx.result_type(0, i);
    FRAZIL_TRY(Type type,
               gathered_type(cx, i, inner, listed(cx.attrs<ScanAttrs>().scan_output_axes, i - states), extent));
    cx.out(i, std::move(type));
  }
  return {};
}

namespace {

/// Slices the scanned inputs at `at` and binds the slices to the params of the body.
void slice_inputs(const Node& node, std::size_t states, std::uint32_t at, Flow& flow, std::vector<Cell>& params) {
  const auto& a = node.attributes<ScanAttrs>();
  for (std::size_t i = states; i < node.in.size(); ++i) {
    const std::int64_t axis = listed(a.scan_input_axes, i - states);
    const bool reversed = listed(a.scan_input_directions, i - states) != 0;
    params.push_back(flow.slice({Cell::Kind::input, static_cast<std::uint32_t>(i)}, axis, at, reversed));
  }
}

}  // namespace

void scan_lower(const Node& node, const Graph& graph, Flow& flow) {
  const auto& a = node.attributes<ScanAttrs>();
  const BlockId body = node.blocks[0];
  const std::size_t states = node.in.size() - static_cast<std::size_t>(a.num_scan_inputs);
  const Type& scanned = graph.type(node.in[states]);
  const std::size_t axis = from_front(listed(a.scan_input_axes, 0), scanned.rank());
  const std::uint32_t at = flow.counter(0), end = flow.counter_dim(scanned.shape[axis]);
  std::vector<Cell> params;
  std::vector<std::pair<std::uint32_t, Cell>> first, next;
  for (std::uint32_t k = 0; k < states; ++k) {
    params.push_back(flow.variable());
    first.emplace_back(params[k].index, Cell{Cell::Kind::input, k});
    next.emplace_back(params[k].index, Cell{Cell::Kind::result, k, body});
  }
  std::vector<Cell> gathers;
  for (std::size_t i = states; i < node.out.size(); ++i) gathers.push_back({Cell::Kind::gathered, flow.accumulator()});
  flow.set(std::move(first));
  flow.loop();
  flow.leave_at(at, end);
  slice_inputs(node, states, at, flow, params);
  flow.enter(body, params);
  for (std::size_t i = states; i < node.out.size(); ++i) {
    if (!node.out[i]) continue;
    flow.gather(gathers[i - states].index, {Cell::Kind::result, static_cast<std::uint32_t>(i), body},
                listed(a.scan_output_axes, i - states), listed(a.scan_output_directions, i - states) != 0);
  }
  flow.set(std::move(next));
  flow.step(at);
  flow.back_edge();
  for (std::uint32_t i = 0; i < node.out.size(); ++i) {
    if (node.out[i]) flow.output(i, i < states ? params[i] : gathers[i - states]);
  }
}

}  // namespace frazil::ops
