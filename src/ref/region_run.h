#pragma once

#include "ref/machine.h"
#include "ref/moves.h"

// A Machine's state for running regions; private to machine.cc and flow.cc.
namespace frazil::ref {

/// A region's flow with the jump target of each branch, `otherwise`, `leave_*` and `again`.
struct Machine::Program {
  Flow flow;
  std::vector<std::size_t> target;
  bool loops = false;
};

/// A running region node.
struct Machine::RegionRun {
  NodeId node;
  const Program* program;
  std::size_t pc = 0;
  std::int64_t iteration = 0;
  std::vector<std::int64_t> counters;
  std::vector<Datum> variables, slices, outputs;
  std::vector<Gathered> accumulators;
};

/// A block and its next node, or a region.
struct Machine::Frame {
  BlockId block;
  std::size_t next;
  std::unique_ptr<RegionRun> region;
};

}  // namespace frazil::ref
