#include "server/state/state_folder.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <frazil/error.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/core/digest.h"
#include "server/core/file_descriptor.h"
#include "server/core/message.h"
#include "server/state/page_files.h"
#include "server/state/state_bytes.h"

namespace frazil::server {
namespace {

using std::chrono::microseconds;

// The file of a state is "FZSF", u32 form, u64 microseconds until expiry, u64 checksum of these, the key and the page
// ids, and the key as a text of state_bytes.h. Form 2, for a state with pages, adds u32 number of pages and their ids.
// Then follows the state.
//
// The file of a page has its sealed bytes. Its name is the page's id.
constexpr std::string_view kStateFileMagic = "FZSF";
constexpr std::uint32_t kStateFileForm = 1, kPagedStateFileForm = 2;
constexpr std::string_view kState = ".state", kPage = ".page", kUnfinished = ".new";
constexpr std::size_t kNameDigits = 64;
constexpr std::size_t kMaxRemoved = 64;  // candidates per call, in addition to new ones
constexpr const char* kLock = "lock";

std::uint64_t checksum_of_head(std::uint32_t form, std::uint64_t idle, std::string_view key, std::string_view pages) {
  ByteWriter all;
  all.number(form);
  all.number(idle);
  all.raw(key);
  all.raw(pages);
  return checksum_of(all.bytes());
}

std::string_view bytes_of_ids(std::span<const PageId> pages) {
  return {reinterpret_cast<const char*>(pages.data()), pages.size() * sizeof(PageId)};
}

std::string state_file_head(std::string_view key, microseconds idle, std::span<const PageId> pages) {
  ByteWriter head;
  const std::uint32_t form = pages.empty() ? kStateFileForm : kPagedStateFileForm;
  const auto count = static_cast<std::uint64_t>(idle.count());
  head.raw(kStateFileMagic);
  head.number(form);
  head.number(count);
  head.number(checksum_of_head(form, count, key, bytes_of_ids(pages)));
  head.text(key);
  if (!pages.empty()) head.count(pages.size());
  head.raw(bytes_of_ids(pages));
  return std::move(head.bytes());
}

struct StateFileHead {
  std::string_view key;
  microseconds idle;
  std::vector<PageId> pages;
};

/// Reads the header of a state file. Throws StateFault.
StateFileHead read_head(ByteReader& from) {
  if (from.raw(kStateFileMagic.size()) != kStateFileMagic) throw StateFault("its file is damaged");
  const auto form = from.number<std::uint32_t>();
  if (form != kStateFileForm && form != kPagedStateFileForm)
    throw StateFault("its file has form " + std::to_string(form));
  const auto idle = from.number<std::uint64_t>(), sum = from.number<std::uint64_t>();
  StateFileHead head{.key = from.text(), .idle = microseconds(static_cast<std::int64_t>(idle)), .pages = {}};
  if (form == kPagedStateFileForm) head.pages.resize(from.count(sizeof(PageId)));
  if (!head.pages.empty())
    std::memcpy(head.pages.data(), from.raw(bytes_of_ids(head.pages).size()).data(), bytes_of_ids(head.pages).size());
  if (sum != checksum_of_head(form, idle, head.key, bytes_of_ids(head.pages))) throw StateFault("its file is damaged");
  return head;
}

/// Returns an error number, or 0 if everything was read or the file has ended.
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

/// Returns true if the bytes begin a file whose header has page ids.
bool names_pages(std::string_view bytes) {
  std::uint32_t form = 0;
  if (bytes.size() < kStateFileMagic.size() + sizeof form) return false;
  std::memcpy(&form, bytes.data() + kStateFileMagic.size(), sizeof form);
  return form == kPagedStateFileForm;
}

/// Returns the age of a file; 0 if the file's time is in the future.
microseconds age_of(const struct stat& info) {
  using std::chrono::system_clock;
  const auto written = std::chrono::seconds(info.st_mtim.tv_sec) + std::chrono::nanoseconds(info.st_mtim.tv_nsec);
  const auto age = system_clock::now().time_since_epoch() - written;
  return std::max(std::chrono::duration_cast<microseconds>(age), microseconds(0));
}

bool begins_with_sum(std::string_view name) {
  return std::min(name.find_first_not_of("0123456789abcdef"), name.size()) == kNameDigits;
}

bool is_name(std::string_view name, std::string_view ending) {
  return name.size() == kNameDigits + ending.size() && name.ends_with(ending) && begins_with_sum(name);
}

PageId id_of_name(std::string_view name) {
  PageId id{};
  for (std::size_t i = 0; i < id.size(); ++i) {
    unsigned byte = 0;
    std::from_chars(name.data() + 2 * i, name.data() + 2 * i + 2, byte, 16);
    id[i] = static_cast<char>(byte);
  }
  return id;
}

}  // namespace

struct StateFolder::Impl {
  Impl(const std::string& name, int fd, int lock) : folder_name(name), folder(fd), locked(lock) {}

