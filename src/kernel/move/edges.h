#pragma once

#include <cstdint>

namespace frazil::kernel {

inline constexpr int kMaxEdgeRank = 8;

/// The element that a position outside an axis reads: none, the nearest one, the one reflected about the outermost
/// element, or the one at the position modulo the extent.
enum class Outside : std::uint8_t { nowhere, clamp, reflect, wrap };

/// A plan for dst[i] = src[i + offset], with positions outside an axis mapped by Outside. dst is contiguous. Plain
/// data; reusable.
struct EdgePlan {
  int rank = 0;
  std::int64_t elem_size = 0;
  std::int64_t in[kMaxEdgeRank] = {}, out[kMaxEdgeRank] = {};
  std::int64_t stride[kMaxEdgeRank] = {};  ///< of src, in bytes
  std::int64_t offset[kMaxEdgeRank] = {};
  Outside outside[kMaxEdgeRank] = {};
};

/// Returns false if a position outside an axis has nothing to read: the axis has no elements, or is Outside::nowhere.
bool edges_fit(const EdgePlan& plan) noexcept;
std::int64_t edge_scratch_bytes(const EdgePlan& plan) noexcept;
/// Computes rows [begin, end) of dst, counted over all axes but the last one. Requires edges_fit().
void run_edges(const EdgePlan& plan, std::int64_t begin, std::int64_t end, void* dst, const void* src,
               void* scratch) noexcept;

}  // namespace frazil::kernel
