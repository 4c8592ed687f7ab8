#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <frazil/array.h>

#include "server/state/page.h"

// Tensors stored as pages, each with the same number of positions along an axis. A page contains its positions of all
// tensors with the same length, one tensor after the other. Therefore the number of pages does not grow with the number
// of layers.
namespace frazil::server {

/// One of the paged tensors.
struct PagedPart {
  std::size_t value = 0;  ///< index among the state's values
  api::Dtype dtype = api::Dtype::f32;
  api::Sizes sizes;
  std::size_t axis = 0;
  std::size_t blocks = 1, row_bytes = 0;  ///< a position has one row in each block

  /// Returns nullopt for tensors that cannot be paged: strings, booleans, tensors without elements at a position, and
  /// impossible extents.
  static std::optional<PagedPart> make(std::size_t value, api::Dtype dtype, api::Sizes sizes, std::size_t axis);
  std::uint64_t length() const { return static_cast<std::uint64_t>(sizes[axis]); }
  std::size_t position_bytes() const { return blocks * row_bytes; }
};

struct PageList {
  std::vector<PagedPart> parts;  ///< of equal lengths; at least one
  std::uint64_t per_page = 1;    ///< positions per page
  std::vector<PageId> pages;     ///< the full pages
  std::string tail;              ///< the remaining positions, in the layout of a page

  std::uint64_t length() const { return parts.front().length(); }
  std::size_t position_bytes() const;
  /// Returns true if the number of pages and the size of the tail match the parts' sizes.
  bool fits() const;
};

}  // namespace frazil::server
