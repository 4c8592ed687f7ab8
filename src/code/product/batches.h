#pragma once

#include <algorithm>
#include <utility>

#include "code/abi/abi.h"

namespace frazil::code {

/// The batch axes of a product: those before the last two of its operands, which broadcast as in NumPy. They are
/// counted from the last one; axes of extent 1 are left out.
struct Batches {
  static constexpr std::size_t kMaxAxes = 40;  ///< with two elements each, they exceed the number of bytes in memory
  std::size_t axes = 0;
  std::int64_t count = 1;
  std::int64_t extents[kMaxAxes] = {}, a_step[kMaxAxes] = {}, b_step[kMaxAxes] = {};  ///< steps in elements

  static std::size_t axes_of(const OperandShape& x) { return x.dims.size() < 2 ? 0 : x.dims.size() - 2; }

  Status prepare(const OperandShape& a, const OperandShape& b) {
    const std::size_t given = std::max(axes_of(a), axes_of(b));
    for (std::size_t i = 0; i < given; ++i) {
      const auto [ea, of_a] = axis(a, i);
      const auto [eb, of_b] = axis(b, i);
      if (ea != eb && ea != 1 && eb != 1)
        return fail(Code::bad_input, "batch extents {} and {} do not broadcast", ea, eb);
      const std::int64_t extent = ea == 1 ? eb : ea;
      if (extent == 1) continue;
      if (axes == kMaxAxes) return fail(Code::limit, "more than {} batch axes", kMaxAxes);
      extents[axes] = extent;
      a_step[axes] = of_a;
      b_step[axes] = of_b;
      count *= extent;
      ++axes;
    }
    return {};
  }

  /// Returns the offsets into a and b of a batch, in elements.
  std::pair<std::int64_t, std::int64_t> at(std::int64_t batch) const {
    std::int64_t a = 0, b = 0;
    for (std::size_t i = 0; i < axes; ++i) {
      a += batch % extents[i] * a_step[i];
      b += batch % extents[i] * b_step[i];
      batch /= extents[i];
    }
    return {a, b};
  }

 private:
  /// Returns the extent and step of an axis. A missing axis has extent 1; an empty operand has step 0.
  static std::pair<std::int64_t, std::int64_t> axis(const OperandShape& x, std::size_t i) {
    const std::size_t n = axes_of(x);
    if (i >= n) return {1, 0};
    const std::int64_t extent = x.dims[n - 1 - i];
    return {extent, extent == 1 || x.empty() ? 0 : x.strides[n - 1 - i]};
  }
};

/// Reads the extents and steps of the last two axes of a NumPy product's operands, of which a vector lacks one.
template <class Product>
void read_matrices(Product& g, const OperandShape& a, const OperandShape& b) {
  const std::size_t ra = a.dims.size(), rb = b.dims.size();
  g.m = ra > 1 ? a.dims[ra - 2] : 1;
  g.k = a.dims[ra - 1];
  g.n = rb > 1 ? b.dims[rb - 1] : 1;
  g.a_row = ra > 1 ? a.strides[ra - 2] : 0;
  g.a_col = a.strides[ra - 1];
  g.b_row = rb > 1 ? b.strides[rb - 2] : b.strides[0];
  g.b_col = rb > 1 ? b.strides[rb - 1] : 1;
}

}  // namespace frazil::code
