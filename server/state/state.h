#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/state/paged_tensors.h"
#include "server/state/state_bytes.h"

namespace frazil::server {

/// The state of a sequence after one of its turns. Values that do not grow are stored in its own bytes. Growing values
/// are tensors (the state is hot and the next turn uses them directly), or pages, or both. Immutable; thread-safe.
class State {
 public:
  using Ptr = std::shared_ptr<const State>;
  using Values = std::vector<NamedArray>;

  /// The parameters for creating states.
  struct Options {
    PagePool& pool;
    std::size_t page_bytes;  ///< approximate page size; 0: growing values are not paged
    bool pages_at_once;      ///< create pages after each turn, as the keeper needs them
  };
  /// Creates the state after a turn. `values` are copied, except growing ones, whose memory is shared. Throws
  /// std::length_error as bytes_of_state().
  static Ptr after(const Ptr& before, const Values& values, const std::shared_ptr<const Growing>& growing,
                   const Options& how);
  /// Restores a state. `content` is the decoded form of `bytes`, which are from kept_bytes(). `page` returns the page
  /// for an id. Throws StateFault.
  static Ptr read(const std::shared_ptr<const std::string>& bytes, StateContent content,
                  const std::function<PagePtr(const PageId&)>& page);

  /// Returns the value with this name, whose elements never change; nullopt if there is none.
  std::optional<api::Array> value(std::string_view name) const;
  Values values() const;

  /// Returns the placeholder for a saved state that was lost. It has no values.
  static Ptr lost();
  bool is_lost() const { return lost_; }

  bool hot() const { return hot_bytes_ > 0; }
  /// Returns the same values with growing ones in pages only.
  static Ptr cold(const Ptr& state, const Options& how);

  std::uint64_t turn() const { return turn_; }
  /// Returns the bytes of memory, excluding pages.
  std::size_t memory() const { return memory_; }
  /// Returns the paged values. A hot state may have those of an older state, so that later states can reuse the pages.
  const std::vector<PagedTensors>& lists() const;

  /// Returns the bytes to save, in the form of state_bytes.h, which refer to pages(). The state must be cold or created
  /// with pages_at_once.
  std::shared_ptr<const std::string> kept_bytes() const;
  std::vector<PagePtr> pages() const;

 private:
  using Lists = std::shared_ptr<const std::vector<PagedTensors>>;

  State() = default;
  void set_rest(const Values& values, const std::vector<PageList>& lists);
  void set_hot(const Values& values, const std::vector<PageList>& lists);
  void make_pages(const Values& values, std::vector<PageList> lists, const State* before, PagePool& pool);
  void measure();
  api::Array value_at(std::size_t index) const;

  std::uint64_t turn_ = 0;
  std::shared_ptr<const std::string> bytes_;  ///< form 1: the values outside of pages
  Values values_;                             ///< all, in order; empty arrays for values in pages only
  Lists lists_;                               ///< may be null
  bool whole_ = true;                         ///< lists_ belong to this turn
  std::shared_ptr<const Growing> growing_;    ///< for a hot state
  std::size_t hot_bytes_ = 0, memory_ = 0;
  bool lost_ = false;
};

}  // namespace frazil::server
