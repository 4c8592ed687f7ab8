#include "ir/op/scalar.h"

#include <bit>
#include <utility>

#include <fmt/format.h>

namespace frazil {
namespace {

/// Calls f for each operand of `ins`, in order.
template <class F>
void for_operands(const ScalarIns& ins, F f) {
  const int n = arity(ins.op);
  if (n > 0) f(ins.a);
  if (n > 1) f(ins.b);
  if (n > 2) f(ins.c);
}

}  // namespace

Sx ScalarRecorder::intern(ScalarIns ins) {
  ScalarIns key = ins;  // constants are distinguished by their bits: 0 and -0 differ, and NaN equals nothing
  key.integer ^= std::bit_cast<std::int64_t>(std::exchange(key.real, 0));
  auto [it, fresh] = known_.try_emplace(key, static_cast<std::uint32_t>(dag_.size()));
  if (fresh) dag_.push_back(ins);
  return {this, it->second};
}

Sx ScalarRecorder::load(std::uint32_t operand, Elem type) {
  return intern({.op = ScalarOp::load, .type = type, .operand = operand});
}

Sx ScalarRecorder::constant(Elem type, double value) {
  if (is_float(type)) return intern({.op = ScalarOp::constant, .type = type, .real = value});
  return constant_int(type, static_cast<std::int64_t>(value));
}

Sx ScalarRecorder::constant_int(Elem type, std::int64_t value) {
  if (is_float(type)) return constant(type, static_cast<double>(value));
  return intern({.op = ScalarOp::constant, .type = type, .integer = value});
}

Sx ScalarRecorder::apply(ScalarOp op, Sx a) {
  return intern({.op = op, .type = returns_bool(op) ? Elem::boolean : a.type(), .a = a.id});
}

Sx ScalarRecorder::apply(ScalarOp op, Sx a, Sx b) {
  return intern({.op = op, .type = returns_bool(op) ? Elem::boolean : a.type(), .a = a.id, .b = b.id});
}

Sx ScalarRecorder::select(Sx condition, Sx a, Sx b) {
  return intern({.op = ScalarOp::select, .type = a.type(), .a = condition.id, .b = a.id, .c = b.id});
}

Sx ScalarRecorder::cast(Sx a, Elem to) {
  return a.type() == to ? a : intern({.op = ScalarOp::cast, .type = to, .a = a.id});
}

ScalarTape ScalarRecorder::finish(Sx result) const {
  constexpr std::uint32_t kUnset = ~0u;
  ScalarTape tape;
  std::vector<std::uint32_t> place(dag_.size(), kUnset);
  std::vector<std::uint32_t> stack{result.id};
  while (!stack.empty()) {
    const std::uint32_t at = stack.back();
    if (place[at] != kUnset) {
      stack.pop_back();
      continue;
    }
    std::vector<std::uint32_t> pending;
    for_operands(dag_[at], [&](std::uint32_t id) {
      if (place[id] == kUnset) pending.push_back(id);
    });
    if (!pending.empty()) {
      stack.insert(stack.end(), pending.rbegin(), pending.rend());
      continue;
    }
    ScalarIns ins = dag_[at];
    const int n = arity(ins.op);
    if (n > 0) ins.a = place[ins.a];
    if (n > 1) ins.b = place[ins.b];
    if (n > 2) ins.c = place[ins.c];
    place[at] = static_cast<std::uint32_t>(tape.code.size());
    tape.code.push_back(ins);
    stack.pop_back();
  }
  return tape;
}

}  // namespace frazil
