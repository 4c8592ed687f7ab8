#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/page.h"

namespace frazil::server {

/// Which pages a folder has as files, and who needs them: the files of states, and pages in memory, which may be
/// written again. Thread-safe.
class PageFiles {
 public:
  /// There is a file, and nobody is known who needs it.
  void found(const PageId& page);
  bool has(const PageId& page) const;
  /// Pages that are in memory.
  void note(std::span<const PagePtr> pages);
  /// Of pages that were noted those without a file.
  std::vector<PagePtr> without_file(std::span<const PagePtr> pages) const;
  void written(std::span<const PagePtr> pages);
  /// The file of a state needs these pages, instead of others before.
  void set_state(const std::string& file, std::vector<PageId> pages);

  /// Calls `remove` with pages whose files nobody needs, as often as others have become so since, and at most `more`
  /// times beyond. Nobody is told meanwhile that a file is there; the lock is held.
  void remove_unused(std::size_t more, const std::function<void(const PageId&)>& remove);

 private:
  struct Entry {
    bool written = false;
    bool loose = false;        ///< it is in loose_
    std::uint64_t states = 0;  ///< files that need it
    std::weak_ptr<const Page> page;
  };
  void loosen(const PageId& page, Entry& entry);

  mutable std::mutex mutex_;
  std::unordered_map<PageId, Entry, PageIdHash> pages_;
  std::unordered_map<std::string, std::vector<PageId>> states_;
  std::deque<PageId> loose_;  ///< that no state's file needed when they were added
  std::size_t added_ = 0;     ///< to loose_, since it was last looked at
};

}  // namespace frazil::server
