#include "govern/gate/accepted_paths.h"

#include <mutex>

namespace frazil::govern {
namespace {

constexpr std::size_t kMostAccepted = 65'536;

std::string path_key(std::string_view model, std::string_view version, std::string_view definition) {
  std::string key(model);
  ((key += '/') += version) += ' ';
  return key += definition;
}

}  // namespace

void AcceptedPaths::add(const Json& report, const std::string& model, const std::string& version) {
  auto check = std::make_shared<const PathCheck>(report, model, version);
  const std::unique_lock lock(mutex_);
  if (checks_.size() >= kMostAccepted) checks_.clear();
  checks_[path_key(model, version, report.at("digest").get<std::string>())] = std::move(check);
}

std::shared_ptr<const PathCheck> AcceptedPaths::find(std::string_view model, std::string_view version,
                                                     std::string_view definition) const {
  const std::string key = path_key(model, version, definition);
  const std::shared_lock lock(mutex_);
  const auto found = checks_.find(key);
  return found == checks_.end() ? nullptr : found->second;
}

}  // namespace frazil::govern
