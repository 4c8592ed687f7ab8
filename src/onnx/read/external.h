#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/os/descriptor.h"
#include "base/os/file_check.h"
#include "base/os/io.h"
#include "base/value/error.h"
#include "onnx/read/memory_files.h"
#include "tensor/onnx_proto.h"

namespace frazil::onnx {

/// The external data of one model: bytes in memory, or else files. Only regular files inside the model's folder are
/// read. Locations that are absolute, contain "..", or leave the folder through a link are rejected. Each file is
/// opened once; the open file is checked and mapped.
class ExternalFiles {
 public:
  /// The treatment of symbolic links. `inside` follows links that stay inside the folder. `none` follows no links; it
  /// is the only choice without openat2.
  enum class Links : std::uint8_t { inside, none };

  /// An empty `folder` means that the model has no folder; every load is then an error. `copies` is passed to
  /// MappedFile::open(). `memory` is used first; a location without an equal one there is compared by the last path
  /// component. `check` is called once for each file, before its bytes are used.
  explicit ExternalFiles(std::string folder, Links links = Links::inside, std::string copies = {},
                         MemoryFiles memory = {}, FileCheck check = {})
      : folder_path_(std::move(folder)),
        copies_(std::move(copies)),
        links_(links),
        memory_(std::move(memory)),
        check_(std::move(check)) {}
  /// Returns the bytes of `ref`. Fails with Code::bad_model for an invalid location, range or checksum, and with
  /// Code::bad_input for an unreadable file. The checksum of a file is computed once, and only if the model contains
  /// one.
  Result<ExternalBytes> load(const ExternalRef& ref);

 private:
  struct File {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> keep_alive;  ///< null: the bytes live only during the load
    std::string sha1 = {};                   ///< empty if not computed yet
  };
  Result<ExternalBytes> load_from(const ExternalRef& ref);
  Result<Descriptor> open(const std::string& path);
  Result<File> map(const std::string& path);
  /// Returns the file in memory for a location, or null.
  Result<File*> in_memory(std::string_view location);
  Result<File*> in_folder(std::string_view location);
  static Status check_sum(File& file, std::string_view expected);
  Status check(std::string_view path, const File& file) const;

  std::string folder_path_, copies_;
  Links links_;
  MemoryFiles memory_;
  FileCheck check_;
  Descriptor folder_;
  std::map<std::string, File, std::less<>> files_;  ///< by path in the folder
  std::map<std::string_view, File> used_;           ///< of memory_, by location
};

}  // namespace frazil::onnx
