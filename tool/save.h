#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/array.h>
#include <frazil/model.h>

#include "tool/error.h"

namespace frazil::tool {

using api::Array;
using api::Port;

/// Writes outputs to a folder as NAME.npy, NAME.REQUEST.npy with a stream, and NAME[I].npy for sequences. Types that
/// NumPy lacks are written as .pb. Characters of names other than letters, digits, '_', '.' and '-' become '_'.
class OutputFolder {
 public:
  /// Creates the folder. Throws Code::bad_input if two of the ports would have the same file name.
  static OutputFolder make(const std::string& path, std::span<const Port> ports);
  /// `request` is the number of the request in a stream.
  void save(std::span<const Array> outputs, std::optional<std::uint64_t> request) const;

 private:
  std::string path_;
  std::vector<std::string> names_;
};

std::string file_name_of(std::string_view output);

}  // namespace frazil::tool
