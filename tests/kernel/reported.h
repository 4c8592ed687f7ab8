#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace frazil::kernel {

/// What was reported of C, and whether it had its final values.
template <class T>
struct Reported {
  const std::vector<T>* expected;
  std::vector<T> c;
  std::vector<int> seen;
  std::int64_t n;
  static void done(void* self, std::int64_t row0, std::int64_t row1, std::int64_t col0, std::int64_t col1) {
    auto& r = *static_cast<Reported*>(self);
    for (std::int64_t i = row0; i < row1; ++i) {
      for (std::int64_t j = col0; j < col1; ++j) {
        const auto at = static_cast<std::size_t>(i * r.n + j);
        EXPECT_EQ(r.c[at], (*r.expected)[at]);
        ++r.seen[at];
      }
    }
  }
};

}  // namespace frazil::kernel
