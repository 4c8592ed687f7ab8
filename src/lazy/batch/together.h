#pragma once

#include <span>
#include <vector>

#include "base/value/error.h"
#include "lazy/batch/batch.h"
#include "lazy/record/node.h"

namespace frazil::lazy {

/// The values that one instance waits for, and the outcome.
struct AwaitedValues {
  std::span<const Ref> values;
  Status status = {};
};

/// Computes all of these values. Equal work of several instances is one run, on stacked inputs. Instances that wait for
/// the same piece of work run it as a whole; the rest runs node by node, in order of depth.
void run_together(std::span<AwaitedValues> wanted, BatchCounts& counts);

/// Runs nodes one by one, in order of depth. Equal operations on equal types are one run. Each pending input of a node
/// must be among the nodes.
Status run_nodes(std::span<Node* const> nodes, BatchCounts& counts);

/// Runs the calls whose results go to tables of functions. Calls of the same kind run together.
Status run_remembered(BatchCounts& counts);

}  // namespace frazil::lazy
