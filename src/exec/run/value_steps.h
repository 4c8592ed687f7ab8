#pragma once

#include <cstdint>
#include <vector>

#include "exec/memory/memory.h"

namespace frazil::exec {

/// Runs the steps that move values without a kernel: between registers and slots, between slots, and into what loops
/// collect.
class ValueSteps {
 public:
  ValueSteps(Values& values, Memory& memory) : values_(values), memory_(memory), plan_(values.plan) {}

  /// Returns Code::internal for a step of control flow.
  Status run(const Step& step);

 private:
  Status run_bind(const Step& step, const step::Bind& bind);
  Status run_pick(const Step& step, const step::Pick& pick);
  Status run_check(const Step& step, const step::Check& check);
  Status run_append(const Step& step, const step::Append& append);
  Status run_stack(const Step& step, const step::Stack& stack);
  Status run_move(const Step& step, const step::Move& move);
  Status run_slice(const Step& step, const step::Slice& slice);
  Status run_store(const step::Store& store);
  void run_assign(const step::Assign& assign);
  Status run_reset(const step::Reset& reset);
  Status append_object(const Step& step, const step::Append& append);

  Values& values_;
  Memory& memory_;
  const Plan& plan_;
  std::vector<std::int64_t> moving_;  // values of an Assign
};

}  // namespace frazil::exec
