#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/state/page.h"

namespace frazil::server {

/// The page files of a folder and their users: the files of states, and pages in memory that may be written again.
/// Thread-safe.
class PageFiles {
 public:
  /// Records a file without known users.
  void found(const PageId& page);
  bool has(const PageId& page) const;
  /// Records pages that are in memory.
  void note(std::span<const PagePtr> pages);
  /// Returns those of the noted pages that have no file.
  std::vector<PagePtr> without_file(std::span<const PagePtr> pages) const;
  void written(std::span<const PagePtr> pages);
  /// Replaces the pages that the file of a state uses.
  void set_state(const std::string& file, std::vector<PageId> pages);

  /// Calls `remove` for pages without users. Examines as many candidates as were added since the last call, plus
  /// `more`. The lock is held during the call.
  void remove_unused(std::size_t more, const std::function<void(const PageId&)>& remove);

 private:
  struct Entry {
    bool written = false;
    bool loose = false;        ///< is in loose_
    std::uint64_t states = 0;  ///< number of state files that use it
    std::weak_ptr<const Page> page;
  };
  void loosen(const PageId& page, Entry& entry);

  mutable std::mutex mutex_;
  std::unordered_map<PageId, Entry, PageIdHash> pages_;
  std::unordered_map<std::string, std::vector<PageId>> states_;
  std::deque<PageId> loose_;  ///< pages without a state file when they were added
  std::size_t added_ = 0;     ///< added to loose_ since the last remove_unused()
};

}  // namespace frazil::server
