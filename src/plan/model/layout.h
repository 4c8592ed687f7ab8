#pragma once

#include <optional>
#include <vector>

#include "ir/graph/type.h"
#include "sym/dim.h"

namespace frazil {

/// How a slot's elements lie in its storage, as Dims.
struct Layout {
  Shape shape;
  std::vector<Dim> strides;  ///< in elements
  Dim offset = 0;            ///< in elements
  bool contiguous = true;    ///< row-major without padding, at any offset

  /// All of the storage from its beginning on, in row-major order.
  bool is_whole() const { return contiguous && offset == Dim(0); }
};

Layout row_major(Scope& scope, const Shape& shape);
/// Row-major with a capacity in place of the extent of `axis`.
Layout with_capacity(Scope& scope, const Shape& shape, std::size_t axis, Dim capacity);
/// True when axes of more than one element have the strides that they have in row-major order.
bool is_row_major(Scope& scope, const Layout& layout);
/// The part at position `at` of `axis`, that axis removed.
Layout at_position(Scope& scope, Layout layout, std::size_t axis, Dim at);
/// The layout of the same elements under other extents, where only axes without padding between them fall apart or
/// together; nullopt otherwise.
std::optional<Layout> regrouped(Scope& scope, const Layout& from, const Shape& shape);

}  // namespace frazil
