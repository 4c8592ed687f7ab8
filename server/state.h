#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/paged_tensors.h"
#include "server/state_bytes.h"

namespace frazil::server {

/// The state of a sequence after one of its turns. Values that do not grow lie in bytes of its own. Those that grow are
/// the tensors that the turn has left (the state is hot: the next turn gets them as they are), or pages, or both.
/// Immutable; thread-safe.
class State {
 public:
  using Ptr = std::shared_ptr<const State>;
  using Values = std::vector<NamedArray>;

  /// How states are made.
  struct How {
    PagePool& pool;
    std::size_t page_bytes;  ///< that a page has about; 0: values that grow are kept as others are
    bool pages_at_once;      ///< for what keeps states needs them after each turn
  };
  /// `values`: copied, but for those that grow, whose memory is kept. Throws std::length_error as bytes_of_state().
  static Ptr after(const Ptr& before, const Values& values, const std::shared_ptr<const Growing>& growing,
                   const How& how);
  /// `content`: of `bytes`, which are of kept_bytes(). `page`: gives the page of an id. Throws StateFault.
  static Ptr read(const std::shared_ptr<const std::string>& bytes, StateContent content,
                  const std::function<PagePtr(const PageId&)>& page);

  /// A value with this name, and elements that stay what they are; nothing where there is none.
  std::optional<api::Array> value(std::string_view name) const;
  Values values() const;

  /// Stands for a state that was kept and is lost: it has no values.
  static Ptr lost();
  bool is_lost() const { return lost_; }

  bool hot() const { return hot_bytes_ > 0; }
  /// The same values, with growing ones in pages only.
  static Ptr cold(const Ptr& state, const How& how);

  std::uint64_t turn() const { return turn_; }
  /// Bytes of memory beside those of pages.
  std::size_t memory() const { return memory_; }
  /// What it has in pages. A hot state may have those of an older one, so that the next ones need not be made anew.
  const std::vector<PagedTensors>& lists() const;

  /// What is written for it: bytes of state_bytes.h, and the pages that they name. It is cold, or was made with
  /// pages_at_once.
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
  std::shared_ptr<const std::string> bytes_;  ///< of form 1: what is not in pages
  Values values_;                             ///< all, in their order; none for what is in pages only
  Lists lists_;                               ///< may be null
  bool whole_ = true;                         ///< lists_ are of this turn
  std::shared_ptr<const Growing> growing_;    ///< of a hot one
  std::size_t hot_bytes_ = 0, memory_ = 0;
  bool lost_ = false;
};

}  // namespace frazil::server
