#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/thread/mutex.h"

namespace frazil::exec {

/// Changes with everything that generated code depends on besides its key: the sources of the code generator and of all
/// that these include. See code/code_version.cmake.
std::string_view code_version();

/// Objects of generated code on disk, found by what they were generated from. Several processes may use one folder at
/// once. An entry that is cut off, changed or of another build counts as absent and is deleted. All members are
/// thread-safe and never fail: without the cache code is generated again.
class CodeCache {
 public:
  /// The one that FRAZIL_CODE_CACHE names: off, a folder, or by default "code" in the user's folder.
  static CodeCache& instance();
  /// Off where `folder` is empty. It is made on the first store, for this user alone; one that others may write to is
  /// not used. `version`: entries of other versions are absent.
  explicit CodeCache(std::filesystem::path folder, std::string_view version = code_version());

  /// The object stored under exactly this key by the same build of the code generator.
  std::optional<std::string> load(std::string_view key);
  /// Stores it; then deletes the entries that were used longest ago until all take kMostBytes at most.
  void store(std::string_view key, std::string_view object);

  /// For a process that measures what compiling takes. Not thread-safe.
  void turn_off() { folder_.clear(); }
  bool is_on() const { return !folder_.empty(); }
  static constexpr std::uintmax_t kMostBytes = std::uintmax_t{256} << 20;

 private:
  std::filesystem::path file_of(std::string_view key) const;
  bool is_private() const;
  void evict();

  std::filesystem::path folder_;
  std::string version_;
  Mutex mutex_;
  std::uintmax_t stored_ = 0;  // bytes since evict() last looked
};

}  // namespace frazil::exec
