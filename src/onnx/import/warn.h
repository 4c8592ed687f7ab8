#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "onnx/read/wire.h"

namespace frazil::onnx {

/// Adds a warning. Drops it if the list is full.
template <class... A>
void warn(std::vector<std::string>& warnings, fmt::format_string<A...> format, A&&... args) {
  if (warnings.size() < 2 * kMaxWarnings) warnings.push_back(fmt::format(format, std::forward<A>(args)...));
}

}  // namespace frazil::onnx
