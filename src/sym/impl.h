#pragma once

#include <cassert>
#include <map>
#include <unordered_map>
#include <vector>

#include "sym/dim.h"
#include "sym/expressions.h"

namespace frazil {

struct Scope::Impl : sym::Expressions {
  /// Dim::bits of the extents that a broadcast extent combines, ascending. `broadcast_of` is the inverse map.
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> parts_of_broadcast;
  std::map<std::vector<std::uint64_t>, Dim> broadcast_of;

  std::vector<std::uint64_t> broadcast_parts(Dim d) const {
    const auto it = parts_of_broadcast.find(d.bits());
    return it == parts_of_broadcast.end() ? std::vector{d.bits()} : it->second;
  }

  Dim own(Dim d) const {
    assert(nodes().owns(d) && "Dims of two Scopes are mixed");
    return d;
  }
};

}  // namespace frazil
