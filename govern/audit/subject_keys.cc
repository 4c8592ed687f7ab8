#include "govern/audit/subject_keys.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "govern/base/cipher.h"
#include "govern/base/encoding.h"
#include "govern/base/error.h"
#include "govern/base/file.h"

namespace frazil::govern {
namespace {

constexpr std::size_t kIdBytes = 16, kCachedKeys = 4096;

bool is_subject_id(std::string_view id) { return id.size() == 2 * kIdBytes && from_hex(id).has_value(); }

std::optional<Digest> read_key(const std::string& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const std::string bytes = read_file(path, sizeof(Digest));
  Digest key;
  if (bytes.size() != key.size()) fail(Code::bad_input, "file '{}': expected a key of {} bytes", path, key.size());
  std::memcpy(key.data(), bytes.data(), key.size());
  return key;
}

/// Overwrites a file before its name is removed. Copies by the file system or the device may remain.
void shred(const std::string& path) {
  const File file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const Digest zeros = {};
  const bool done = file && ::write(file.get(), zeros.data(), zeros.size()) == ssize_t{sizeof zeros} &&
                    ::fsync(file.get()) == 0 && ::unlink(path.c_str()) == 0;
  if (!done) fail(Code::bad_input, "file '{}': {}", path, std::generic_category().message(errno));
  sync_folder(std::filesystem::path(path).parent_path());
}

}  // namespace

SubjectKeys::SubjectKeys(std::string folder) : folder_(std::move(folder)) {
  make_folder(folder_ + "/names");
  if (::chmod(folder_.c_str(), 0700) != 0) {
    fail(Code::bad_input, "folder '{}': {}", folder_, std::generic_category().message(errno));
  }
  const std::string path = folder_ + "/secret";
  if (const auto secret = read_key(path)) {
    secret_ = *secret;
  } else {
    random_bytes(secret_);
    write_file(path, text_of(secret_));
  }
}

std::string SubjectKeys::name_path(std::string_view subject) const {
  return folder_ + "/names/" + hex(hmac(secret_, subject));
}
std::string SubjectKeys::key_path(const std::string& id) const { return folder_ + "/" + id + ".key"; }

std::optional<std::string> SubjectKeys::known_id(const std::string& name) const {
  if (!std::filesystem::exists(name)) return std::nullopt;
  std::string id = read_file(name, 2 * kIdBytes);
  if (!is_subject_id(id)) fail(Code::bad_input, "file '{}': expected an identifier", name);
  return std::filesystem::exists(key_path(id)) ? std::optional(std::move(id)) : std::nullopt;
}

std::optional<std::string> SubjectKeys::find_id(std::string_view subject) {
  const std::lock_guard lock(mutex_);
  return known_id(name_path(subject));
}

std::string SubjectKeys::id_of(std::string_view subject) {
  const std::lock_guard lock(mutex_);
  const std::string name = name_path(subject);
  if (auto id = known_id(name)) return *id;
  std::array<std::uint8_t, kIdBytes> random;
  random_bytes(random);
  std::string id = hex(random);
  Digest key;
  random_bytes(key);
  write_file(key_path(id), text_of(key));
  write_file(name, id);
  return id;
}

std::optional<Digest> SubjectKeys::key_of(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = cache_.find(id); found != cache_.end()) return found->second;
  if (!is_subject_id(id)) fail(Code::bad_input, "subject '{}': expected 32 hexadecimal digits", id);
  const auto key = read_key(key_path(id));
  if (cache_.size() >= kCachedKeys) cache_.clear();
  if (key) cache_.emplace(id, *key);
  return key;
}

Digest SubjectKeys::record_key(const std::string& id, std::string_view use, std::string_view record) {
  const auto key = key_of(id);
  if (!key) fail(Code::bad_input, "subject '{}': its key was destroyed", id);
  return hmac(*key, fmt::format("{}\n{}", use, record));
}

std::string SubjectKeys::commit(const std::string& id, std::string_view record, std::string_view name,
                                std::string_view value) {
  const Digest key = hmac(record_key(id, "commit", record), name);
  return "hmac-sha256:" + hex(hmac(key, value));
}

std::string SubjectKeys::seal(const std::string& id, std::string_view record, std::string_view payload) {
  return govern::seal(record_key(id, "seal", record), fmt::format("{}\n{}", id, record), payload);
}

std::optional<std::string> SubjectKeys::unseal(const std::string& id, std::string_view record,
                                               std::string_view sealed) {
  if (!key_of(id)) return std::nullopt;
  return govern::unseal(record_key(id, "seal", record), fmt::format("{}\n{}", id, record), sealed);
}

std::optional<std::string> SubjectKeys::destroy_key(std::string_view subject) {
  const std::lock_guard lock(mutex_);
  const std::string name = name_path(subject);
  if (!std::filesystem::exists(name)) return std::nullopt;
  std::string id = read_file(name, 2 * kIdBytes);
  if (!is_subject_id(id)) fail(Code::bad_input, "file '{}': expected an identifier", name);
  cache_.erase(id);
  // The key goes first: a crash between the two leaves a name without a key.
  if (std::filesystem::exists(key_path(id))) shred(key_path(id));
  std::filesystem::remove(name);
  sync_folder(folder_ + "/names");
  return id;
}

}  // namespace frazil::govern
