#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <frazil/array.h>

#include "server/page.h"

// Tensors as pages, each with equally many positions along an axis. A page has these positions of all tensors that have
// the same length, one tensor behind the other, so that a state of many layers has no more pages than one of few.
namespace frazil::server {

/// One of the tensors.
struct PagedPart {
  std::size_t value = 0;  ///< its place among the state's values
  api::Dtype dtype = api::Dtype::f32;
  api::Sizes sizes;
  std::size_t axis = 0;
  std::size_t blocks = 1, row_bytes = 0;  ///< the rows of a position: one in each block

  /// Nothing for what cannot lie in pages: texts, truth values, tensors without an element at a position, and extents
  /// that no tensor has.
  static std::optional<PagedPart> make(std::size_t value, api::Dtype dtype, api::Sizes sizes, std::size_t axis);
  std::uint64_t length() const { return static_cast<std::uint64_t>(sizes[axis]); }
  std::size_t position_bytes() const { return blocks * row_bytes; }
};

struct PageList {
  std::vector<PagedPart> parts;  ///< of equal lengths; at least one
  std::uint64_t per_page = 1;    ///< positions of a page
  std::vector<PageId> pages;     ///< that are full
  std::string tail;              ///< the positions behind them, as in a page

  std::uint64_t length() const { return parts.front().length(); }
  std::size_t position_bytes() const;
  /// Whether there are as many pages and bytes as the parts' sizes say.
  bool fits() const;
};

}  // namespace frazil::server
