#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/message.h"
#include "server/page.h"

namespace frazil::server {

/// Throws Refusal (unavailable). `what`: "read", "written" or "removed".
[[noreturn]] inline void refuse_state(std::string_view what, const std::string& why) {
  throw Refusal(Http::unavailable, "the sequence's state cannot be " + std::string(what) + ": " + why);
}

/// Where the states of sequences are kept beside memory, as bytes. Thread-safe, except for two calls with one key at
/// once. Functions throw Refusal (unavailable) when what is behind does not work; the message is fit for a client.
class StateKeeper {
 public:
  StateKeeper() = default;
  StateKeeper(const StateKeeper&) = delete;
  StateKeeper& operator=(const StateKeeper&) = delete;
  virtual ~StateKeeper() = default;

  /// Whether other replicas read and write the same states. It forgets them by itself, then.
  virtual bool shared() const = 0;
  /// What was saved last; nothing where it is not known.
  virtual std::optional<std::string> load(const std::string& key) = 0;
  /// The first bytes of what was saved last, `count` at most; none where it is not known.
  virtual std::string head(const std::string& key, std::size_t count) = 0;
  /// Replaces what is kept. It need not be kept longer than `idle`. When it throws, the old or the new bytes are kept.
  /// `pages`: that belong to the bytes; those that are not kept already are written before the bytes are.
  virtual void save(const std::string& key, std::string_view bytes, std::span<const PagePtr> pages,
                    std::chrono::microseconds idle) = 0;
  /// Pages of what was saved last under some key; nothing for those that are not there. They may be damaged.
  virtual std::vector<std::optional<std::string>> load_pages(std::span<const PageId> ids) = 0;
  /// Pages that were made of what load_pages() gave.
  virtual void loaded(std::span<const PagePtr> pages) { (void)pages; }
  /// Removes pages that nobody needs, some at a time; is called now and then.
  virtual void tidy() {}
  /// No error where it is not known.
  virtual void erase(const std::string& key) = 0;

  /// What it has now belongs to an era, which ends when it loses all that it has. Empty: not known. Throws nothing.
  virtual std::string era() { return {}; }
  /// Whether the era has ended. An empty one has not.
  virtual bool is_over(const std::string& era) {
    (void)era;
    return false;
  }

  struct Found {
    std::string key;
    std::chrono::microseconds idle;  ///< from now on
  };
  /// What an earlier process has left. To be called once, before all others.
  virtual std::vector<Found> find_left() { return {}; }
};

}  // namespace frazil::server
