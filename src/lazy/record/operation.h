#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "ir/graph/graph.h"
#include "ir/op/op.h"

namespace frazil::lazy {

class Function;

/// The action of a node: an operator with its attributes, or a recorded function.
struct Operation {
  std::uint32_t id = 0;       ///< unique
  const OpDef* op = nullptr;  ///< null: a function
  Attrs attrs;                ///< of the operator
  std::uint32_t outputs = 1;
  Function* function = nullptr;  ///< owner of this operation, if it is a function
};

/// Returns the operation of an operator. Equal arguments give the same object, which stays valid. Returns Code::limit
/// if the program uses too many different ones. Thread-safe.
Result<const Operation*> operation(const OpDef& op, Attrs attrs, std::size_t outputs);

/// Returns an id for the operation of a new function.
std::uint32_t next_operation_id();

}  // namespace frazil::lazy
