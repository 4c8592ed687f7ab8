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

  /// A version of the folder that is not served because something is wrong with it.
  struct NotReady {
    std::string name;
    std::uint64_t version;
    std::string reason;

    std::string text() const;  ///< one line for people
  };
  const std::vector<NotReady>& not_ready() const { return not_ready_; }
  /// Whether a version of the model is served or not ready.
  bool knows(std::string_view name) const { return models_.contains(name) || lacks_version_of(name); }
  /// Whether a version of the model is not ready.
  bool lacks_version_of(std::string_view name) const;
  /// Why find() has nothing; nothing where it has, or where nothing is known of such a version.
  std::optional<std::string> why_not_ready(std::string_view name, std::string_view version) const;

  /// This one with the versions of a model replaced; without any, it is served no longer. None of it is not ready.
  std::shared_ptr<const Repository> with(const std::string& name, Versions versions) const;
  std::shared_ptr<const Repository> with_not_ready(NotReady version) const;

 private:
  std::map<std::string, Versions, std::less<>> models_;
  std::vector<NotReady> not_ready_;
};

}  // namespace frazil::server
