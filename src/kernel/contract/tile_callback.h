#pragma once

#include <cstdint>

namespace frazil::kernel {

/// A callback for each completed output tile of a product or convolution. Rows [row0, row1) x columns [col0, col1) have
/// their final values and are likely still in a cache. Tiles do not overlap. Together they cover the whole result,
/// unless the run is stopped. It is called on the thread that computed the tile.
struct TileCallback {
  void (*done)(void* context, std::int64_t row0, std::int64_t row1, std::int64_t col0, std::int64_t col1) = nullptr;
  void* context = nullptr;
  bool whole_rows = false;  ///< report only tiles that span all columns
  /// Not null for a result that is not stored. Before each call the kernel stores here the address of the tile's first
  /// element. The tile's rows are as far apart as those of a whole result.
  void** result = nullptr;

  void operator()(std::int64_t row0, std::int64_t row1, std::int64_t col0, std::int64_t col1) const {
    done(context, row0, row1, col0, col1);
  }
};

}  // namespace frazil::kernel
