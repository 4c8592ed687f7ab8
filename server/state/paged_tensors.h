#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "server/request/request.h"
#include "server/state/growth.h"
#include "server/state/page_list.h"

namespace frazil::server {

/// The bytes of a tensor: rows within blocks, dense within each block.
struct Rows {
  const char* data = nullptr;
  std::size_t block_stride = 0;  ///< bytes from one block to the next; larger than its rows if there is a gap
};
/// Returns the rows of a tensor. The tensor is only made dense if its strides do not have this form.
Rows rows_of(const api::Array& tensor, const PagedPart& part);

/// Tensors of a state that grow together, as pages. Immutable.
class PagedTensors {
 public:
  /// Returns the layout of the tensors that can be paged. Each group whose tensors have equal lengths gives one list.
  static std::vector<PageList> lists_for(const std::vector<NamedArray>& values, const Growing& growing,
                                         std::size_t page_bytes);

  /// `list` is one of lists_for(). Pages of `before` are reused if their bytes are equal. Pages below position `same`
  /// are known to be equal and are not compared. Other pages come from the pool.
  PagedTensors(PageList list, const std::vector<NamedArray>& values, const PagedTensors* before, std::uint64_t same,
               PagePool& pool);
  /// `list` must fit. `page` returns the page for an id. Throws StateFault for a page of another size.
  PagedTensors(PageList list, const std::function<PagePtr(const PageId&)>& page);

  const std::vector<PagedPart>& parts() const { return list_.parts; }
  std::uint64_t length() const { return list_.length(); }
  const std::vector<PagePtr>& pages() const { return pages_; }
  /// Returns a dense copy of a part's tensor.
  api::Array gather(std::size_t index) const;
  /// Returns the list including the ids of the pages.
  PageList list() const;
  /// Returns the bytes of memory, excluding pages.
  std::size_t memory() const;

 private:
  std::size_t page_bytes() const { return list_.per_page * list_.position_bytes(); }
  bool takes_from(const PagedTensors& other) const;

  PageList list_;  ///< without page ids
  std::vector<PagePtr> pages_;
};

}  // namespace frazil::server
