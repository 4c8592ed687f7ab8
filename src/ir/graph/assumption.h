#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>

#include "ir/graph/handles.h"
#include "sym/dim.h"

namespace frazil {

/// The name of an assumption in all graphs that are made from one graph. It consists of the stable id of the node whose
/// type rule made the assumption, and its number among that node's assumptions.
struct AssumptionKey {
  std::uint32_t stable = 0, number = 0;
  auto operator<=>(const AssumptionKey&) const = default;
};

/// A number that decides the rank of a result and is known only at run time. Examples are the condition of an If whose
/// branches have different ranks (0 or 1), the length of a shape, or an extent that Squeeze may drop.
/// Types hold only while `predicate` is `value`. Executors check this at the node and otherwise switch to another
/// specialisation.
struct Assumption {
  AssumptionKey key;
  NodeId node;  ///< where it is checked: before this node runs
  Dim predicate;
  std::int64_t value = 1;
};

/// The values that types assume, by key. Other assumptions use the value that the type rule suggests. If `none` is set,
/// types assume only the values in `by_key`, and results whose rank depends on another number have no rank.
struct Choices {
  std::map<AssumptionKey, std::int64_t> by_key;
  bool none = false;
  bool then_branch = true;  ///< the branch that other Ifs assume
  auto operator<=>(const Choices&) const = default;
};

}  // namespace frazil
