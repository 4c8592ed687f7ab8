#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/io.h"
#include "tensor/onnx_proto.h"

namespace frazil::onnx {

/// External data of one model: files inside the model's folder only. A location that is absolute, contains "..", or
/// leaves the folder through a symbolic link is refused. Each file is mapped once.
class ExternalFiles {
 public:
  /// An empty `folder`: the model came without one, and every load is an error.
  explicit ExternalFiles(std::string folder) : folder_(std::move(folder)) {}
  /// The bytes asked for. Code::bad_model for a bad location or range, Code::bad_input for a file that cannot be read.
  Result<ExternalBytes> load(const ExternalRef& ref);

 private:
  Result<std::shared_ptr<const MappedFile>> map(const std::string& location);
  std::string folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> files_;
};

}  // namespace frazil::onnx
