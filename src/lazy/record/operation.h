#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "ir/graph/graph.h"
#include "ir/op/op.h"

namespace frazil::lazy {

class Function;

/// What a node does: an operator with its attributes, or a recorded function.
struct Operation {
  std::uint32_t id = 0;       ///< of no other operation
  const OpDef* op = nullptr;  ///< null: a function
  Attrs attrs;                ///< of the operator
  std::uint32_t outputs = 1;
  Function* function = nullptr;  ///< owns this operation
};

/// The operation of an operator. Equal arguments give one object, which stays valid. Code::limit when the program uses
/// too many different ones. Thread-safe.
Result<const Operation*> operation(const OpDef& op, Attrs attrs, std::size_t outputs);

/// A number for the operation of a new function.
std::uint32_t next_operation_id();

}  // namespace frazil::lazy
