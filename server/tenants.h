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

#include "server/message.h"
#include "server/server_config.h"

namespace frazil::server {

/// Who may ask for what, and how much of it. Thread-safe.
class Tenants {
  struct Account;
  struct List;

 public:
  explicit Tenants(const std::vector<Tenant>& tenants);
  ~Tenants();
  Tenants(const Tenants&) = delete;
  Tenants& operator=(const Tenants&) = delete;

  /// A tenant's place among those who wait; ends with the object.
  using Place = std::shared_ptr<const void>;

  /// Who sends a request: a tenant as he is when it comes, whatever is configured later. Without tenants nobody in
  /// particular, who may do everything. A cheap copy. Thread-safe.
  class Asker {
   public:
    Asker() = default;

    /// Empty without tenants.
    const std::string& name() const;
    /// Whether it may see and change what belongs to all: a tenant with `admin: true`, or anyone without tenants.
    bool is_admin() const;
    bool may_use(std::string_view model) const;
    /// Whether he is shown the requests of a tenant.
    bool sees(std::string_view tenant) const;
    /// Throws Refusal (forbidden) for a model that is not his.
    void check(std::string_view model) const;
    /// Throws Refusal (forbidden) for a tenant that is not an administrator.
    void check_admin() const;
    /// Takes a place for a request. Refused (too_many) beyond his requests per second or at the same time.
    std::expected<Place, Refusal> enter() const;
    /// Why enter() would refuse now; takes nothing.
    std::optional<Refusal> refusal() const;

   private:
    friend class Tenants;
    explicit Asker(std::shared_ptr<const Account> account) : account_(std::move(account)) {}
    std::shared_ptr<const Account> account_;
  };

  /// Who has the key in a header Authorization, or without such a header a certificate with one of these names. Throws
  /// Refusal (unauthorized) where that is no tenant.
  Asker find(std::string_view authorization, std::span<const std::string> certificate = {}) const;

  /// As find(), but returns nullopt for who is no tenant.
  std::optional<Asker> find_known(std::string_view authorization, std::span<const std::string> certificate = {}) const;

  /// From now on there are these. One of a known name goes on counting where he has got to.
  void replace(const std::vector<Tenant>& tenants);

  struct Counts {
    std::string name;
    std::uint64_t requests, refused, waiting;
  };
  std::vector<Counts> counts() const;

 private:
  std::shared_ptr<const List> list() const;

  std::atomic<bool> any_ = false;
  mutable std::mutex mutex_;  // of what follows
  std::shared_ptr<const List> list_;
};

}  // namespace frazil::server
