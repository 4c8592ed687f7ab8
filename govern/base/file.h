#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace frazil::govern {

/// Returns the bytes of a regular file. Throws Code::bad_input, with the path and the reason, if it cannot be read or
/// is not a regular file, and Code::limit if it has more than `limit` bytes. Other kinds of files are not opened.
std::string read_file(const std::string& path, std::uint64_t limit);

/// Writes a file such that after a crash its content is the old one or the new one. Throws Code::bad_input.
void write_file(const std::string& path, std::string_view bytes);

/// Creates a folder and the missing folders above it. Throws Code::bad_input.
void make_folder(const std::string& path);

/// Makes renamed and created files of a folder survive a crash.
void sync_folder(const std::string& path);

/// An owned file descriptor. -1: none.
class File {
 public:
  File() = default;
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~File();
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

/// Opens a regular file for reading. Throws as read_file().
File open_file(const std::string& path);
/// Reads to the end from the current position. `path` names the file in errors.
std::string read_all(const File& file, const std::string& path, std::uint64_t limit);

}  // namespace frazil::govern
