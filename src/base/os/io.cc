#include "base/os/io.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/os/descriptor.h"
#include "base/thread/mutex.h"

namespace frazil {
namespace {

std::unexpected<Fault> system_fault(std::string_view action, const std::string& path, int error) {
  const Code code = error == ENOMEM ? Code::out_of_memory : Code::bad_input;
  return fail(code, "cannot {} '{}': {}", action, path, std::generic_category().message(error));
}

Status write_all(int fd, const std::string& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_fault("write", path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

bool grow(std::string& text, std::size_t size) {
  try {
    text.resize(size);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? path : std::string(real.get());
}

Status write_pieces(int fd, const std::string& path, Pieces pieces) {
  for (const std::span<const std::byte> piece : pieces) FRAZIL_CHECK(write_all(fd, path, piece));
  return {};
}

Status write_in_place(const std::string& path, Pieces pieces) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) return system_fault("write", path, errno);
  return write_pieces(file.get(), path, pieces);
}

Status write_new(const std::string& path, Pieces pieces) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return system_fault("write", path, errno);
  FRAZIL_CHECK(write_pieces(file.get(), path, pieces));
  if (!file.close()) return system_fault("write", path, errno);
  return {};
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path, const std::string& copies) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return system_fault("open", path, errno);
  return map(file, path, copies);
}

namespace {

/// The files that are mapped, by address.
struct Mappings {
  Mutex mutex;
  std::map<const std::byte*, std::size_t> sizes;

  void add(std::span<const std::byte> bytes) {
    const std::scoped_lock lock(mutex);
    sizes[bytes.data()] = bytes.size();
  }
  bool hold(std::span<const std::byte> bytes) const {
    auto it = sizes.upper_bound(bytes.data());
    if (it == sizes.begin()) return false;
    --it;
    return bytes.data() + bytes.size() <= it->first + it->second;
  }
};

Mappings& mappings() {
  static Mappings all;
  return all;
}

}  // namespace

namespace {

/// Opens a new file in the folder that has no name.
Result<Descriptor> nameless_file(const std::string& folder) {
  std::string path = folder + "/frazil-XXXXXX";
  Descriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file) return system_fault("copy a file to", folder, errno);
  ::unlink(path.c_str());
  return file;
}

Status append_copy(const Descriptor& to, const Descriptor& from, off_t size, const std::string& folder) {
  for (off_t at = 0; at < size;) {
    const ssize_t sent = ::sendfile(to.get(), from.get(), &at, static_cast<std::size_t>(size - at));
    if (sent == 0) return {};
    if (sent < 0 && errno != EINTR) return system_fault("copy a file to", folder, errno);
  }
  return {};
}

bool is_same_content(const struct stat& a, const struct stat& b) {
  const auto same = [](const timespec& x, const timespec& y) { return x.tv_sec == y.tv_sec && x.tv_nsec == y.tv_nsec; };
  return a.st_size == b.st_size && same(a.st_mtim, b.st_mtim) && same(a.st_ctim, b.st_ctim);
}

/// Copies the file to a nameless file in `folder`. `info` is the file's status before the call.
Result<Descriptor> private_copy(const Descriptor& file, const std::string& path, const struct stat& info,
                                const std::string& folder) {
  FRAZIL_TRY(Descriptor copy, nameless_file(folder));
  FRAZIL_CHECK(append_copy(copy, file, info.st_size, folder));
  struct stat now{}, made{};
  if (::fstat(file.get(), &now) != 0 || ::fstat(copy.get(), &made) != 0) return system_fault("read", path, errno);
  if (!is_same_content(info, now) || made.st_size != info.st_size) {
    return fail(Code::bad_input, "cannot read '{}': it was written to meanwhile; try again once it is complete", path);
  }
  return copy;
}

}  // namespace

