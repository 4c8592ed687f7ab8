#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/thread/mutex.h"

namespace frazil::exec {

/// Returns a version that changes with everything that generated code depends on besides its key: the sources of the
/// code generator and all files that they include. See code/code_version.cmake.
std::string_view code_version();

/// A cache of generated code on disk, keyed by the input of the code generator. Several processes may use one folder at
/// the same time. A truncated or changed entry is treated as absent and deleted; entries of other builds are not found.
/// Members never fail: on a miss, code is generated again. Thread-safe, except turn_off().
class CodeCache {
 public:
  /// Returns the cache that FRAZIL_CODE_CACHE selects: "off", a folder, or by default "code" in the user's cache
  /// folder.
  static CodeCache& instance();
  /// Turns the cache off if `folder` is empty. The folder is created on the first store, for this user alone. A folder
  /// that others may write to is not used. Entries of another `version` are absent.
  explicit CodeCache(std::filesystem::path folder, std::string_view version = code_version());

  /// Returns the object that the same build of the code generator stored under exactly this key.
  std::optional<std::string> load(std::string_view key);
  /// Stores the object. After each kMaxBytes / 16 bytes stored, deletes the least recently used entries until at most
  /// kMaxBytes remain.
  void store(std::string_view key, std::string_view object);

  /// Turns the cache off, for a process that measures compile times. Not thread-safe.
  void turn_off() { folder_.clear(); }
  bool is_on() const { return !folder_.empty(); }
  static constexpr std::uintmax_t kMaxBytes = std::uintmax_t{256} << 20;

 private:
  std::filesystem::path file_of(std::string_view key) const;
  bool is_private() const;
  void evict();
  void report_unwritable(std::string_view why);

  std::filesystem::path folder_;
  std::string version_;
  Mutex mutex_;
  std::uintmax_t stored_ = 0;       // bytes since the last evict()
  std::atomic<bool> told_ = false;  // whether a failed store has been logged as information
};

}  // namespace frazil::exec
