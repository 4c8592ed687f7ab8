#include "exec/native/code_cache.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/io.h"
#include "base/os/knobs.h"
#include "base/os/log.h"
#include "base/os/user_folder.h"
#include "base/value/sha256.h"
#include "code_version.h"

namespace frazil::exec {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".code";
constexpr std::size_t kDigest = 64;
fs::path chosen_folder() {
  const std::string named = knobs() ? knobs()->code_cache : "off";
  if (named == "off") return {};
  if (!named.empty()) return named;
  const std::string user = user_cache_folder();
  return user.empty() ? fs::path() : fs::path(user) / "code";
}

std::string digest(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

/// Returns the content of an entry: the digest of the rest, the key's length, the key and the object.
std::string packed(std::string_view key, std::string_view object) {
  std::string body = fmt::format("{:016x}", key.size());
  body.append(key).append(object);
  return digest(body) + body;
}

std::optional<std::string> unpacked(std::string_view file, std::string_view key) {
  const std::size_t head = kDigest + 16;
  if (file.size() < head + key.size() || digest(file.substr(kDigest)) != file.substr(0, kDigest)) return std::nullopt;
  if (file.substr(kDigest, 16) != fmt::format("{:016x}", key.size())) return std::nullopt;
  if (file.substr(head, key.size()) != key) return std::nullopt;
  return std::string(file.substr(head + key.size()));
}

}  // namespace

std::string_view code_version() { return FRAZIL_CODE_VERSION; }

CodeCache& CodeCache::instance() {
  static CodeCache& cache = *new CodeCache(chosen_folder());  // used by the compile thread until the process ends
  return cache;
}

CodeCache::CodeCache(fs::path folder, std::string_view version) : folder_(std::move(folder)), version_(version) {
  if (!is_on()) return;
  std::error_code none;
  if (fs::exists(folder_, none) && !is_private()) {
    logging::debug(1, "cache", "generated code is not kept: others may write to {}", folder_.string());
    folder_.clear();
  }
}

/// Returns true if only this user can write to the folder. Code that another user put there would run as this user.
bool CodeCache::is_private() const {
  struct stat about{};
  return ::stat(folder_.c_str(), &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() &&
         (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

fs::path CodeCache::file_of(std::string_view key) const {
  return folder_ / (digest(version_ + std::string(key)) + std::string(kSuffix));
}

std::optional<std::string> CodeCache::load(std::string_view key) {
  constexpr std::size_t kMaxFile = std::size_t{1} << 28;
  if (!is_on()) return std::nullopt;
  const fs::path file = file_of(key);
  std::error_code none;
  if (!fs::exists(file, none)) return std::nullopt;
  const auto bytes = read_file(file.string(), kMaxFile);
  auto object = bytes ? unpacked(*bytes, version_ + std::string(key)) : std::nullopt;
  if (!object) {
    logging::debug(1, "cache", "generated code in {} is damaged and made again", file.string());
    fs::remove(file, none);
    return std::nullopt;
  }
  fs::last_write_time(file, fs::file_time_type::clock::now(), none);
  return object;
}

void CodeCache::report_unwritable(std::string_view why) {
  const int level = told_.exchange(true, std::memory_order_relaxed) ? 2 : 1;
  logging::debug(level, "cache", "generated code is not kept: {}", why);
}

void CodeCache::store(std::string_view key, std::string_view object) {
  if (!is_on()) return;
  std::error_code fault;
  fs::create_directories(folder_.parent_path(), fault);
  if (::mkdir(folder_.c_str(), S_IRWXU) != 0 && !is_private()) {
    return report_unwritable(fmt::format("{} cannot be created, or others may write to it", folder_.string()));
  }
  const std::string file = packed(version_ + std::string(key), object);
  if (const Status s = write_file(file_of(key).string(), file); !s) {
    return report_unwritable(s.error().text());
  }
  const std::scoped_lock lock(mutex_);
  stored_ += file.size();
  if (stored_ >= kMaxBytes / 16) evict();
}

void CodeCache::evict() {
  stored_ = 0;
  struct Entry {
    fs::file_time_type used;
    std::uintmax_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::error_code none;
  std::uintmax_t total = 0;
  for (const auto& file : fs::directory_iterator(folder_, none)) {
    entries.push_back({file.last_write_time(none), file.file_size(none), file.path()});
    total += entries.back().bytes;
  }
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& e : entries) {
    if (total <= kMaxBytes) break;
    if (fs::remove(e.path, none)) total -= e.bytes;
  }
}

}  // namespace frazil::exec
