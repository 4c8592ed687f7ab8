#pragma once

#include <cstdint>

namespace frazil::kernel {

inline constexpr int kMaxEdgeRank = 8;

/// What a position outside an axis reads: nothing, the nearest element, the position reflected about the outermost
/// element, or the position modulo the extent.
enum class Outside : std::uint8_t { nowhere, clamp, reflect, wrap };

/// dst[i] = src[i + offset, per axis, mapped by Outside]; dst is contiguous. Plain data; reusable.
struct EdgePlan {
  int rank = 0;
  std::int64_t elem_size = 0;
  std::int64_t in[kMaxEdgeRank] = {}, out[kMaxEdgeRank] = {};
  std::int64_t stride[kMaxEdgeRank] = {};  ///< of src, in bytes
  std::int64_t offset[kMaxEdgeRank] = {};
  Outside outside[kMaxEdgeRank] = {};
};

/// False when an axis would be read outside: an axis without elements, or Outside::nowhere.
bool edges_fit(const EdgePlan& plan) noexcept;
std::int64_t edge_scratch_bytes(const EdgePlan& plan) noexcept;
/// Rows [begin, end) of dst, which are all axes but the last one. Precondition: edges_fit.
void run_edges(const EdgePlan& plan, std::int64_t begin, std::int64_t end, void* dst, const void* src,
               void* scratch) noexcept;

}  // namespace frazil::kernel
