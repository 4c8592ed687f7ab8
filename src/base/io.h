#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace frazil {

class Descriptor;

/// A regular file mapped read-only. Whoever keeps bytes of it keeps the shared_ptr. The file must not be truncated
/// while it is mapped; replacing it by rename is safe.
class MappedFile {
 public:
  /// Code::bad_input, naming the file, when it is missing, unreadable or not a regular file.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  /// The same for an open file; `path` is for messages.
  static Result<std::shared_ptr<const MappedFile>> map(const Descriptor& file, const std::string& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  MappedFile(std::string path, std::span<const std::byte> bytes);

  std::string path_;
  std::span<const std::byte> bytes_;
};

/// Maps the pages that hold `bytes` at once where they belong to a MappedFile that is about to be read: cheaper than a
/// fault for each few. Does nothing for other memory. Thread-safe.
void fetch_pages(std::span<const std::byte> bytes);
/// Asks for huge pages behind memory that is about to be filled, which takes a fault for each 2 MiB instead of each 4
/// KiB.
void prefer_huge_pages(std::span<std::byte> memory);
/// Gives back the memory of whole pages inside `bytes` when they belong to a MappedFile: reading them again reads the
/// file. Does nothing for other memory. Thread-safe.
void release_pages(std::span<const std::byte> bytes);

/// Gives free memory of the heap back to the system. Thread-safe.
void release_free_memory();

/// The whole file or stream. Code::limit when it holds more than `max_bytes`, which bounds the memory taken.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes);

/// Replaces the file at once: readers see the old or the new content, never a part. Symbolic links are followed;
/// a device or a pipe is written to in place.
using Pieces = std::span<const std::span<const std::byte>>;
Status write_file(const std::string& path, Pieces pieces);
inline Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  return write_file(path, Pieces(&bytes, 1));
}
inline Status write_file(const std::string& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace frazil
