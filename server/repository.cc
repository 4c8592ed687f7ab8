#include "server/repository.h"

#include <charconv>

namespace frazil::server {

std::optional<std::uint64_t> version_from(std::string_view text) {
  std::uint64_t version = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), version);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return whole && version > 0 ? std::optional(version) : std::nullopt;
}

std::shared_ptr<const Served> Repository::find(std::string_view name, std::string_view version) const {
  const auto model = models_.find(name);
  if (model == models_.end()) return nullptr;
  if (version.empty()) return model->second.rbegin()->second;
  const auto number = version_from(version);
  const auto at = number ? model->second.find(*number) : model->second.end();
  return at == model->second.end() ? nullptr : at->second;
}

std::vector<std::shared_ptr<const Served>> Repository::versions(std::string_view name) const {
  std::vector<std::shared_ptr<const Served>> list;
  const auto model = models_.find(name);
  if (model == models_.end()) return list;
  for (const auto& [number, version] : model->second) list.push_back(version);
  return list;
}

std::vector<std::shared_ptr<const Served>> Repository::all() const {
  std::vector<std::shared_ptr<const Served>> list;
  for (const auto& [name, versions] : models_) {
    for (const auto& [number, version] : versions) list.push_back(version);
  }
  return list;
}

std::shared_ptr<const Repository> Repository::with(const std::string& name, Versions versions) const {
  auto changed = std::make_shared<Repository>(*this);
  if (versions.empty())
    changed->models_.erase(name);
  else
    changed->models_[name] = std::move(versions);
  return changed;
}

}  // namespace frazil::server
