#pragma once

#include <cstdint>
#include <span>

#include <boost/container/small_vector.hpp>
#include <frazil/array.h>

namespace frazil::ort {

/// The extents of a tensor. Usual numbers of axes are stored in place, so that a small object costs one allocation.
using Dims = boost::container::small_vector<std::int64_t, 6>;

inline std::span<const std::int64_t> view(const Dims& dims) { return {dims.data(), dims.size()}; }
inline Dims dims_of(std::span<const std::int64_t> extents) { return {extents.begin(), extents.end()}; }
inline api::Sizes sizes_of(std::span<const std::int64_t> extents) { return {extents.begin(), extents.end()}; }

}  // namespace frazil::ort
