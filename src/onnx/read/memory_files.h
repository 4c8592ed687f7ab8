#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace frazil::onnx {

/// External data in memory.
struct MemoryFiles {
  std::map<std::string, std::span<const std::byte>, std::less<>> by_location;
  std::shared_ptr<const void> keep_alive;  ///< null: tensors are copied
};

}  // namespace frazil::onnx
