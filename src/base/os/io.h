#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/value/error.h"

namespace frazil {

class Descriptor;

/// A regular file mapped read-only. Users of its bytes must hold the shared_ptr. The file must not be written or
/// truncated while it is mapped, unless a copy is mapped. Replacing it by rename is safe.
class MappedFile {
 public:
  /// Maps a file. If `copies` names a folder, makes a copy there and maps the copy, which has no name and is freed with
  /// the object. Returns Code::bad_input, naming the file, if it is missing, unreadable, not a regular file, or changed
  /// during the copy. Returns Code::bad_input, naming the folder, if the folder cannot hold the copy.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path, const std::string& copies = {});
  /// Same as open(), for a file that is already open. `path` is used in messages.
  static Result<std::shared_ptr<const MappedFile>> map(const Descriptor& file, const std::string& path,
                                                       const std::string& copies = {});

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

/// Prefaults the pages that hold `bytes` if they belong to a MappedFile. This is cheaper than many separate page
/// faults. No effect on other memory. Thread-safe.
void fetch_pages(std::span<const std::byte> bytes);
/// Requests huge pages for memory that is about to be written: one page fault per 2 MiB instead of per 4 KiB.
void prefer_huge_pages(std::span<std::byte> memory);
/// Frees the physical pages inside `bytes` if they belong to a MappedFile. Later accesses read them from the file
/// again. No effect on other memory. Thread-safe.
void release_pages(std::span<const std::byte> bytes);

/// Returns free heap memory to the system. Thread-safe.
void release_free_memory();

/// Reads the whole file or stream. Returns Code::limit if it has more than `max_bytes`, which also bounds the memory
/// used.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes);

/// Replaces the file atomically: readers see the old or the new content. Follows symbolic links. Writes a device or a
/// pipe in place.
using Pieces = std::span<const std::span<const std::byte>>;
Status write_file(const std::string& path, Pieces pieces);
inline Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  return write_file(path, Pieces(&bytes, 1));
}
inline Status write_file(const std::string& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace frazil
