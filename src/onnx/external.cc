#include "onnx/external.h"

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

#include "tensor/onnx_fields.h"

namespace frazil::onnx {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// The parts of a relative path without "." and empty ones; nullopt when it is not fit to name a file in a folder.
std::optional<std::vector<std::string>> path_parts(std::string_view location) {
  std::vector<std::string> parts;
  if (location.starts_with('/') || location.find('\0') != std::string_view::npos) return std::nullopt;
  while (!location.empty()) {
    const std::size_t slash = location.find('/');
    const std::string_view part = location.substr(0, slash);
    location = slash == std::string_view::npos ? std::string_view() : location.substr(slash + 1);
    if (part == "..") return std::nullopt;
    if (!part.empty() && part != ".") parts.emplace_back(part);
  }
  if (parts.empty()) return std::nullopt;
  return parts;
}

/// Opens without following any symbolic link.
Descriptor open_plain(int folder, const std::vector<std::string>& parts) {
  Descriptor at;
  for (const std::string& part : parts) {
    at = Descriptor(::openat(at ? at.get() : folder, part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!at) return at;
  }
  return at;
}

/// Opens, following symbolic links that stay below the folder where the system can tell.
Descriptor open_beneath(int folder, const std::vector<std::string>& parts) {
#if defined(SYS_openat2) && defined(RESOLVE_BENEATH)
  std::string path;
  for (const std::string& part : parts) path += (path.empty() ? "" : "/") + part;
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return Descriptor(static_cast<int>(fd));
#endif
  return open_plain(folder, parts);
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> ExternalFiles::map(const std::string& location) {
  const std::string name = proto::shown(location);
  if (folder_.empty()) {
    return fail(Code::bad_input, "external data '{}': the model came as bytes without a folder to look in", name);
  }
  const auto parts = path_parts(location);
  if (!parts) {
    return fail(Code::bad_model, "external data '{}': not a relative path inside the model's folder", name);
  }
  const Descriptor folder(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Descriptor file = folder ? open_beneath(folder.get(), *parts) : Descriptor();
  if (!file && (errno == EXDEV || errno == ELOOP)) {
    return fail(Code::bad_model, "external data '{}': it leads out of the model's folder", name);
  }
  if (!file) {
    return fail(Code::bad_input, "external data '{}': cannot open it in '{}': {}", name, folder_,
                std::generic_category().message(errno));
  }
  auto mapped = MappedFile::open(fmt::format("/proc/self/fd/{}", file.get()));
  if (!mapped) return within(fmt::format("external data '{}': ", name), std::move(mapped).error());
  return mapped;
}

Result<ExternalBytes> ExternalFiles::load(const ExternalRef& ref) {
  auto known = files_.find(ref.location);
  if (known == files_.end()) {
    FRAZIL_TRY(auto file, map(ref.location));
    known = files_.emplace(ref.location, std::move(file)).first;
  }
  const auto bytes = known->second->bytes();
  if (ref.offset > bytes.size() || ref.length > bytes.size() - ref.offset) {
    return fail(Code::bad_model, "external data '{}': {} bytes at offset {} are asked for, but it has {}",
                proto::shown(ref.location), ref.length, ref.offset, bytes.size());
  }
  return ExternalBytes{bytes.subspan(ref.offset, ref.length), known->second};
}

}  // namespace frazil::onnx
