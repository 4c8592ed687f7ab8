#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/config/server_config.h"
#include "server/core/message.h"

namespace frazil::server {

/// Identities, permissions and rate limits of callers. Thread-safe.
class Tenants {
  struct Account;
  struct List;

 public:
  explicit Tenants(const std::vector<Tenant>& tenants);
  ~Tenants();
  Tenants(const Tenants&) = delete;
  Tenants& operator=(const Tenants&) = delete;

  /// A tenant's place among running and waiting requests; released by its destructor.
  using Place = std::shared_ptr<const void>;

  /// The identity of a caller: a tenant with the settings at the time of the request. Without configured tenants it is
  /// an anonymous caller with all permissions. A cheap copy. Thread-safe.
  class Identity {
   public:
    Identity() = default;

    /// Returns the tenant's name; empty without tenants.
    const std::string& name() const;
    /// Returns a number that is equal for equal names, for the life of the process; 0 without tenants.
    std::uint32_t number() const;
    /// Returns true for a tenant with `admin: true`, or any caller without tenants. It may see and change shared data.
    bool is_admin() const;
    bool may_use(std::string_view model) const;
    /// Returns true if the caller may see the requests of a tenant.
    bool sees(std::string_view tenant) const;
    /// Throws Refusal (forbidden) for a model that the caller may not use.
    void check(std::string_view model) const;
    /// Throws Refusal (forbidden) unless the caller is an administrator.
    void check_admin() const;
    /// Takes a place for a request. Refuses (too_many) beyond the tenant's rate or its limit of concurrent requests.
    std::expected<Place, Refusal> enter() const;
    /// Returns the current refusal of enter() without taking a place.
    std::optional<Refusal> refusal() const;

   private:
    friend class Tenants;
    explicit Identity(std::shared_ptr<const Account> account) : account_(std::move(account)) {}
    std::shared_ptr<const Account> account_;
  };

  /// Returns the tenant for the key in a header Authorization, or without the header for a certificate with one of
  /// these names. Throws Refusal (unauthorized) for an unknown caller.
  Identity find(std::string_view authorization, std::span<const std::string> certificate = {}) const;

  /// As find(), but returns nullopt for an unknown caller.
  std::optional<Identity> find_known(std::string_view authorization,
                                     std::span<const std::string> certificate = {}) const;

  /// Replaces the tenants. A tenant with a known name keeps its counters.
  void replace(const std::vector<Tenant>& tenants);

  struct Counts {
    std::string name;
    std::uint64_t requests, refused, waiting;
  };
  std::vector<Counts> counts() const;

 private:
  std::shared_ptr<const List> list() const;

  std::atomic<bool> any_ = false;
  mutable std::mutex mutex_;  // guards the member below
  std::shared_ptr<const List> list_;
};

}  // namespace frazil::server
