#include "ir/op/op.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/thread/mutex.h"
#include "base/value/text.h"

namespace frazil {

std::string_view form_name(const Form& form) {
  constexpr std::string_view names[] = {"elementwise", "contraction", "view", "composite", "opaque", "region"};
  return names[form.index()];
}

std::vector<NodeId> nodes_with_effects(const Graph& graph) {
  std::vector<NodeId> found;
  for (NodeId n : graph.nodes()) {
    if (!graph.node(n).op->effects) continue;
    for (; n; n = graph.block(graph.node(n).parent).owner) found.push_back(n);
  }
  return found;
}

Attrs default_attrs(const OpDef& op) { return op.attrs.make(); }

OpRegistry& OpRegistry::global() {
  static OpRegistry registry;
  return registry;
}

namespace {

/// Guards the registry: programs may register operators while other threads load models.
Mutex& registry_mutex() {
  static Mutex mutex;
  return mutex;
}

}  // namespace

bool OpRegistry::add(const OpDef& op) {
  const std::scoped_lock lock(registry_mutex());
  return ops_.try_emplace({op.domain, op.name}, &op).second;
}

OpRegistration::OpRegistration(const OpDef& op) {
  if (OpRegistry::global().add(op)) return;
  fmt::print(stderr, "operator '{}' of domain '{}' is defined twice\n", op.name, op.domain);
  std::abort();
}

const OpDef* OpRegistry::find(std::string_view domain, std::string_view name) const {
  const std::scoped_lock lock(registry_mutex());
  const auto it = ops_.find({domain, name});
  return it == ops_.end() ? nullptr : it->second;
}

std::vector<const OpDef*> OpRegistry::all() const {
  const std::scoped_lock lock(registry_mutex());
  std::vector<const OpDef*> sorted;
  for (const auto& [key, op] : ops_) sorted.push_back(op);
  return sorted;
}

std::vector<std::string_view> OpRegistry::close_to(std::string_view name) const {
  std::vector<std::string_view> near;
  const std::scoped_lock lock(registry_mutex());
  for (const auto& [key, op] : ops_) {
    if (is_similar(op->name, name)) near.push_back(op->name);
  }
  std::ranges::sort(near);
  near.erase(std::ranges::unique(near).begin(), near.end());
  return near;
}

}  // namespace frazil
