#pragma once

#include <span>
#include <vector>

#include "base/value/error.h"
#include "lazy/batch/batch.h"
#include "lazy/record/node.h"

namespace frazil::lazy {

/// What one instance waits for, and what came of it.
struct Wanted {
  std::span<const Ref> values;
  Status status = {};
};

/// Makes all of these values there. What is equal in several instances runs once, on stacked inputs: whole pieces of
/// recorded work where instances wait for the same one, and otherwise node by node, in order of depth.
void run_together(std::span<Wanted> wanted, BatchCounts& counts);

/// Runs nodes one by one, in order of depth; equal operations on equal types are one run. Each pending input of a node
/// is among the nodes.
Status run_nodes(std::span<Node* const> nodes, BatchCounts& counts);

/// Runs the calls that go to tables of functions, each kind at once.
Status run_remembered(BatchCounts& counts);

}  // namespace frazil::lazy
