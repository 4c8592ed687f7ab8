#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <frazil/array.h>

#include "tool/spec.h"

namespace frazil::tool {

/// Reads requests from JSON lines, one at a time. Each line is an object that maps input names to SPECs. Empty lines
/// are skipped. Relative paths are resolved against the stream's folder; for stdin against the working directory.
class Stream {
 public:
  /// `path` "-" is stdin. `source` must outlive the stream.
  static Stream open(const ValueSource& source, const std::string& path);

  using Inputs = std::vector<std::pair<std::size_t, Array>>;
  /// Returns the inputs set by the next line; nullopt at the end. Faults name the line.
  std::optional<Inputs> next();

 private:
  Inputs parse(const std::string& line);

  const ValueSource* source_ = nullptr;
  std::string name_, folder_;
  std::shared_ptr<std::istream> in_;
  std::uint64_t line_ = 0, request_ = 0;
};

}  // namespace frazil::tool
