#pragma once

#include <optional>
#include <vector>

#include "ir/graph/type.h"
#include "sym/dim.h"

namespace frazil {

/// The positions of a slot's elements in its storage, as Dims.
struct Layout {
  Shape shape;
  std::vector<Dim> strides;  ///< in elements
  Dim offset = 0;            ///< in elements
  bool contiguous = true;    ///< row-major without padding, at any offset

  /// Returns true if the elements are row-major from the beginning of the storage.
  bool is_whole() const { return contiguous && offset == Dim(0); }
};

Layout row_major(Scope& scope, const Shape& shape);
/// Returns a row-major layout with a capacity in place of the extent of `axis`.
Layout with_capacity(Scope& scope, const Shape& shape, std::size_t axis, Dim capacity);
/// Returns true if axes of more than one element have the strides of row-major order.
bool is_row_major(Scope& scope, const Layout& layout);
/// Returns the part at position `at` of `axis`, with that axis removed.
Layout at_position(Scope& scope, Layout layout, std::size_t axis, Dim at);
/// Returns the layout of the same elements under other extents. Splits and merges only axes without padding between
/// them; returns nullopt if others would have to be.
std::optional<Layout> regrouped(Scope& scope, const Layout& from, const Shape& shape);

}  // namespace frazil
