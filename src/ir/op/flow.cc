#include "ir/op/flow.h"

namespace frazil {

std::uint32_t Flow::counter(std::int64_t start) {
  FlowOp& op = push(FlowOp::Kind::count);
  op.index = counters;
  op.number = start;
  return counters++;
}

std::uint32_t Flow::counter_from(Cell scalar) {
  FlowOp& op = push(FlowOp::Kind::count_from);
  op.index = counters;
  op.a = scalar;
  return counters++;
}

std::uint32_t Flow::counter_dim(Dim extent) {
  FlowOp& op = push(FlowOp::Kind::count_dim);
  op.index = counters;
  op.dim = extent;
  return counters++;
}

void Flow::leave_at(std::uint32_t counter, std::uint32_t limit) {
  FlowOp& op = push(FlowOp::Kind::leave_at);
  op.index = counter;
  op.limit = limit;
}

void Flow::enter(BlockId block, std::vector<Cell> params) {
  FlowOp& op = push(FlowOp::Kind::enter);
  op.block = block;
  op.cells = std::move(params);
}

Cell Flow::slice(Cell source, std::int64_t axis, std::uint32_t at, bool reversed) {
  FlowOp& op = push(FlowOp::Kind::slice);
  op.index = slices;
  op.limit = at;
  op.a = source;
  op.axis = axis;
  op.reversed = reversed;
  return {Cell::Kind::slice, slices++};
}

void Flow::gather(std::uint32_t accumulator, Cell value, std::int64_t axis, bool reversed) {
  FlowOp& op = push(FlowOp::Kind::gather);
  op.index = accumulator;
  op.a = value;
  op.axis = axis;
  op.reversed = reversed;
}

void Flow::expect(Cell condition, bool value) {
  FlowOp& op = push(FlowOp::Kind::expect);
  op.a = condition;
  op.number = value ? 1 : 0;
}

void Flow::output(std::uint32_t index, Cell value) {
  FlowOp& op = push(FlowOp::Kind::output);
  op.index = index;
  op.a = value;
}

std::vector<std::size_t> flow_targets(const std::vector<FlowOp>& ops) {
  std::vector<std::size_t> target(ops.size(), 0), open;
  std::vector<std::vector<std::size_t>> leaves;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    switch (ops[i].kind) {
      case FlowOp::Kind::branch: open.push_back(i); break;
      case FlowOp::Kind::otherwise:
        target[open.back()] = i + 1;
        open.back() = i;
        break;
      case FlowOp::Kind::join:
        target[open.back()] = i + 1;
        open.pop_back();
        break;
      case FlowOp::Kind::loop:
        open.push_back(i);
        leaves.emplace_back();
        break;
      case FlowOp::Kind::leave_unless:
      case FlowOp::Kind::leave_at: leaves.back().push_back(i); break;
      case FlowOp::Kind::back_edge:
        target[i] = open.back() + 1;
        for (const std::size_t leave : leaves.back()) target[leave] = i + 1;
        leaves.pop_back();
        open.pop_back();
        break;
      default: break;
    }
  }
  return target;
}

}  // namespace frazil
