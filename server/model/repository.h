#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/model/served.h"

namespace frazil::server {

/// Parses a number above 0; returns nullopt for other texts.
std::optional<std::uint64_t> version_from(std::string_view text);

/// A snapshot of the served models. Immutable; changes create a new one.
class Repository {
 public:
  using Versions = std::map<std::uint64_t, std::shared_ptr<const Served>>;

  /// Returns a version of a model, or the newest for an empty version; null if there is none.
  std::shared_ptr<const Served> find(std::string_view name, std::string_view version) const;
  /// Returns the versions of a model, oldest first; empty for an unknown name.
  std::vector<std::shared_ptr<const Served>> versions(std::string_view name) const;
  /// Sorted by name and then by version.
  std::vector<std::shared_ptr<const Served>> all() const;

  /// A version in the folder that is not served because of a fault.
  struct NotReady {
    std::string name;
    std::uint64_t version;
    std::string reason;

    std::string text() const;  ///< one line for humans
  };
  const std::vector<NotReady>& not_ready() const { return not_ready_; }
  /// Returns true if a version of the model is served or not ready.
  bool has_model(std::string_view name) const { return models_.contains(name) || lacks_version_of(name); }
  /// Returns true if a version of the model is not ready.
  bool lacks_version_of(std::string_view name) const;
  /// Returns the reason if find() fails because the version is not ready; nullopt otherwise.
  std::optional<std::string> why_not_ready(std::string_view name, std::string_view version) const;

  /// Returns a copy with the versions of a model replaced, or removed if `versions` is empty. Clears the model's
  /// entries in not_ready().
  std::shared_ptr<const Repository> with(const std::string& name, Versions versions) const;
  std::shared_ptr<const Repository> with_not_ready(NotReady version) const;

 private:
  std::map<std::string, Versions, std::less<>> models_;
  std::vector<NotReady> not_ready_;
};

}  // namespace frazil::server
