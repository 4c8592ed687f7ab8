#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "server/growth.h"
#include "server/page_list.h"
#include "server/request.h"

namespace frazil::server {

/// The elements of a tensor, as bytes: block after block, each with row after row.
struct Rows {
  const char* data = nullptr;
  std::size_t block_stride = 0;  ///< from a block to the next; more than its rows where there is room between them
};
/// Where they lie, without making them dense if blocks and rows can be told.
Rows rows_of(const api::Array& tensor, const PagedPart& part);

/// Tensors of a state that grow together, as pages. Immutable.
class PagedTensors {
 public:
  /// What of a state can lie in pages, and how: the tensors of each group, where their lengths agree.
  static std::vector<PageList> lists_for(const std::vector<NamedArray>& values, const Growing& growing,
                                         std::size_t page_bytes);

  /// `list`: of lists_for(). Pages of `before` are taken where they have the same bytes; those before position `same`
  /// are known to have. Others come from the pool.
  PagedTensors(PageList list, const std::vector<NamedArray>& values, const PagedTensors* before, std::uint64_t same,
               PagePool& pool);
  /// `list`: fits. `page`: gives the page of an id. Throws StateFault for a page of another size.
  PagedTensors(PageList list, const std::function<PagePtr(const PageId&)>& page);

  const std::vector<PagedPart>& parts() const { return list_.parts; }
  std::uint64_t length() const { return list_.length(); }
  const std::vector<PagePtr>& pages() const { return pages_; }
  /// The tensor of a part, with elements of its own.
  api::Array gather(std::size_t index) const;
  /// With the pages' names.
  PageList list() const;
  /// Beside the pages.
  std::size_t memory() const;

 private:
  std::size_t page_bytes() const { return list_.per_page * list_.position_bytes(); }
  bool takes_from(const PagedTensors& other) const;

  PageList list_;  ///< its pages have no names
  std::vector<PagePtr> pages_;
};

}  // namespace frazil::server
