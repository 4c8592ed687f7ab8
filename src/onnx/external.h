#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/io.h"
#include "tensor/onnx_proto.h"

namespace frazil::onnx {

/// External data of one model: regular files inside the model's folder only. A location that is absolute, contains
/// "..", or leaves the folder through a link is refused. Each file is opened once, and that open file is checked and
/// mapped.
class ExternalFiles {
 public:
  /// Symbolic links: followed where they stay inside the folder, or never (what is left where the system lacks
  /// openat2).
  enum class Links : std::uint8_t { inside, none };

  /// An empty `folder`: the model came without one, and every load is an error.
  explicit ExternalFiles(std::string folder, Links links = Links::inside)
      : folder_path_(std::move(folder)), links_(links) {}
  /// The bytes asked for. Code::bad_model for a bad location, range or checksum, Code::bad_input for a file that cannot
  /// be read. A file is summed once, and only when a checksum is given.
  Result<ExternalBytes> load(const ExternalRef& ref);

 private:
  struct File {
    std::shared_ptr<const MappedFile> mapped;
    std::string sha1;  ///< empty: not summed yet
  };
  Result<ExternalBytes> load_from(const ExternalRef& ref);
  Result<Descriptor> open(const std::string& path);
  Result<File> map(const std::string& path);
  static Status check_sum(File& file, std::string_view expected);

  std::string folder_path_;
  Links links_;
  Descriptor folder_;
  std::map<std::string, File, std::less<>> files_;  ///< by path in the folder
};

}  // namespace frazil::onnx
