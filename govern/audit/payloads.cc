#include "govern/audit/payloads.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "govern/audit/journal.h"
#include "govern/audit/note.h"
#include "govern/base/digest.h"
#include "govern/base/encoding.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNewFileAfter = std::uint64_t{64} << 20;
constexpr std::size_t kRecordHead = 4 + sizeof(Digest);

struct PayloadFile {
  std::uint64_t start = 0;
  std::string path;
};

[[noreturn]] void fail_on_payloads(const std::string& path) {
  fail(Code::bad_input, "file '{}': {}", path, std::generic_category().message(errno));
}

std::string payload_header(std::uint64_t start) { return fmt::format("frazil-payloads {}\n", start); }
std::string payload_path(const std::string& folder, std::uint64_t start) {
  return fmt::format("{}/payloads/{:020}", folder, start);
}

void append_payload(std::string& to, std::string_view bytes) {
  append_big_endian(to, static_cast<std::uint32_t>(bytes.size()));
  to += text_of(sha256(bytes));
  to += bytes;
}

std::vector<PayloadFile> payload_files(const std::string& folder) {
  std::vector<PayloadFile> files;
  std::error_code none;
  for (fs::directory_iterator at(folder + "/payloads", none), end; !none && at != end; at.increment(none)) {
    const std::string name = at->path().filename();
    const std::size_t digit = std::min(name.find_first_not_of('0'), name.size() - 1);
    if (name.size() != 20) continue;
    if (const auto start = parse_decimal(name.substr(digit))) files.push_back({*start, at->path()});
  }
  std::ranges::sort(files, {}, &PayloadFile::start);
  return files;
}

/// Reads the records of a file one after the other.
class PayloadReader {
 public:
  explicit PayloadReader(const PayloadFile& file) : path_(file.path), file_(open_file(file.path)) {
    const std::string header = payload_header(file.start);
    const auto read = take(header.size());
    if (read && *read != header) fail(Code::bad_input, "file '{}': expected the line '{}'", path_, header);
  }
  /// Reads the next record's head. Returns false at the end of the file.
  bool next() {
    at_ += std::exchange(size_, 0);
    const auto head = take(kRecordHead);
    if (!head) return false;
    size_ = 0;
    for (const char c : head->substr(0, 4)) size_ = size_ << 8 | static_cast<unsigned char>(c);
    if (size_ > kMaxPayloadBytes) fail(Code::bad_input, "file '{}': a record has {} bytes", path_, size_);
    Digest digest;
    std::memcpy(digest.data(), head->data() + 4, digest.size());
    digest_ = digest_text(digest);
    return true;
  }
  const std::string& digest() const { return digest_; }
  /// Returns where the present record begins.
  std::uint64_t place() const { return at_ - kRecordHead; }
  void go_to(std::uint64_t place) {
    at_ = place;
    size_ = 0;
  }
  /// Returns the record's bytes; nullopt if the file ends before.
  std::optional<std::string> bytes() {
    auto read = take(size_);
    if (read) size_ = 0;
    return read;
  }

 private:
  std::optional<std::string> take(std::uint64_t count) {
    std::string bytes(count, '\0');
    std::uint64_t done = 0;
    while (done < count) {
      const ssize_t got = ::pread(file_.get(), bytes.data() + done, count - done, static_cast<off_t>(at_ + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_on_payloads(path_);
      if (got == 0) return std::nullopt;
      done += static_cast<std::uint64_t>(got);
    }
    at_ += count;
    return bytes;
  }

  std::string path_;
  File file_;
  std::uint64_t at_ = 0, size_ = 0;
  std::string digest_;
};

}  // namespace

void PayloadWriter::open(std::uint64_t entry) {
  make_folder(folder_ + "/payloads");
  path_ = payload_path(folder_, entry);
  // A file of this start is left by a crash: no durable entry names what it has.
  file_ = File(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file_) fail_on_payloads(path_);
  const std::string header = payload_header(entry);
  bytes_ = header.size();
  if (!write_bytes(file_, header)) {
    const int reason = errno;
    file_ = File();
    errno = reason;
    fail_on_payloads(path_);
  }
  sync_folder(folder_ + "/payloads");
}

void PayloadWriter::write(std::uint64_t entry, std::span<const std::string> payloads) {
  before_ = bytes_;
  if (payloads.empty()) return;
  if (!file_ || bytes_ > kNewFileAfter) open(entry);
  before_ = bytes_;
  std::string records;
  for (const std::string& payload : payloads) append_payload(records, payload);
  const bool written = ::lseek(file_.get(), static_cast<off_t>(bytes_), SEEK_SET) >= 0 && write_bytes(file_, records) &&
                       ::fdatasync(file_.get()) == 0;
  if (!written) {
    const int reason = errno;
    undo();
    errno = reason;
    fail_on_payloads(path_);
  }
  bytes_ += records.size();
}

void PayloadWriter::undo() {
  bytes_ = before_;
  if (file_ && ::ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) file_ = File();
}

std::string PayloadIndex::get(std::uint64_t entry, const std::string& digest) {
  const std::vector<PayloadFile> files = payload_files(folder_);
  const auto after = std::ranges::upper_bound(files, entry, {}, &PayloadFile::start);
  if (after == files.begin()) fail(Code::bad_input, "entry {}: payload '{}' is missing", entry, digest);
  const PayloadFile& file = *std::prev(after);
  Places& places = files_[file.path];
  PayloadReader reader(file);
  auto place = places.find(digest);
  if (place == places.end()) {  // the file may have grown
    places.clear();
    while (reader.next()) places.emplace(reader.digest(), reader.place());
    place = places.find(digest);
  }
  if (place == places.end()) fail(Code::bad_input, "entry {}: payload '{}' is missing", entry, digest);
  reader.go_to(place->second);
  const auto bytes = reader.next() ? reader.bytes() : std::nullopt;
  if (bytes && digest_text(sha256(*bytes)) == digest) return *bytes;
  fail(Code::bad_input, "entry {}: payload '{}' is damaged", entry, digest);
}

std::string get_payload(const std::string& folder, std::uint64_t entry, const std::string& digest) {
  return PayloadIndex(folder).get(entry, digest);
}

void read_payloads(const std::string& folder,
                   const std::function<void(std::string_view digest, std::string_view bytes)>& found) {
  for (const PayloadFile& file : payload_files(folder)) {
    PayloadReader reader(file);
    while (reader.next()) {
      const auto bytes = reader.bytes();
      if (!bytes) break;
      found(reader.digest(), *bytes);
    }
  }
}

void remove_payloads(const std::string& folder, std::uint64_t end,
                     const std::function<bool(const std::string& digest)>& drops) {
  for (const PayloadFile& file : payload_files(folder)) {
    if (file.start >= end) continue;
    PayloadReader reader(file);
    const std::string header = payload_header(file.start);
    std::string kept = header;
    bool dropped = false;
    while (reader.next()) {
      if (drops(reader.digest())) {
        dropped = true;
      } else if (const auto bytes = reader.bytes()) {
        append_payload(kept, *bytes);
      }
    }
    if (!dropped) continue;
    if (kept == header) {
      fs::remove(file.path);
    } else {
      write_file(file.path, kept);
    }
  }
  if (fs::exists(folder + "/payloads")) sync_folder(folder + "/payloads");
}

}  // namespace frazil::govern
