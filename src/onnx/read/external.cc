#include "onnx/read/external.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

#include "base/value/sha1.h"
#include "tensor/onnx_fields.h"

namespace frazil::onnx {
namespace {

/// Returns a relative path without "." and empty parts, or nullopt if it is not a valid file path below the folder.
std::optional<std::string> plain_path(std::string_view location) {
  std::string path;
  if (location.starts_with('/') || location.find('\0') != std::string_view::npos) return std::nullopt;
  while (!location.empty()) {
    const std::size_t slash = location.find('/');
    const std::string_view part = location.substr(0, slash);
    location = slash == std::string_view::npos ? std::string_view() : location.substr(slash + 1);
    if (part == "..") return std::nullopt;
    if (part.empty() || part == ".") continue;
    if (!path.empty()) path += '/';
    path += part;
  }
  return path.empty() ? std::nullopt : std::optional(path);
}

std::string_view last_part(std::string_view location) { return location.substr(location.find_last_of('/') + 1); }

/// Flags that open without blocking on pipes and without acquiring a controlling terminal.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/// Opens without following symbolic links.
Descriptor open_without_links(int folder, std::string_view path) {
  Descriptor at;
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    const std::string part(path.substr(0, slash));
    path.remove_prefix(slash + 1);
    at = Descriptor(::openat(at ? at.get() : folder, part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!at) return at;
  }
  return Descriptor(::openat(at ? at.get() : folder, std::string(path).c_str(), kOpenFlags | O_NOFOLLOW));
}

/// Opens a file. Follows symbolic links that stay below the folder if the system supports that.
Descriptor open_beneath(int folder, const std::string& path) {
#if defined(SYS_openat2) && defined(RESOLVE_BENEATH)
  constexpr int kTries = 8;  // EAGAIN: a rename during the lookup made the result uncertain
  open_how how{};
  how.flags = kOpenFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  long fd = -1;
  for (int i = 0; i < kTries && fd < 0; ++i) {
    fd = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
    if (fd < 0 && errno != EAGAIN && errno != EINTR) break;
  }
  const bool known = fd >= 0 || (errno != ENOSYS && errno != EPERM);  // EPERM: a sandbox that does not allow the call
  if (known) return Descriptor(static_cast<int>(fd));
#endif
  return open_without_links(folder, path);
}

}  // namespace

Result<Descriptor> ExternalFiles::open(const std::string& path) {
  if (!folder_) folder_ = Descriptor(::open(folder_path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  Descriptor file;
  if (folder_) {
    file = links_ == Links::inside ? open_beneath(folder_.get(), path) : open_without_links(folder_.get(), path);
  }
  if (file) return file;
  if (errno == EXDEV || errno == ELOOP) {
    return fail(Code::bad_model, "a symbolic link points outside the model's folder '{}'; copy the file there",
                folder_path_);
  }
  return fail(Code::bad_input, "cannot open it in '{}': {}", folder_path_, std::generic_category().message(errno));
}

Result<ExternalFiles::File> ExternalFiles::map(const std::string& path) {
  FRAZIL_TRY(const Descriptor file, open(path));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) {
    return fail(Code::bad_input, "cannot read it: {}", std::generic_category().message(errno));
  }
  if (S_ISREG(info.st_mode) && info.st_nlink > 1) {
    return fail(Code::bad_model,
                "the file has {} hard links, so that it may belong outside the model's folder; replace it by a copy",
                info.st_nlink);
  }
  FRAZIL_TRY(auto mapped, MappedFile::map(file, path, copies_));
  return File{mapped->bytes(), mapped};
}

Status ExternalFiles::check_sum(File& file, std::string_view expected) {
  std::string sum(expected);
  for (char& c : sum) c = static_cast<char>(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
  if (sum.size() != 40 || sum.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return fail(Code::bad_model, "its checksum '{}' is not a SHA-1 checksum of 40 hex digits", proto::shown(expected));
  }
  if (file.sha1.empty()) file.sha1 = sha1(file.bytes);
  if (file.sha1 == sum) return {};
  return fail(Code::bad_model, "the file is damaged or not the model's: its SHA-1 checksum is {}, expected {}",
              file.sha1, sum);
}

Status ExternalFiles::check(std::string_view path, const File& file) const {
  return check_ ? check_(FileKind::external, path, file.bytes) : Status();
}

Result<ExternalFiles::File*> ExternalFiles::in_memory(std::string_view location) {
  auto found = memory_.by_location.find(location);
  if (found == memory_.by_location.end()) {
    const auto is_it = [&](const auto& file) { return last_part(file.first) == last_part(location); };
    const auto end = memory_.by_location.end();
    found = std::find_if(memory_.by_location.begin(), end, is_it);
    if (found == end) return nullptr;
    if (const auto other = std::find_if(std::next(found), end, is_it); other != end) {
      return fail(Code::bad_input, "the files in memory have '{}' and '{}', expected one of this name",
                  proto::shown(found->first), proto::shown(other->first));
    }
  }
  auto known = used_.find(found->first);
  if (known == used_.end()) {
    File file{found->second, memory_.keep_alive};
    FRAZIL_CHECK(check(found->first, file));
    known = used_.emplace(found->first, std::move(file)).first;
  }
  return &known->second;
}

Result<ExternalFiles::File*> ExternalFiles::in_folder(std::string_view location) {
  if (folder_path_.empty()) {
    return fail(Code::bad_input, "the model was given as bytes, without a folder{}",
                memory_.by_location.empty() ? "" : ", and the files in memory do not have it");
  }
  const auto path = plain_path(location);
  if (!path) return fail(Code::bad_model, "not a relative path inside the model's folder");
  auto known = files_.find(*path);
  if (known == files_.end()) {
    FRAZIL_TRY(File file, map(*path));
    FRAZIL_CHECK(check(*path, file));
    known = files_.emplace(*path, std::move(file)).first;
  }
  return &known->second;
}

Result<ExternalBytes> ExternalFiles::load_from(const ExternalRef& ref) {
  FRAZIL_TRY(File * file, in_memory(ref.location));
  if (file == nullptr) {
    FRAZIL_TRY(file, in_folder(ref.location));
  }
  const auto bytes = file->bytes;
  if (ref.offset > bytes.size() || ref.length > bytes.size() - ref.offset) {
    return fail(Code::bad_model, "{} bytes at offset {} are requested, but it has {}", ref.length, ref.offset,
                bytes.size());
  }
  if (!ref.checksum.empty()) FRAZIL_CHECK(check_sum(*file, ref.checksum));
  return ExternalBytes{bytes.subspan(ref.offset, ref.length), file->keep_alive};
}

Result<ExternalBytes> ExternalFiles::load(const ExternalRef& ref) {
  auto loaded = load_from(ref);
  if (!loaded)
    return within(fmt::format("external data '{}': ", proto::shown(ref.location)), std::move(loaded).error());
  return loaded;
}

}  // namespace frazil::onnx
