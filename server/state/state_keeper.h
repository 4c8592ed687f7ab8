#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/message.h"
#include "server/state/page.h"

namespace frazil::server {

/// Throws Refusal (unavailable). `what` is "read", "written" or "removed".
[[noreturn]] inline void refuse_state(std::string_view what, const std::string& why) {
  throw Refusal(Http::unavailable, "the sequence's state cannot be " + std::string(what) + ": " + why);
}

/// A storage of sequence states, as bytes, beyond memory. Thread-safe, except for concurrent calls with the same key.
/// Functions throw Refusal (unavailable) if the storage fails; the message may be shown to clients.
class StateKeeper {
 public:
  StateKeeper() = default;
  StateKeeper(const StateKeeper&) = delete;
  StateKeeper& operator=(const StateKeeper&) = delete;
  virtual ~StateKeeper() = default;

  /// Returns true if other replicas use the same states. The storage then expires them itself.
  virtual bool shared() const = 0;
  /// Returns the saved bytes, or nullopt for an unknown key.
  virtual std::optional<std::string> load(const std::string& key) = 0;
  /// Returns at most `count` first bytes of the saved bytes; empty for an unknown key.
  virtual std::string head(const std::string& key, std::size_t count) = 0;
  /// Replaces the saved bytes, which expire after `idle`. `pages` are the pages of the bytes. Missing pages are written
  /// before the bytes. After an exception, either the old or the new bytes are stored.
  virtual void save(const std::string& key, std::string_view bytes, std::span<const PagePtr> pages,
                    std::chrono::microseconds idle) = 0;
  /// Returns sealed pages of states saved under any key; nullopt for missing ones. They may be damaged.
  virtual std::vector<std::optional<std::string>> load_pages(std::span<const PageId> ids) = 0;
  /// Called with the pages created from the result of load_pages().
  virtual void loaded(std::span<const PagePtr> pages) { (void)pages; }
  /// Removes some unused pages. Called periodically.
  virtual void collect_garbage() {}
  /// Ignores an unknown key.
  virtual void erase(const std::string& key) = 0;

  /// Returns the id of the current era, which ends when the storage loses all data; empty if unknown. Does not throw.
  virtual std::string era() { return {}; }
  /// Returns true if the era has ended. An empty era has not.
  virtual bool is_over(const std::string& era) {
    (void)era;
    return false;
  }

  struct Found {
    std::string key;
    std::chrono::microseconds idle;  ///< remaining time
  };
  /// Returns the states left by an earlier process. Call it once, before all other functions.
  virtual std::vector<Found> find_stored() { return {}; }
};

}  // namespace frazil::server
