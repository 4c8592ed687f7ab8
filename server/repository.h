#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/served.h"

namespace frazil::server {

/// A number above 0; nothing for other texts.
std::optional<std::uint64_t> version_from(std::string_view text);

/// What is served at one moment. Immutable: a change makes another one.
class Repository {
 public:
  using Versions = std::map<std::uint64_t, std::shared_ptr<const Served>>;

  /// The version, or with an empty one the newest; null where there is none.
  std::shared_ptr<const Served> find(std::string_view name, std::string_view version) const;
  /// Versions of a model, oldest first; empty for an unknown name.
  std::vector<std::shared_ptr<const Served>> versions(std::string_view name) const;
  /// By name and then by version.
  std::vector<std::shared_ptr<const Served>> all() const;

  /// This one with the versions of a model replaced; without any, it is served no longer.
  std::shared_ptr<const Repository> with(const std::string& name, Versions versions) const;

 private:
  std::map<std::string, Versions, std::less<>> models_;
};

}  // namespace frazil::server
