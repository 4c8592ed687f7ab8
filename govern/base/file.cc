#include "govern/base/file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "govern/base/error.h"

namespace frazil::govern {
namespace {

[[noreturn]] void fail_on(const std::string& path) {
  fail(Code::bad_input, "file '{}': {}", path, std::generic_category().message(errno));
}

void write_all(const File& file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_on(path);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

File open_file(const std::string& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for its writer.
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) fail_on(path);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) fail_on(path);
  if (!S_ISREG(status.st_mode)) fail(Code::bad_input, "file '{}': expected a regular file", path);
  return file;
}

std::string read_all(const File& file, const std::string& path, std::uint64_t limit) {
  std::string bytes;
  for (char part[1 << 16];;) {
    const ssize_t count = ::read(file.get(), part, sizeof part);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_on(path);
    if (count == 0) return bytes;
    bytes.append(part, static_cast<std::size_t>(count));
    if (bytes.size() > limit) fail(Code::limit, "file '{}': expected at most {} bytes", path, limit);
  }
}

std::string read_file(const std::string& path, std::uint64_t limit) { return read_all(open_file(path), path, limit); }

void write_file(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".new";
  File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) fail_on(temporary);
  write_all(file, bytes, temporary);
  if (::fsync(file.get()) != 0) fail_on(temporary);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) fail_on(path);
  const auto folder = std::filesystem::path(path).parent_path();
  sync_folder(folder.empty() ? "." : folder.string());
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail(Code::bad_input, "folder '{}': {}", path, error.message());
}

void sync_folder(const std::string& path) {
  const File folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0) fail_on(path);
}

}  // namespace frazil::govern
