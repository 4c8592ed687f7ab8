#include "govern/policy/cost.h"

#include <algorithm>
#include <cmath>

namespace frazil::govern {

double cost_of_equal(const ValueType& a, const ValueType& b) {
  const double least = std::min(a.bound, b.bound);
  const bool empty = a.element == nullptr || b.element == nullptr;
  switch (a.kind) {
    case ValueKind::text: return 1 + cost_of_bytes(least);
    case ValueKind::list: return 1 + (empty ? 0 : least * cost_of_equal(*a.element, *b.element));
    case ValueKind::map: {
      const double pair = 1 + cost_of_bytes(std::min(a.key_bound, b.key_bound));
      return 1 + (empty ? 0 : least * (least * pair + cost_of_equal(*a.element, *b.element)));
    }
    default: return 1;
  }
}

double cost_of_key(const ValueType& map, std::uint32_t bytes) {
  return 1 + map.bound * (0.3 + cost_of_bytes(std::min(map.key_bound, bytes)));
}

double cost_of_set(const ValueType& list, std::uint32_t bytes) {
  const std::uint32_t most = list.element == nullptr ? 0 : list.element->bound;
  return 1 + std::log2(1.0 + list.bound) * (0.5 + cost_of_bytes(std::min(most, bytes)));
}

double cost_of_match(std::uint32_t bytes, std::uint32_t instructions) {
  constexpr double kCall = 20;  // a call of RE2 that reads nothing
  return kCall + bytes * (1 + instructions / 16.0);
}

}  // namespace frazil::govern
