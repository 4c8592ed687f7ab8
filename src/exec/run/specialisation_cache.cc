#include "exec/run/specialisation_cache.h"

namespace frazil::exec {

Result<std::shared_ptr<Executable>> SpecialisationCache::get(const Choices& choices, const Make& make) {
  const std::scoped_lock lock(mutex_);
  const Choices nothing{.by_key = {}, .none = true};
  const bool full = made_.size() >= kMaxEntries && !made_.contains(choices);
  const Choices& used = full ? nothing : choices;
  if (const auto it = made_.find(used); it != made_.end()) return it->second;
  FRAZIL_TRY(auto made, make(used));
  made_.emplace(used, made);
  return made;
}

std::vector<Choices> SpecialisationCache::choices() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Choices> all;
  for (const auto& [choices, executable] : made_) all.push_back(choices);
  return all;
}

}  // namespace frazil::exec
