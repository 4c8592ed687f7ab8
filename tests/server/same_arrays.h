#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include <frazil/array.h>

namespace frazil::test {

/// Whether two values have the same kind, types, extents and bytes.
inline bool same(const api::Array& a, const api::Array& b) {
  if (a.kind() != b.kind()) return false;
  if (a.kind() == api::Array::Kind::sequence) return std::ranges::equal(a.items(), b.items(), same);
  const auto same_entries = [](const auto& x, const auto& y) {
    return same(x.first, y.first) && same(x.second, y.second);
  };
  if (a.kind() == api::Array::Kind::map) return std::ranges::equal(a.entries(), b.entries(), same_entries);
  if (a.empty()) return true;
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  if (a.dtype() == api::Dtype::string) return std::ranges::equal(a.values<std::string>(), b.values<std::string>());
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

}  // namespace frazil::test
