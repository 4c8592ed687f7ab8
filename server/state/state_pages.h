#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/state/page.h"
#include "server/state/state.h"
#include "server/state/state_keeper.h"

namespace frazil::server {

/// The pages of states: makes states that share pages, and reads and writes them with their pages. Keys are texts of
/// StateKey; states of different tenants share no pages. Thread-safe.
class StatePages {
 public:
  /// `page_bytes`: as StateConfig. `keeper` outlives this object; null: states are not read and written.
  StatePages(std::size_t page_bytes, StateKeeper* keeper)
      : page_bytes_(page_bytes), keeper_(keeper), shared_(keeper != nullptr && keeper->shared()) {}

  /// Returns the bytes and counts of the pages of all tenants.
  std::uint64_t bytes() const { return all_.bytes(); }
  PagePool::Counts counts() const { return all_.counts(); }

  /// Returns the state that follows `before`, as State::after(). Throws Refusal (unavailable) if it cannot be kept.
  State::Ptr after(std::string_view key, const State::Ptr& before, const State::Values& values,
                   const std::shared_ptr<const Growing>& growing);
  /// Returns the state with its values in pages. Throws std::bad_alloc.
  State::Ptr cold(std::string_view key, const State::Ptr& hot) { return State::cold(hot, how(key)); }
  /// Returns the state of bytes that check_state() accepts, with pages from the keeper. Returns null if Redis has
  /// evicted a page, as it may under memory pressure. Throws StateFault for a missing or damaged page of a folder.
  State::Ptr read(std::string_view key, const std::shared_ptr<const std::string>& bytes);
  /// Writes a state that is forgotten after `left`. Throws the errors of StateKeeper::save().
  void save(const std::string& key, const State::Ptr& state, std::chrono::microseconds left);

 private:
  using Pages = std::unordered_map<PageId, PagePtr, PageIdHash>;
  PagePool& pool_of(std::string_view key);
  State::Options how(std::string_view key);
  bool load(const std::vector<PageId>& ids, Pages& to, PagePool& from);

  const std::size_t page_bytes_;
  StateKeeper* const keeper_;
  const bool shared_;
  const PagePool all_;                                  // counts the pages of all tenants
  std::mutex mutex_;                                    // guards pools_, whose elements have stable addresses
  std::map<std::string, PagePool, std::less<>> pools_;  // by tenant, so that no tenant can detect pages of others
};

}  // namespace frazil::server
