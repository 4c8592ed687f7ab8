#include "ir/edit/type_matcher.h"

#include <algorithm>
#include <vector>

#include "ir/op/space.h"

namespace frazil {

bool TypeMatcher::matches(Value old, Value now) const {
  if (!old || !now) return !old && !now;
  if (&from_.type(old) == &to_.type(now)) return true;  // one row
  const std::vector<Dim>*was = from_.known_value(old), *is = to_.known_value(now);
  if (from_.type(old) != to_.type(now) || (was == nullptr) != (is == nullptr)) return false;
  if (was != nullptr && *was != *is) return false;
  const Constant *a = from_.constant(old), *b = to_.constant(now);
  if (a == nullptr || b == nullptr) return a == b;
  return a->tensor.data() == b->tensor.data() && a->tensor.strides() == b->tensor.strides();
}

bool TypeMatcher::matches(std::span<const Value> old, std::span<const Value> now) const {
  return std::ranges::equal(old, now, [this](Value a, Value b) { return matches(a, b); });
}

bool TypeMatcher::infers_same(NodeId old, std::span<const Value> now) {
  const Node& node = from_.node(old);
  if (!matches(node.in, now)) return false;
  const auto settled = [this](Dim d) { return is_settled(d); };
  for (const Value v : node.out) {
    if (!v) continue;
    const Type& type = from_.type(v);
    const std::vector<Dim>* const known = from_.known_value(v);
    if (!type.is_tensor() || !std::ranges::all_of(type.shape, settled)) return false;
    if (known != nullptr && !std::ranges::all_of(*known, settled)) return false;
  }
  if (node.space && !all_dims(*node.space, settled)) return false;
  if (node.views && !std::ranges::all_of(*node.views, [&](const ViewMap& m) { return all_dims(m, settled); })) {
    return false;
  }
  return std::ranges::all_of(node.constraints, [&](const Constraint& c) { return settled(c.a) && settled(c.b); });
}

/// Returns false if d has an unbacked symbol: it belongs to a value, and a copy of that value has its own.
bool TypeMatcher::is_settled(Dim d) {
  if (d.is_const()) return true;
  const auto [at, is_new] = settled_.try_emplace(d.bits(), false);
  if (is_new) {
    const Scope& scope = from_.scope();
    at->second = std::ranges::none_of(scope.symbols_of(d), [&](SymbolId s) { return is_unbacked(scope, s); });
  }
  return at->second;
}

}  // namespace frazil
