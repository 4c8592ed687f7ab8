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

/// A regular file mapped read-only. Holders of its bytes keep the shared_ptr. The file must not be written to or
/// truncated while it is mapped, unless a copy is mapped; replacing it by rename is safe.
class MappedFile {
 public:
  /// `copies`: a folder in which a copy of the file is made and mapped instead; the copy has no name and is freed with
  /// the object. Empty: no copy. Returns Code::bad_input, naming the file, when it is missing, unreadable, not a
  /// regular file, or changed while it is copied; and when the folder cannot hold the copy, naming the folder.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path, const std::string& copies = {});
  /// As open(), for a file that is open already; `path` is used in messages.
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

/// Prefaults the pages that hold `bytes` when they belong to a MappedFile: cheaper than many separate page faults. No
/// effect on other memory. Thread-safe.
void fetch_pages(std::span<const std::byte> bytes);
/// Requests huge pages for memory that is about to be written: one page fault per 2 MiB instead of per 4 KiB.
void prefer_huge_pages(std::span<std::byte> memory);
/// Frees the physical pages inside `bytes` when they belong to a MappedFile; they are read from the file again on
/// access. No effect on other memory. Thread-safe.
void release_pages(std::span<const std::byte> bytes);

/// Returns free heap memory to the system. Thread-safe.
void release_free_memory();

/// Reads the whole file or stream. Code::limit when it holds more than `max_bytes`, which also bounds the memory used.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes);

/// Replaces the file atomically: readers see the old or the new content. Symbolic links are followed; a device or a
/// pipe is written in place.
using Pieces = std::span<const std::span<const std::byte>>;
Status write_file(const std::string& path, Pieces pieces);
inline Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  return write_file(path, Pieces(&bytes, 1));
}
inline Status write_file(const std::string& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace frazil
