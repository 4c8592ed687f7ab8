#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace frazil::onnx {

/// Numbers that replace the open extents of a file.
struct FixedExtents {
  using ByText = std::map<std::string, std::int64_t, std::less<>>;
  ByText by_name;        ///< by the text of dim_param
  ByText by_denotation;  ///< by the dimension's denotation; precedes `by_name`
};

}  // namespace frazil::onnx
