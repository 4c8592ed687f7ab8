#pragma once

#include <expected>
#include <vector>

#include "base/pass_set.h"
#include "choices.h"
#include "finding.h"
#include "ir/graph.h"
#include "kernel/isa.h"
#include "tensor/datum.h"

namespace frazil::fuzz {

/// A graph with the inputs of several runs.
struct Case {
  Graph graph;
  std::vector<std::vector<Datum>> runs;
  kernel::Isa isa = kernel::Isa::base;
  PassSet passes;  ///< that tier 0 takes the graph through
};

/// Builds a graph of the operators that OpRegistry knows, whatever they are: ports, attributes and forms say how. What
/// the builder refuses is left out.
std::expected<Case, Finding> random_case(Choices& choices);

/// What was being built or run when the process dies.
struct Journal {
  const Graph* graph = nullptr;
  const OpDef* op = nullptr;
  std::vector<Value> inputs;
  Attrs attrs;
  std::string_view stage;
};
Journal& journal();

}  // namespace frazil::fuzz
