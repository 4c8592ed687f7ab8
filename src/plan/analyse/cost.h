#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/model/plan.h"

namespace frazil {

/// What one run of a step takes, whoever runs it.
struct Cost {
  double flops = 0;         ///< scalar operations of any type; an exponential is one
  double read = 0;          ///< bytes of the operands, each counted once and whole
  double written = 0;       ///< bytes of the results
  bool flops_known = true;  ///< false: it also does work that no form tells (Opaque)
};

/// The nodes that a step computes, in order. None for a step that only moves values.
std::vector<NodeId> members_of(const Step& step);

/// Costs of a plan's kernel steps, from the forms of their nodes: an elementwise body's instructions for each element
/// of the result, a contraction's body and fold for each point of its space, a composite's body, nothing for views.
class Costs {
 public:
  explicit Costs(const Plan& plan);
  /// Of step `pc`, with the registers of the session that has just run it.
  Cost of(std::uint32_t pc, std::span<const std::int64_t> registers);

 private:
  friend class CostReader;
  /// `each` operations at as many points as a Dim says, which a piece of the program evaluates.
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
