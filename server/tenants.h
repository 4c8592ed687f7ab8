#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/message.h"
#include "server/server_config.h"

namespace frazil::server {

/// Who may ask for what, and how much of it. Thread-safe.
class Tenants {
 public:
  explicit Tenants(const std::vector<Tenant>& tenants);
  ~Tenants();
  Tenants(const Tenants&) = delete;
  Tenants& operator=(const Tenants&) = delete;

  /// A tenant's place among those who wait; ends with the object.
  using Place = std::shared_ptr<const void>;

  /// Throws Refusal: unauthorized for a header Authorization without a known key, forbidden for a model that is not the
  /// tenant's. Without tenants everything is allowed.
  void check(std::string_view authorization, std::string_view model = {}) const;
  /// Takes a place for a request. Throws Refusal: unauthorized, or too_many beyond the tenant's requests per second or
  /// at the same time.
  Place enter(std::string_view authorization) const;

  struct Counts {
    std::string name;
    std::uint64_t requests, refused, waiting;
  };
  std::vector<Counts> counts() const;

 private:
  struct Account;
  Account* account_of(std::string_view authorization) const;
  std::vector<std::unique_ptr<Account>> accounts_;
  std::map<std::string, Account*, std::less<>> by_key_;  // SHA-256 of the key: a look-up's time tells nothing of it
};

}  // namespace frazil::server
