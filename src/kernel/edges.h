#pragma once

#include <cstdint>

namespace frazil::kernel {

inline constexpr int kMaxEdgeRank = 8;

/// Where a place outside of an axis leads: to the nearest one, mirrored about the outermost, or on from the other end.
enum class Outside : std::uint8_t { nowhere, clamp, reflect, wrap };

/// dst[i] = src[place of i + offset, per axis]; dst is contiguous. Plain data; run it any number of times.
struct EdgePlan {
  int rank = 0;
  std::int64_t elem_size = 0;
  std::int64_t in[kMaxEdgeRank] = {}, out[kMaxEdgeRank] = {};
  std::int64_t stride[kMaxEdgeRank] = {};  ///< of src, in bytes
  std::int64_t offset[kMaxEdgeRank] = {};
  Outside outside[kMaxEdgeRank] = {};
};

/// False where an axis would be read outside of it: one without elements, or one that leads nowhere.
bool edges_fit(const EdgePlan& plan) noexcept;
std::int64_t edge_scratch_bytes(const EdgePlan& plan) noexcept;
/// Precondition: edges_fit.
void run_edges(const EdgePlan& plan, void* dst, const void* src, void* scratch) noexcept;

}  // namespace frazil::kernel
