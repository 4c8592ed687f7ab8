#pragma once

#include <expected>
#include <vector>

#include "base/value/pass_set.h"
#include "choices.h"
#include "finding.h"
#include "ir/graph/graph.h"
#include "kernel/simd/isa.h"
#include "tensor/datum.h"

namespace frazil::fuzz {

/// A graph with the inputs of several runs.
struct Case {
  Graph graph;
  std::vector<std::vector<Datum>> runs;
  Isa isa = Isa::base;
  PassSet passes;  ///< passes enabled on tier 0
};

/// Builds a graph of operators in OpRegistry, using only their ports, attributes and forms. Nodes that the builder
/// refuses are omitted.
std::expected<Case, Finding> random_case(Choices& choices);

/// The case being built or run, for reports of crashes.
struct Journal {
  const Graph* graph = nullptr;
  const OpDef* op = nullptr;
  std::vector<Value> inputs;
  Attrs attrs;
  std::string_view stage;
};
Journal& journal();

}  // namespace frazil::fuzz
