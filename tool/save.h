#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/value/error.h"
#include "tensor/datum.h"

namespace frazil::tool {

/// Writes outputs to a folder as NAME.npy, NAME.REQUEST.npy with a stream, and NAME[I].npy for sequences. Types that
/// NumPy lacks are written as .pb. Characters of names other than letters, digits, '_', '.' and '-' become '_'.
class OutputFolder {
 public:
  /// Creates the folder. Returns Code::bad_input if two outputs would have the same file name.
  static Result<OutputFolder> make(const std::string& path, std::span<const std::string> names);
  /// `request` is the number of the request in a stream.
  Status save(std::span<const Datum> outputs, std::optional<std::uint64_t> request) const;

 private:
  std::string path_;
  std::vector<std::string> names_;
};

std::string file_name_of(std::string_view output);

}  // namespace frazil::tool