  [[noreturn]] void fail(int error) const { fail(text_of_errno(error)); }
  [[noreturn]] void fail(const std::string& why) const {
    throw api::Error(api::Code::bad_input, "cannot keep states in the folder '" + folder_name + "': " + why);
  }

  std::string folder_name;
  FileDescriptor folder, locked;
  PageFiles pages;
  std::atomic<std::uint64_t> drafts = 0;

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

  /// Returns the header of a state file, and the pages that it uses. Throws StateFault for an unusable file.
  std::pair<Found, std::vector<PageId>> find(const std::string& name) const {
    const FileDescriptor file(open(name, O_RDONLY));
    struct stat info{};
    if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) throw StateFault("its file is unreadable");
    constexpr std::size_t longest = std::size_t{128} << 10U;
    std::string bytes(std::min(static_cast<std::size_t>(info.st_size), longest), '\0');
    if (read_to(file.get(), bytes) != 0) throw StateFault("its file is unreadable");
    if (names_pages(bytes)) bytes = read(name).value_or("");
    ByteReader from(bytes);
    const StateFileHead head = read_head(from);
    if (sha256(head.key) + std::string(kState) != name) throw StateFault("its file has another's name");
    return {{.key = std::string(head.key), .idle = head.idle - age_of(info)}, head.pages};
  }

  /// Returns the whole file, or nullopt if it does not exist.
  std::optional<std::string> read(const std::string& name) const {
    const FileDescriptor file(open(name, O_RDONLY));
    if (!file && errno == ENOENT) return {};
    struct stat info{};
    if (!file || ::fstat(file.get(), &info) != 0) refuse_state("read", text_of_errno(errno));
    if (!S_ISREG(info.st_mode)) refuse_state("read", "its file is not a regular file");
    std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
    if (const int error = read_to(file.get(), bytes)) refuse_state("read", text_of_errno(error));
    return bytes;
  }

  /// Registers a state of an earlier process. Returns nullopt if its file is unusable, expired, or lacks pages.
  std::optional<Found> use(const std::string& name) {
    try {
      auto [found, needed] = find(name);
      const bool there = std::ranges::all_of(needed, [&](const PageId& page) { return pages.has(page); });
      if (!there || found.idle <= microseconds(0)) return {};
      pages.set_state(name.substr(0, kNameDigits), std::move(needed));
      return found;
    } catch (const StateFault&) {
      return {};
    } catch (const Refusal&) {
      return {};
    }
  }

  /// Creates or replaces a file atomically. Returns an error number.
  int put(const std::string& name, std::string_view draft, std::string_view head, std::string_view bytes) const {
    const std::string unfinished = std::string(draft) + std::string(kUnfinished);
    int error = write(unfinished, head, bytes);
    const int at = folder.get();
    if (error == 0 && ::renameat(at, unfinished.c_str(), at, name.c_str()) != 0) error = errno;
    if (error != 0) remove(unfinished);
    return error;
  }

