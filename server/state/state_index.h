#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "server/state/state.h"

// The data of a StateStore about its sequences, guarded by its lock.
namespace frazil::server {

/// Counts the pages that several sequences share.
class PageUsers {
 public:
  /// Replaces a sequence's state; both may be null.
  void change(const State* before, const State* now) {
    if (before != nullptr && now != nullptr && &before->lists() == &now->lists()) return;
    const auto lists_of = [](const State* state) {
      return state == nullptr ? std::span<const PagedTensors>() : std::span(state->lists());
    };
    const auto olds = lists_of(before), news = lists_of(now);
    for (std::size_t i = 0; i < std::max(olds.size(), news.size()); ++i) {
      change(i < olds.size() ? pages_of(olds[i]) : Pages(), i < news.size() ? pages_of(news[i]) : Pages());
    }
  }
  std::uint64_t shared() const { return shared_; }
  std::uint64_t saved_bytes() const { return saved_bytes_; }

 private:
  using Pages = std::span<const PagePtr>;
  static Pages pages_of(const PagedTensors& list) { return list.pages(); }

  void change(Pages before, Pages now) {
    for (std::size_t k = 0; k < std::max(before.size(), now.size()); ++k) {
      const Page* const old = k < before.size() ? before[k].get() : nullptr;
      const Page* const next = k < now.size() ? now[k].get() : nullptr;
      if (old == next) continue;
      if (next != nullptr) add(*next);
      if (old != nullptr) drop(*old);
    }
  }
  void add(const Page& page) {
    if (page.users++ == 0) return;
    saved_bytes_ += page.bytes().size();
    if (page.users == 2) ++shared_;
  }
  void drop(const Page& page) {
    if (--page.users == 0) return;
    saved_bytes_ -= page.bytes().size();
    if (page.users == 1) --shared_;
  }

  std::uint64_t shared_ = 0, saved_bytes_ = 0;
};

/// The entry of a sequence.
struct StateEntry {
  using Turn = std::function<void(State::Ptr)>;
  using Item = std::pair<const std::string, StateEntry>;

  /// The reading of a state by begin(), which other calls wait for.
  struct Opening {
    std::condition_variable ended;
    bool done = false;
    std::optional<std::string> fault;
  };

  State::Ptr state;         ///< in memory
  bool kept = false;        ///< the keeper has the same state
  std::string head;         ///< header of the state in Redis
  std::string unconfirmed;  ///< header of a state whose write to Redis was not acknowledged
  std::string era;          ///< era of the keeper when it had the state
  Clock::time_point expires;
  /// True while a turn or another operation owns the entry. Only the owner accesses the members above, without a lock.
  bool running = false;
  std::shared_ptr<Opening> opening;
  std::list<Turn> waiting;
  std::optional<std::list<Item*>::iterator> in_memory, in_hot;
  std::optional<std::multimap<Clock::time_point, Item*>::iterator> in_expiry;
};

/// The sequences. Idle ones are ordered by last use and by expiry. Not thread-safe.
class StateIndex {
 public:
  using Item = StateEntry::Item;

  Item* find(const std::string& key) {
    const auto at = items_.find(key);
    return at == items_.end() ? nullptr : &*at;
  }
  Item& add(const std::string& key) {
    bytes_ += key.size() + kSequenceBytes;
    return *items_.try_emplace(key).first;
  }
  /// Returns the removed state, which may be expensive to free.
  State::Ptr remove(Item& item) {
    wake(item);
    State::Ptr old = set_state(item, nullptr);
    bytes_ -= item.first.size() + kSequenceBytes;
    items_.erase(items_.find(item.first));
    return old;
  }
  State::Ptr set_state(Item& item, State::Ptr state) {
    bytes_ += memory_of(state);
    bytes_ -= memory_of(item.second.state);
    pages_.change(item.second.state.get(), state.get());
    return std::exchange(item.second.state, std::move(state));
  }

  void rest(Item& item) {
    StateEntry& entry = item.second;
    if (entry.state != nullptr) entry.in_memory = by_use_.insert(by_use_.end(), &item);
    if (entry.state != nullptr && entry.state->hot()) entry.in_hot = hot_by_use_.insert(hot_by_use_.end(), &item);
    entry.in_expiry = by_expiry_.emplace(entry.expires, &item);
  }
  void wake(Item& item) {
    if (const auto at = std::exchange(item.second.in_memory, {})) by_use_.erase(*at);
    if (const auto at = std::exchange(item.second.in_hot, {})) hot_by_use_.erase(*at);
    if (const auto at = std::exchange(item.second.in_expiry, {})) by_expiry_.erase(*at);
  }
  /// Returns the least recently used idle sequence in memory, or null.
  Item* oldest() { return by_use_.empty() ? nullptr : by_use_.front(); }
  /// As oldest(), among hot states.
  Item* oldest_hot() { return hot_by_use_.empty() ? nullptr : hot_by_use_.front(); }
  Item* expired(Clock::time_point now) {
    const auto first = by_expiry_.begin();
    return first == by_expiry_.end() || first->first > now ? nullptr : first->second;
  }

  std::uint64_t count() const { return items_.size(); }
  std::uint64_t bytes() const { return bytes_; }  ///< excluding pages
  const PageUsers& pages() const { return pages_; }
  auto& all() { return items_; }

 private:
  static std::size_t memory_of(const State::Ptr& state) { return state == nullptr ? 0 : state->memory(); }

  static constexpr std::size_t kSequenceBytes = 512;  // memory per sequence, excluding key and state

  std::unordered_map<std::string, StateEntry> items_;
  std::list<Item*> by_use_, hot_by_use_;
  std::multimap<Clock::time_point, Item*> by_expiry_;
  std::uint64_t bytes_ = 0;
  PageUsers pages_;
};

}  // namespace frazil::server
