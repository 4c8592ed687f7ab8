#include "ir/op/op.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <fmt/format.h>

#include "base/thread/mutex.h"

namespace frazil {

std::string_view form_name(const Form& form) {
  constexpr std::string_view names[] = {"elementwise", "contraction", "view", "composite", "opaque", "region"};
  return names[form.index()];
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

namespace {

/// Returns the Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string_view> OpRegistry::close_to(std::string_view name) const {
  std::vector<std::string_view> near;
  if (name.size() > 64) return near;
  const std::scoped_lock lock(registry_mutex());
  for (const auto& [key, op] : ops_) {
    if (edit_distance(op->name, name) <= 2) near.push_back(op->name);
  }
  std::ranges::sort(near);
  near.erase(std::ranges::unique(near).begin(), near.end());
  return near;
}

}  // namespace frazil
