#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tensor/datum.h"

namespace frazil::tool {

/// Writes outputs into a folder: NAME.npy, .pb for types that NumPy lacks; of a stream NAME.REQUEST.npy; of a sequence
/// NAME[I].npy. In names, all but letters, digits, '_', '.' and '-' becomes '_'.
class OutputFolder {
 public:
  /// Makes the folder; two outputs with one file name are Code::bad_input.
  static Result<OutputFolder> make(const std::string& path, std::span<const std::string> names);
  /// `request` is the number in a stream.
  Status save(std::span<const Datum> outputs, std::optional<std::uint64_t> request) const;

 private:
  std::string path_;
  std::vector<std::string> names_;
};

std::string file_name_of(std::string_view output);

}  // namespace frazil::tool
