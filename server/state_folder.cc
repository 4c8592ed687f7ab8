#include "server/state_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <frazil/error.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/digest.h"
#include "server/message.h"
#include "server/state_bytes.h"

namespace frazil::server {
namespace {

using std::chrono::microseconds;

// A file: "FZSF", u32 form, u64 microseconds until it expires, u64 checksum of these and the key, the key as a text of
// state_bytes.h, the state.
constexpr std::string_view kMagic = "FZSF";
constexpr std::uint32_t kForm = 1;
constexpr std::string_view kState = ".state", kUnfinished = ".new";
constexpr const char* kLock = "lock";

std::string text_of(int error) { return std::generic_category().message(error); }

[[noreturn]] void refuse(std::string_view what, const std::string& why) {
  throw Refusal(Http::unavailable, "the sequence's state cannot be " + std::string(what) + ": " + why);
}

class File {
 public:
  explicit File(int fd = -1) : fd_(fd) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Returns false when what was written could not be stored.
  bool close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

std::uint64_t checksum_of_head(std::string_view key, std::uint64_t idle) {
  ByteWriter all;
  all.number(kForm);
  all.number(idle);
  all.raw(key);
  return checksum_of(all.bytes());
}

std::string head_of(std::string_view key, microseconds idle) {
  ByteWriter head;
  const auto count = static_cast<std::uint64_t>(idle.count());
  head.raw(kMagic);
  head.number(kForm);
  head.number(count);
  head.number(checksum_of_head(key, count));
  head.text(key);
  return std::move(head.bytes());
}

struct Head {
  std::string_view key;
  microseconds idle;
};

/// Throws StateFault.
Head read_head(ByteReader& from) {
  if (from.raw(kMagic.size()) != kMagic) throw StateFault("its file is damaged");
  const auto form = from.number<std::uint32_t>();
  if (form != kForm) throw StateFault("its file has form " + std::to_string(form));
  const auto idle = from.number<std::uint64_t>(), sum = from.number<std::uint64_t>();
  const std::string_view key = from.text();
  if (sum != checksum_of_head(key, idle)) throw StateFault("its file is damaged");
  return {.key = key, .idle = microseconds(static_cast<std::int64_t>(idle))};
}

/// Returns an error number; 0: all was read, or the file has ended.
int read_to(int fd, std::string& bytes) {
  for (std::size_t used = 0; used < bytes.size();) {
    const ssize_t got = ::read(fd, bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) bytes.resize(used);
    used += static_cast<std::size_t>(got);
  }
  return 0;
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// How long ago the file was written; 0 when clocks differ.
microseconds age_of(const struct stat& info) {
  using std::chrono::system_clock;
  const auto written = std::chrono::seconds(info.st_mtim.tv_sec) + std::chrono::nanoseconds(info.st_mtim.tv_nsec);
  const auto age = system_clock::now().time_since_epoch() - written;
  return std::max(std::chrono::duration_cast<microseconds>(age), microseconds(0));
}

bool is_name(std::string_view name, std::string_view ending) {
  constexpr std::size_t digits = 64;
  return name.size() == digits + ending.size() && name.ends_with(ending) &&
         name.find_first_not_of("0123456789abcdef") == digits;
}

}  // namespace

struct StateFolder::Impl {
  Impl(const std::string& name, int fd, int lock) : folder_name(name), folder(fd), locked(lock) {}

  [[noreturn]] void fail(int error) const { fail(text_of(error)); }
  [[noreturn]] void fail(const std::string& why) const {
    throw api::Error(api::Code::bad_input, "cannot keep states in the folder '" + folder_name + "': " + why);
  }

  std::string folder_name;
  File folder, locked;

  void check_owner() const {
    struct stat info{};
    if (::fstat(folder.get(), &info) != 0) fail(errno);
    constexpr mode_t others_write = S_IWGRP | S_IWOTH;
    if (info.st_uid != ::geteuid()) fail("it belongs to another user");
    if ((info.st_mode & others_write) != 0) fail("others may write to it; chmod 700 helps");
  }

