#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/value/error.h"
#include "onnx/read/wire.h"

namespace frazil::onnx {

struct UsedOperator {
  std::string name, domain;
  std::int64_t opset = 0;  ///< 0: the model imports none for this domain
  std::size_t nodes = 0;
  bool known = false;  ///< an import knows the operator in this opset
};

/// Returns the operators that nodes of the model call, in all graphs and functions, sorted by domain, name and opset.
/// Calls of the model's functions are not counted. Reads nothing but names and opsets. Never throws.
Result<std::vector<UsedOperator>> used_operators(Bytes model);

/// Returns the locations of external data that tensors of the model name, in all graphs and attributes, as written:
/// they are not validated. Sorted, without duplicates. Never throws.
Result<std::vector<std::string>> external_locations(Bytes model);

}  // namespace frazil::onnx
