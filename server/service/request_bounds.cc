#include "server/service/request_bounds.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "server/core/port.h"
#include "server/service/path_analysis.h"

namespace frazil::server {
namespace {

constexpr std::size_t kMostKept = 1024;  // extents of a version

/// Returns a range that contains an extent. It is the same for all extents that are rounded up to the same number.
api::ExtentRange range_of(std::int64_t extent) {
  constexpr std::int64_t kExact = 32;
  constexpr int kBits = 5;
  if (extent <= kExact) return {.least = extent, .most = extent};
  const auto width = std::bit_width(static_cast<std::uint64_t>(extent));
  const std::int64_t unit = std::int64_t{1} << (width - kBits);
  const std::int64_t most = extent > std::numeric_limits<std::int64_t>::max() - unit
                                ? std::numeric_limits<std::int64_t>::max()
                                : (extent + unit - 1) / unit * unit;
  return {.least = most / 2, .most = most};
}

KnownValue known_value(const api::Array& value) {
  KnownValue known;
  if (!value.is_tensor()) return known;
  known.ranked = true;
  for (const std::int64_t extent : value.sizes()) known.extents.emplace_back(range_of(extent));
  const bool one = value.sizes().empty();
  if (one && value.dtype() == api::Dtype::i64) known.integer = range_of(value.values<std::int64_t>().front());
  if (one && value.dtype() == api::Dtype::i32) known.integer = range_of(value.values<std::int32_t>().front());
  return known;
}

std::string key_of(const std::vector<KnownValue>& inputs) {
  std::string key;
  for (const KnownValue& input : inputs) {
    key += input.ranked ? "[" : "?";
    for (const auto& extent : input.extents) key += std::to_string(extent->most) + ",";
    if (input.integer) key += "=" + std::to_string(input.integer->most);
  }
  return key;
}

}  // namespace

RequestBounds::Result RequestBounds::of(const Served& target, const std::vector<NamedArray>& inputs) {
  std::vector<KnownValue> known(target.inputs().size());
  for (const auto& [name, value] : inputs) {
    if (const auto at = position_of(target.inputs(), name)) known[*at] = known_value(value);
  }
  const std::string key = key_of(known);
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(versions_, [](const auto& one) { return one.second.served.expired(); });
    const auto version = versions_.find(&target);
    if (version != versions_.end()) {
      const auto found = version->second.bounds.find(key);
      if (found != version->second.bounds.end()) return {found->second, version->second.ratio};
    }
  }
  auto bounds = std::make_shared<const PathBounds>(path_bounds(target, known));
  const std::scoped_lock lock(mutex_);
  Version& version = versions_[&target];
  version.served = target.weak_from_this();
  if (version.bounds.size() >= kMostKept) version.bounds.clear();
  version.bounds[key] = bounds;
  return {std::move(bounds), version.ratio};
}

}  // namespace frazil::server
