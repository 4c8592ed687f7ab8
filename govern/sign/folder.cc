#include "govern/sign/folder.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <frazil/text.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

#include "govern/base/error.h"
#include "govern/base/json.h"

namespace frazil::govern {
namespace {

constexpr std::size_t kMaxFolderEntries = 100'000, kMaxFolderDepth = 64;
/// Flags that open without blocking on pipes and without acquiring a controlling terminal.
constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

[[noreturn]] void fail_on_file(const std::string& name, int error) {
  fail(Code::bad_input, "file '{}': {}", api::printable(name), std::generic_category().message(error));
}

/// Returns a descriptor, or -1 with errno.
int open_below(int folder, const char* name, int flags) {
#if defined(SYS_openat2) && defined(RESOLVE_BENEATH)
  constexpr int kTries = 8;  // EAGAIN: a rename during the lookup made the result uncertain
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  long descriptor = -1;
  for (int i = 0; i < kTries && descriptor < 0; ++i) {
    descriptor = ::syscall(SYS_openat2, folder, name, &how, sizeof how);
    if (descriptor < 0 && errno != EAGAIN && errno != EINTR) break;
  }
  return static_cast<int>(descriptor);
#else
  (void)folder, (void)name, (void)flags;
  errno = ENOSYS;
  return -1;
#endif
}

FileState file_state(const File& file, const std::string& name, nlink_t* links = nullptr) {
  struct stat info = {};
  if (::fstat(file.get(), &info) != 0) fail_on_file(name, errno);
  if (!S_ISREG(info.st_mode)) fail(Code::bad_input, "file '{}': expected a regular file", api::printable(name));
  if (links != nullptr) *links = info.st_nlink;
  const auto ns = [](const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .size = static_cast<std::uint64_t>(info.st_size),
          .modified_ns = ns(info.st_mtim),
          .changed_ns = ns(info.st_ctim)};
}

Digest digest_of_file(const File& file, const std::string& name) {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  constexpr std::size_t kPart = 1 << 18;
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  const auto part = std::make_unique<char[]>(kPart);
  for (off_t at = 0;;) {
    const ssize_t count = ::pread(file.get(), part.get(), kPart, at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_on_file(name, errno);
    if (count == 0) break;
    at += count;
    if (EVP_DigestUpdate(context.get(), part.get(), static_cast<std::size_t>(count)) != 1) throw std::bad_alloc();
  }
  Digest digest;
  if (EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) != 1) throw std::bad_alloc();
  return digest;
}

void require_utf8(const std::string& name) try { (void)canonical(Json(name)); } catch (const Error&) {
  fail(Code::bad_input, "file '{}': its name is not UTF-8, so that it cannot be signed: rename it",
       api::printable(name));
}

/// A folder that remains to be listed.
struct Unlisted {
  std::string prefix;
  std::size_t depth;
};

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

Directory directory_of(const File& folder, const std::string& path) {
  const int copy = ::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0);
  DIR* const directory = copy < 0 ? nullptr : ::fdopendir(copy);
  if (directory != nullptr) return {directory, ::closedir};
  const int error = errno;
  if (copy >= 0) ::close(copy);
  fail(Code::bad_input, "folder '{}': {}", path, std::generic_category().message(error));
}

std::vector<std::string> names_in_folder(const File& folder, const std::string& path) {
  const Directory directory = directory_of(folder, path);
  std::vector<std::string> names;
  while (const dirent* const entry = ::readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    if (names.size() > kMaxFolderEntries) fail(Code::limit, "folder '{}': more than {} files", path, kMaxFolderEntries);
  }
  return names;
}

bool is_folder(const File& folder, const std::string& part, const std::string& name, bool& regular) {
  struct stat info = {};
  if (::fstatat(folder.get(), part.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) fail_on_file(name, errno);
  regular = S_ISREG(info.st_mode);
  return S_ISDIR(info.st_mode);
}

}  // namespace

bool HashedFile::is_unchanged() const {
  if (!file) fail(Code::bad_input, "file '{}': it is closed", name);
  return file_state(file, name) == state;
}

Folder::Folder(std::string path) : path_(std::move(path)) {
  folder_ = File(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_) fail(Code::bad_input, "folder '{}': {}", path_, std::generic_category().message(errno));
}

File Folder::open(const std::string& name, int flags) const {
  File file(open_below(folder_.get(), name.c_str(), flags));
  if (file) return file;
  if (errno == ENOSYS || errno == EPERM) {
    fail(Code::unsupported,
         "folder '{}': files can be verified only with openat2, which this system or its sandbox lacks; use Linux 5.6 "
         "or later, and allow the call",
         path_);
  }
  if (errno == ELOOP || errno == EXDEV) {
    fail(Code::bad_input, "file '{}': a symbolic link, which signatures do not follow; replace it by a copy",
         api::printable(name));
  }
  fail_on_file(name, errno);
}

std::vector<Folder::Entry> Folder::list(const std::vector<std::string>& ignored) const {
  std::vector<Entry> entries;
  std::vector<Unlisted> stack = {{.prefix = {}, .depth = 0}};
  while (!stack.empty()) {
    const auto [prefix, depth] = std::move(stack.back());
    stack.pop_back();
    if (depth > kMaxFolderDepth)
      fail(Code::limit, "folder '{}': nested deeper than {}", api::printable(prefix), kMaxFolderDepth);
    const File folder = open(prefix.empty() ? "." : prefix, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (const std::string& part : names_in_folder(folder, path_)) {
      std::string name = prefix.empty() ? part : prefix + '/' + part;
      if (std::ranges::find(ignored, name) != ignored.end()) continue;
      require_utf8(name);
      Entry entry{.name = std::move(name), .regular = false};
      if (is_folder(folder, part, entry.name, entry.regular))
        stack.push_back({.prefix = std::move(entry.name), .depth = depth + 1});
      else
        entries.push_back(std::move(entry));
    }
    if (entries.size() > kMaxFolderEntries)
      fail(Code::limit, "folder '{}': more than {} files", path_, kMaxFolderEntries);
  }
  std::ranges::sort(entries, {}, &Entry::name);
  return entries;
}

HashedFile Folder::hash(const std::string& name) const {
  if (const auto fault = name_fault(name); !fault.empty())
    fail(Code::bad_input, "file '{}': {}", api::printable(name), fault);
  HashedFile hashed{.name = name, .digest = {}, .state = {}, .file = open(name, kReadFlags)};
  nlink_t links = 0;
  hashed.state = file_state(hashed.file, name, &links);
  if (links > 1) {
    fail(Code::bad_input,
         "file '{}': it has {} hard links, so that it may belong outside the folder; replace it by a copy",
         api::printable(name), links);
  }
  hashed.digest = digest_of_file(hashed.file, name);
  if (!hashed.is_unchanged())
    fail(Code::bad_input, "file '{}': it was written while it was read", api::printable(name));
  return hashed;
}

std::string_view name_fault(std::string_view name) {
  if (name.empty()) return "the name is empty";
  if (name.starts_with('/')) return "the name is absolute, expected one relative to the folder";
  if (name.find('\0') != std::string_view::npos) return "the name has a zero byte";
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (part == "..") return "the name has the part '..'";
    if (part.empty() || part == ".") return "the name has an empty part or the part '.'";
    at = end + 1;
  }
  return {};
}

FolderPlace place_of_file(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string folder = file.parent_path().string();
  return {.folder = folder.empty() ? "." : folder, .name = file.filename().string()};
}

}  // namespace frazil::govern
