#include "server/state/page_files.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace frazil::server {

void PageFiles::loosen(const PageId& page, Entry& entry) {
  if (entry.states > 0 || std::exchange(entry.loose, true)) return;
  loose_.push_back(page);
  ++added_;
}

void PageFiles::found(const PageId& page) {
  const std::scoped_lock lock(mutex_);
  Entry& entry = pages_[page];
  entry.written = true;
  loosen(page, entry);
}

bool PageFiles::has(const PageId& page) const {
  const std::scoped_lock lock(mutex_);
  const auto at = pages_.find(page);
  return at != pages_.end() && at->second.written;
}

void PageFiles::note(std::span<const PagePtr> pages) {
  for (const PagePtr& page : pages) (void)page->id();  // outside of the lock, as hashing takes time
  const std::scoped_lock lock(mutex_);
  for (const PagePtr& page : pages) {
    Entry& entry = pages_[page->id()];
    entry.page = page;
    loosen(page->id(), entry);
  }
}

std::vector<PagePtr> PageFiles::without_file(std::span<const PagePtr> pages) const {
  std::vector<PagePtr> without;
  const std::scoped_lock lock(mutex_);
  std::ranges::copy_if(pages, std::back_inserter(without),
                       [&](const PagePtr& page) { return !pages_.at(page->id()).written; });
  return without;
}

void PageFiles::written(std::span<const PagePtr> pages) {
  const std::scoped_lock lock(mutex_);
  for (const PagePtr& page : pages) pages_.at(page->id()).written = true;
}

void PageFiles::set_state(const std::string& file, std::vector<PageId> pages) {
  const std::scoped_lock lock(mutex_);
  for (const PageId& page : pages) ++pages_[page].states;
  std::vector<PageId>& mine = states_[file];
  mine.swap(pages);
  for (const PageId& page : pages) {
    Entry& entry = pages_.at(page);
    --entry.states;
    loosen(page, entry);
  }
  if (mine.empty()) states_.erase(file);
}

void PageFiles::remove_unused(std::size_t more, const std::function<void(const PageId&)>& remove) {
  const std::scoped_lock lock(mutex_);
  std::size_t looks = std::min(std::exchange(added_, 0) + more, loose_.size());
  for (; looks > 0; --looks) {
    const PageId page = loose_.front();
    loose_.pop_front();
    Entry& entry = pages_.at(page);
    entry.loose = false;
    if (entry.states > 0) continue;
    if (!entry.page.expired()) {
      entry.loose = true;
      loose_.push_back(page);
      continue;
    }
    if (entry.written) remove(page);
    pages_.erase(page);
  }
}

}  // namespace frazil::server
