#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ir/graph/handles.h"
#include "sym/dim.h"

namespace frazil {

/// Storage for a value while a region runs.
struct Cell {
  enum class Kind : std::uint8_t {
    none,
    input,          ///< the node's input `index`
    result,         ///< result `index` of block `block`
    variable,       ///< loop variable `index`
    slice,          ///< result of FlowOp::slice, by `index`
    gathered,       ///< accumulator `index`
    counter,        ///< integer register `index`, read as an i64 scalar
    constant_true,  ///< the constant true
  };
  Kind kind = Kind::none;
  std::uint32_t index = 0;
  BlockId block{};
  bool operator==(const Cell&) const = default;
};

/// One step of a region's control flow, which is structured: branch .. [otherwise ..] join, loop .. again.
struct FlowOp {
  enum class Kind : std::uint8_t {
    branch,  ///< continues if `a` (bool, one element) is true, else jumps to `otherwise`
    otherwise,
    join,
    loop,          ///< head of a loop
    leave_unless,  ///< leaves the loop unless `a` is true
    leave_at,      ///< leaves the loop when counter `index` >= counter `limit`
    back_edge,     ///< jumps back to the head
    count,         ///< counter `index` = `number`
    count_from,    ///< counter `index` = the i64 or i32 scalar in `a`
    count_dim,     ///< counter `index` = extent `dim`
    step,          ///< counter `index` += 1
    set,           ///< sets each variable to its cell, all pairs at the same time
    enter,         ///< runs `block` with `cells` bound to its params
    slice,         ///< slice `index` = the part of `a` at position counter `limit` of `axis`, that axis removed
    gather,        ///< appends `a` to accumulator `index` along a new axis `axis`
    output,        ///< node output `index` = `a`
    expect,        ///< guard: `a` must equal `number` (0 or 1), else another specialisation of the graph runs
  };
  Kind kind = Kind::join;
  std::uint32_t index = 0;
  std::uint32_t limit = 0;
  Cell a{};
  BlockId block{};
  std::int64_t axis = 0;  ///< negative: counts from the end
  bool reversed = false;  ///< slice: counts from the end; gather: prepends
  std::int64_t number = 0;
  Dim dim = 0;
  std::vector<Cell> cells;
  std::vector<std::pair<std::uint32_t, Cell>> pairs;
};

/// The control flow of a region node, as plain data. The reference executor interprets it; the planner turns it into
/// jumps. Member functions append steps.
struct Flow {
  std::vector<FlowOp> ops;
  std::uint32_t variables = 0, counters = 0, slices = 0, accumulators = 0;

  Cell variable() { return {Cell::Kind::variable, variables++}; }
  std::uint32_t counter(std::int64_t start);
  std::uint32_t counter_from(Cell scalar);
  std::uint32_t counter_dim(Dim extent);
  std::uint32_t accumulator() { return accumulators++; }

  void branch(Cell condition) { push(FlowOp::Kind::branch).a = condition; }
  void otherwise() { push(FlowOp::Kind::otherwise); }
  void join() { push(FlowOp::Kind::join); }
  void loop() { push(FlowOp::Kind::loop); }
  void leave_unless(Cell condition) { push(FlowOp::Kind::leave_unless).a = condition; }
  void leave_at(std::uint32_t counter, std::uint32_t limit);
  void back_edge() { push(FlowOp::Kind::back_edge); }
  void step(std::uint32_t counter) { push(FlowOp::Kind::step).index = counter; }
  void set(std::vector<std::pair<std::uint32_t, Cell>> pairs) { push(FlowOp::Kind::set).pairs = std::move(pairs); }
  void enter(BlockId block, std::vector<Cell> params);
  Cell slice(Cell source, std::int64_t axis, std::uint32_t at, bool reversed);
  void gather(std::uint32_t accumulator, Cell value, std::int64_t axis, bool reversed);
  void output(std::uint32_t index, Cell value);
  void expect(Cell condition, bool value);

 private:
  FlowOp& push(FlowOp::Kind kind) {
    ops.emplace_back().kind = kind;
    return ops.back();
  }
};

/// Returns for each step the step that it jumps to, if it does not fall through to the next.
std::vector<std::size_t> flow_targets(const std::vector<FlowOp>& ops);

}  // namespace frazil
