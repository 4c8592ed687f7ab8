#pragma once

#include <cstdint>

namespace frazil::kernel {

/// Whom a product tells of each part of its result, rows [row0, row1) x columns [col0, col1), once nothing more is
/// added to it and while it is likely in a cache. Parts do not overlap and make up the whole result, unless a run is
/// stopped.
struct Parts {
  void (*done)(void* context, std::int64_t row0, std::int64_t row1, std::int64_t col0, std::int64_t col1) = nullptr;
  void* context = nullptr;
  bool whole_rows = false;  ///< only all columns at a time

  void operator()(std::int64_t row0, std::int64_t row1, std::int64_t col0, std::int64_t col1) const {
    done(context, row0, row1, col0, col1);
  }
};

}  // namespace frazil::kernel
