#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/model/plan.h"

namespace frazil {

/// The cost of one run of a step, on any device.
struct Cost {
  double flops = 0;         ///< scalar operations of any type; an exponential counts as one
  double read = 0;          ///< bytes of the operands, each counted once and in full
  double written = 0;       ///< bytes of the results
  bool flops_known = true;  ///< false: part of the work has no form from which to count it (Opaque)
};

/// Returns the nodes that a step computes, in order; none for a step that only moves values.
std::vector<NodeId> members_of(const Step& step);

/// The costs of a plan's kernel steps, from the forms of their nodes.
/// An elementwise node counts its body's instructions for each element of the result. A contraction counts its body and
/// fold for each point of its space. A composite counts its body, a view nothing.
class Costs {
 public:
  explicit Costs(const Plan& plan);
  /// Returns the cost of step `pc`. `registers` are those of the session that has just run it.
  Cost of(std::uint32_t pc, std::span<const std::int64_t> registers);

 private:
  /// `each` operations at a number of points, which the instructions [from, to) of the program compute.
  struct Term {
    double each;
    std::size_t from, to;
    std::uint32_t result;
    std::vector<SymbolId> symbols;
  };
  struct StepCost {
    std::vector<Term> terms;
    bool known = true;
  };
  const Plan& plan_;
  std::vector<StepCost> steps_;
  DimProgram program_;
  std::vector<std::int64_t> registers_;
};

}  // namespace frazil
