#pragma once

#include <cstdint>
#include <span>

namespace frazil::kernel {

inline constexpr int kMaxCopyRank = 16;

/// A plan for copying one strided tensor to another, made once per shape and strides. Dimensions of extent 1 are
/// removed; the others are sorted for the destination and merged where both sides allow it. Plain data; reusable.
struct CopyPlan {
  enum class Kind : std::uint8_t {
    empty,       ///< nothing to move
    block,       ///< one memcpy
    rows,        ///< the innermost dimension is contiguous on both sides
    fill,        ///< the innermost dimension repeats one source element into a contiguous row
    interleave,  ///< a transpose where dst or src has the elements of at most 8 rows in turn
    transpose,   ///< the last two dimensions: dst is contiguous along the last, src along the one before
    strided,     ///< anything else
  };
  Kind kind = Kind::empty;
  std::int8_t rank = 0;
  std::int64_t elem_size = 0;
  std::int64_t dims[kMaxCopyRank] = {};
  std::int64_t dst_strides[kMaxCopyRank] = {};  ///< in bytes
  std::int64_t src_strides[kMaxCopyRank] = {};  ///< in bytes
};

/// Plans dst[i] = src[i] for all i < dims. Strides are in elements of `elem_size` bytes, of any sign; those of src may
/// be 0. Distinct i must map to distinct elements of dst. All three spans have the same length. Returns false, with
/// `plan` unspecified, if more than kMaxCopyRank dimensions remain after merging.
bool plan_copy(CopyPlan& plan, std::span<const std::int64_t> dims, std::span<const std::int64_t> dst_strides,
               std::span<const std::int64_t> src_strides, std::int64_t elem_size) noexcept;

/// Runs a plan. The pointers are to element [0, 0, ...]. dst and src must not overlap.
void run_copy(const CopyPlan& plan, void* dst, const void* src) noexcept;

/// Parts of a copy that can run independently: ranges of one of its dimensions, or of the bytes of a block.
struct CopyParts {
  int dim = 0;
  std::int64_t extent = 0, each = 1;  ///< of that dimension: in total, and in a part
  std::int64_t count = 1;
};
/// Cuts a copy into parts of about `bytes` each.
CopyParts copy_parts(const CopyPlan& plan, std::int64_t bytes) noexcept;
std::int64_t copy_bytes(const CopyPlan& plan) noexcept;
/// Runs parts [begin, end).
void run_copy_parts(const CopyPlan& plan, const CopyParts& parts, std::int64_t begin, std::int64_t end, void* dst,
                    const void* src) noexcept;

/// Combines plan_copy and run_copy, for any rank.
void copy_strided(void* dst, std::span<const std::int64_t> dst_strides, const void* src,
                  std::span<const std::int64_t> src_strides, std::span<const std::int64_t> dims,
                  std::int64_t elem_size) noexcept;

/// Writes the `elem_size` bytes at `value` into every element of dst.
void fill_strided(void* dst, std::span<const std::int64_t> dst_strides, std::span<const std::int64_t> dims,
                  const void* value, std::int64_t elem_size) noexcept;

}  // namespace frazil::kernel
