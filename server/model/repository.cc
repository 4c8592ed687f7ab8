#include "server/model/repository.h"

#include <algorithm>
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
  std::erase_if(changed->not_ready_, [&](const NotReady& one) { return one.name == name; });
  if (versions.empty())
    changed->models_.erase(name);
  else
    changed->models_[name] = std::move(versions);
  return changed;
}

std::shared_ptr<const Repository> Repository::with_not_ready(NotReady version) const {
  auto changed = std::make_shared<Repository>(*this);
  changed->not_ready_.push_back(std::move(version));
  return changed;
}

std::optional<std::string> Repository::why_not_ready(std::string_view name, std::string_view version) const {
  if (find(name, version) != nullptr) return std::nullopt;
  const auto wanted = version_from(version);
  const auto at = std::ranges::find_if(
      not_ready_, [&](const NotReady& one) { return one.name == name && (version.empty() || one.version == wanted); });
  if (at == not_ready_.end()) return std::nullopt;
  return at->text();
}

bool Repository::lacks_version_of(std::string_view name) const {
  return std::ranges::find(not_ready_, name, &NotReady::name) != not_ready_.end();
}

std::string Repository::NotReady::text() const {
  return "model '" + name + "' version " + std::to_string(version) + " is not ready: " + reason;
}

}  // namespace frazil::server
