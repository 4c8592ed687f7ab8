#pragma once

#include <cstdint>

namespace frazil::kernel {

/// Callback for each completed output tile of a product or convolution: rows [row0, row1) x columns [col0, col1) have
/// their final values and are likely still in a cache. Tiles do not overlap; together they cover the whole result,
/// unless the run is stopped. Called on the thread that computed the tile.
struct TileCallback {
  void (*done)(void* context, std::int64_t row0, std::int64_t row1, std::int64_t col0, std::int64_t col1) = nullptr;
  void* context = nullptr;
  bool whole_rows = false;  ///< report only tiles that span all columns
  /// Not null for a result that is kept nowhere. Before each call the kernel stores there where the tile's first
  /// element lies; the tile's rows are as far apart as those of a whole result.
  void** result = nullptr;

  void operator()(std::int64_t row0, std::int64_t row1, std::int64_t col0, std::int64_t col1) const {
    done(context, row0, row1, col0, col1);
  }
};

}  // namespace frazil::kernel