  int open(const std::string& name, int flags) const {
    return ::openat(folder.get(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  }
  bool remove(const std::string& name) const { return ::unlinkat(folder.get(), name.c_str(), 0) == 0; }

  std::vector<std::string> names() const {
    const auto close = [](DIR* listing) { ::closedir(listing); };
    const std::unique_ptr<DIR, decltype(close)> listing(::fdopendir(open(".", O_RDONLY | O_DIRECTORY)), close);
    if (listing == nullptr) fail(errno);
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(listing.get())) names.emplace_back(entry->d_name);
    return names;
  }

  /// Throws StateFault for a file that is of no use.
  Found find(const std::string& name) const {
    const File file(open(name, O_RDONLY));
    struct stat info{};
    if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) throw StateFault("its file is unreadable");
    constexpr std::size_t longest = std::size_t{128} << 10U;
    std::string bytes(std::min(static_cast<std::size_t>(info.st_size), longest), '\0');
    if (read_to(file.get(), bytes) != 0) throw StateFault("its file is unreadable");
    ByteReader from(bytes);
    const Head head = read_head(from);
    if (sha256(head.key) + std::string(kState) != name) throw StateFault("its file has another's name");
    return {.key = std::string(head.key), .idle = head.idle - age_of(info)};
  }

  /// The whole file; nothing where there is none.
  std::optional<std::string> read(const std::string& name) const {
    const File file(open(name, O_RDONLY));
    if (!file && errno == ENOENT) return {};
    struct stat info{};
    if (!file || ::fstat(file.get(), &info) != 0) refuse("read", text_of(errno));
    if (!S_ISREG(info.st_mode)) refuse("read", "its file is none");
    std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
    if (const int error = read_to(file.get(), bytes)) refuse("read", text_of(error));
    return bytes;
  }

  /// Returns an error number.
  int write(const std::string& name, std::string_view head, std::string_view bytes) const {
    File file(open(name, O_WRONLY | O_CREAT | O_TRUNC));
    if (!file) return errno;
    if (const int error = write_all(file.get(), head)) return error;
    if (const int error = write_all(file.get(), bytes)) return error;
    return file.close() ? 0 : errno;
  }
};

namespace {

int open_folder(const std::string& folder) {
  if (std::filesystem::path path(folder); ::mkdir(path.c_str(), 0700) != 0 && errno == ENOENT) {
    std::error_code failed;  // opening it tells
    if (path.filename().empty()) path = path.parent_path();
    std::filesystem::create_directories(path.parent_path(), failed);
    (void)::mkdir(path.c_str(), 0700);
  }
  return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

}  // namespace

StateFolder::StateFolder(const std::string& folder) {
  const int fd = open_folder(folder);
  const int lock = fd < 0 ? -1 : ::openat(fd, kLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  const int error = errno;
  impl_ = std::make_unique<Impl>(folder, fd, lock);
  if (!impl_->folder) impl_->fail(error);
  impl_->check_owner();
  if (!impl_->locked) impl_->fail(error);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    impl_->fail(errno == EWOULDBLOCK ? "another server uses it" : text_of(errno));
  }
}

StateFolder::~StateFolder() = default;

std::optional<std::string> StateFolder::load(const std::string& key) {
  std::optional<std::string> bytes = impl_->read(sha256(key) + std::string(kState));
  if (!bytes) return {};
  try {
    ByteReader from(*bytes);
    if (read_head(from).key != key) refuse("read", "its file is another sequence's");
    bytes->erase(0, bytes->size() - from.left());
  } catch (const StateFault& fault) {
    refuse("read", fault.what());
  }
  return bytes;
}

std::string StateFolder::head(const std::string& key, std::size_t count) {
  return load(key).value_or("").substr(0, count);
}

void StateFolder::save(const std::string& key, std::string_view bytes, microseconds idle) {
  const std::string name = sha256(key), unfinished = name + std::string(kUnfinished);
  const std::string finished = name + std::string(kState);
  int error = impl_->write(unfinished, head_of(key, std::max(idle, microseconds(1))), bytes);
  const int at = impl_->folder.get();
  if (error == 0 && ::renameat(at, unfinished.c_str(), at, finished.c_str()) != 0) error = errno;
  if (error == 0) return;
  impl_->remove(unfinished);
  refuse("written", text_of(error));
}

void StateFolder::erase(const std::string& key) {
  if (!impl_->remove(sha256(key) + std::string(kState)) && errno != ENOENT) refuse("removed", text_of(errno));
}

std::vector<StateKeeper::Found> StateFolder::find_left() {
  std::vector<Found> all;
  for (const std::string& name : impl_->names()) {
    if (is_name(name, kUnfinished)) impl_->remove(name);
    if (!is_name(name, kState)) continue;
    try {
      Found found = impl_->find(name);
      if (found.idle > microseconds(0)) {
        all.push_back(std::move(found));
      } else {
        impl_->remove(name);
      }
    } catch (const StateFault&) {
      impl_->remove(name);
    }
  }
  return all;
}

}  // namespace frazil::server