  void put_pages(std::span<const PagePtr> all) {
    pages.note(all);
    const std::vector<PagePtr> missing = pages.without_file(all);
    for (const PagePtr& page : missing) {
      const std::string name = hex_of(page->id());
      // Two sequences may write the same page concurrently.
      const std::string draft = name + '-' + std::to_string(++drafts);
      if (const int error = put(name + std::string(kPage), draft, "", page->sealed()))
        refuse_state("written", text_of_errno(error));
    }
    pages.written(missing);
  }

  void remove_unused(std::size_t more) {
    pages.remove_unused(more, [this](const PageId& page) { remove(hex_of(page) + std::string(kPage)); });
  }

  /// Returns an error number.
  int write(const std::string& name, std::string_view head, std::string_view bytes) const {
    FileDescriptor file(open(name, O_WRONLY | O_CREAT | O_TRUNC));
    if (!file) return errno;
    if (const int error = write_all(file.get(), head)) return error;
    if (const int error = write_all(file.get(), bytes)) return error;
    return file.close() ? 0 : errno;
  }
};

namespace {

int open_folder(const std::string& folder) {
  if (std::filesystem::path path(folder); ::mkdir(path.c_str(), 0700) != 0 && errno == ENOENT) {
    std::error_code failed;  // ignored: opening the folder reports the error
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
    impl_->fail(errno == EWOULDBLOCK ? "another server uses it" : text_of_errno(errno));
  }
}

StateFolder::~StateFolder() = default;

std::optional<std::string> StateFolder::load(const std::string& key) {
  std::optional<std::string> bytes = impl_->read(sha256(key) + std::string(kState));
  if (!bytes) return {};
  try {
    ByteReader from(*bytes);
    if (read_head(from).key != key) refuse_state("read", "its file is another sequence's");
    bytes->erase(0, bytes->size() - from.left());
  } catch (const StateFault& fault) {
    refuse_state("read", fault.what());
  }
  return bytes;
}

std::string StateFolder::head(const std::string& key, std::size_t count) {
  return load(key).value_or("").substr(0, count);
}

void StateFolder::save(const std::string& key, std::string_view bytes, std::span<const PagePtr> pages,
                       microseconds idle) {
  const std::string name = sha256(key);
  std::vector<PageId> ids;
  if (!pages.empty()) impl_->put_pages(pages);
  std::ranges::transform(pages, std::back_inserter(ids), [](const PagePtr& page) { return page->id(); });
  const std::string head = state_file_head(key, std::max(idle, microseconds(1)), ids);
  if (const int error = impl_->put(name + std::string(kState), name, head, bytes))
    refuse_state("written", text_of_errno(error));
  impl_->pages.set_state(name, std::move(ids));
  impl_->remove_unused(kMaxRemoved);
}

std::vector<std::optional<std::string>> StateFolder::load_pages(std::span<const PageId> ids) {
  std::vector<std::optional<std::string>> pages;
  for (const PageId& id : ids) pages.push_back(impl_->read(hex_of(id) + std::string(kPage)));
  return pages;
}

void StateFolder::loaded(std::span<const PagePtr> pages) { impl_->pages.note(pages); }

void StateFolder::collect_garbage() { impl_->remove_unused(kMaxRemoved); }

void StateFolder::erase(const std::string& key) {
  const std::string name = sha256(key);
  if (!impl_->remove(name + std::string(kState)) && errno != ENOENT) refuse_state("removed", text_of_errno(errno));
  impl_->pages.set_state(name, {});
  impl_->remove_unused(kMaxRemoved);
}

std::vector<StateKeeper::Found> StateFolder::find_stored() {
  std::vector<std::string> states;
  for (const std::string& name : impl_->names()) {
    if (name.ends_with(kUnfinished) && begins_with_sum(name)) impl_->remove(name);
    if (is_name(name, kPage)) impl_->pages.found(id_of_name(name));
    if (is_name(name, kState)) states.push_back(name);
  }
  std::vector<Found> all;
  for (const std::string& name : states) {
    if (auto found = impl_->use(name)) {
      all.push_back(std::move(*found));
    } else {
      impl_->remove(name);
    }
  }
  impl_->remove_unused(std::numeric_limits<std::size_t>::max() / 2);
  return all;
}

}  // namespace frazil::server
