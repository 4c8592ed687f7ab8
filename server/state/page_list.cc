#include "server/state/page_list.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace frazil::server {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 47;  // limit for tensors

/// Returns nullopt if the product exceeds the size of any tensor.
std::optional<std::size_t> product_of(std::span<const std::int64_t> extents, std::size_t bytes) {
  for (const std::int64_t extent : extents) {
    if (extent <= 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes)) return {};
  }
  return bytes <= kMaxBytes ? std::optional(bytes) : std::nullopt;
}

}  // namespace

std::optional<PagedPart> PagedPart::make(std::size_t value, api::Dtype dtype, api::Sizes sizes, std::size_t axis) {
  if (dtype == api::Dtype::string || dtype == api::Dtype::boolean) return {};
  if (axis >= sizes.size() || sizes[axis] < 0) return {};
  const std::span<const std::int64_t> all(sizes);
  const auto blocks = product_of(all.first(axis), 1), row = product_of(all.subspan(axis + 1), api::byte_size(dtype));
  std::size_t bytes = 0;
  if (!blocks || !row || __builtin_mul_overflow(*blocks, *row, &bytes)) return {};
  if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(sizes[axis]), &bytes) || bytes > kMaxBytes) return {};
  return PagedPart{
      .value = value, .dtype = dtype, .sizes = std::move(sizes), .axis = axis, .blocks = *blocks, .row_bytes = *row};
}

std::size_t PageList::position_bytes() const {
  return std::accumulate(parts.begin(), parts.end(), std::size_t{0},
                         [](std::size_t sum, const PagedPart& part) { return sum + part.position_bytes(); });
}

bool PageList::fits() const {
  const auto same_length = [&](const PagedPart& part) { return part.length() == length(); };
  if (parts.empty() || per_page == 0 || !std::ranges::all_of(parts, same_length)) return false;
  return pages.size() == length() / per_page && tail.size() == length() % per_page * position_bytes();
}

}  // namespace frazil::server