/// Allocates everything before the mapping, or after the object owns it, so that failures leak nothing.
Result<std::shared_ptr<const MappedFile>> MappedFile::map(const Descriptor& file, const std::string& path,
                                                          const std::string& copies) {
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return system_fault("read", path, errno);
  if (S_ISDIR(info.st_mode)) return fail(Code::bad_input, "cannot read '{}': it is a directory", path);
  if (!S_ISREG(info.st_mode)) return fail(Code::bad_input, "cannot map '{}': it is not a regular file", path);
  std::shared_ptr<MappedFile> mapped(new MappedFile(path, {}));
  if (const auto size = static_cast<std::size_t>(info.st_size); size != 0) {
    Descriptor copy;
    if (!copies.empty()) {
      FRAZIL_TRY(copy, private_copy(file, path, info, copies));
    }
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, copy ? copy.get() : file.get(), 0);
    if (data == MAP_FAILED) return system_fault("map", path, errno);
    // With huge pages, reading a few rows of a table would load all of it.
    ::madvise(data, size, MADV_NOHUGEPAGE);
    mapped->bytes_ = {static_cast<const std::byte*>(data), size};
    mappings().add(mapped->bytes_);
  }
  return mapped;
}

MappedFile::MappedFile(std::string path, std::span<const std::byte> bytes) : path_(std::move(path)), bytes_(bytes) {}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  Mappings& all = mappings();
  const std::scoped_lock lock(all.mutex);
  all.sizes.erase(bytes_.data());
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

namespace {

/// Applies `advice` to the pages that lie completely inside `bytes` (`inside`), or to all pages it touches.
void advise(std::span<const std::byte> bytes, bool inside, int advice) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(bytes.data()), last = first + bytes.size();
  const auto begin = (first + (inside ? page - 1 : 0)) / page * page, end = inside ? last / page * page : last;
  auto* const at = const_cast<std::byte*>(bytes.data()) + static_cast<std::ptrdiff_t>(begin - first);
  if (begin < end) ::madvise(at, end - begin, advice);
}

void advise_mapped(std::span<const std::byte> bytes, bool inside, int advice) {
  Mappings& all = mappings();
  const std::scoped_lock lock(all.mutex);
  if (all.hold(bytes)) advise(bytes, inside, advice);
}

}  // namespace

void fetch_pages([[maybe_unused]] std::span<const std::byte> bytes) {
#if defined(MADV_POPULATE_READ)
  advise_mapped(bytes, false, MADV_POPULATE_READ);
#endif
}

void prefer_huge_pages(std::span<std::byte> memory) { advise(memory, true, MADV_HUGEPAGE); }

void release_pages(std::span<const std::byte> bytes) { advise_mapped(bytes, true, MADV_DONTNEED); }

void release_free_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return system_fault("open", path, errno);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return system_fault("read", path, errno);
  if (S_ISDIR(info.st_mode)) return fail(Code::bad_input, "cannot read '{}': it is a directory", path);

  constexpr std::size_t kChunk = std::size_t{64} << 10;
  const std::size_t limit = std::min(max_bytes, SIZE_MAX / 4);
  const std::size_t known = S_ISREG(info.st_mode) ? static_cast<std::size_t>(info.st_size) : 0;
  const auto too_long = [&] { return fail(Code::limit, "'{}' holds more than {} bytes", path, max_bytes); };
  if (known > limit) return too_long();
  std::string text;
  std::size_t used = 0;
  for (;;) {
    if (used > limit) return too_long();
    if (used == text.size()) {
      if (!grow(text, std::min(std::max({known + 1, used * 2, kChunk}), limit + 1))) {
        return system_fault("read", path, ENOMEM);
      }
    }
    const ssize_t got = ::read(file.get(), text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_fault("read", path, errno);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  text.resize(used);
  return text;
}

Status write_file(const std::string& path, Pieces pieces) {
  static std::atomic<unsigned> serial{0};
  struct stat info{};
  const std::string target = resolved(path);
  if (::stat(target.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) return fail(Code::bad_input, "cannot write '{}': it is a directory", path);
    return write_in_place(target, pieces);
  }
  const std::string temporary = fmt::format("{}.{}.{}.tmp", target, ::getpid(), serial.fetch_add(1));
  Status status = write_new(temporary, pieces);
  if (status && ::rename(temporary.c_str(), target.c_str()) != 0) status = system_fault("write", path, errno);
  if (!status) ::unlink(temporary.c_str());
  return status;
}

}  // namespace frazil
