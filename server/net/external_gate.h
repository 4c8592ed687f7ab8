#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "govern/gate/governor.h"

namespace frazil::server {

/// The other end of a connection.
struct PeerAddress {
  std::string address;  ///< "10.0.0.1", "::1"
  std::uint16_t port = 0;
  bool operator==(const PeerAddress&) const = default;
};

/// Called before a connection to an address is made, and before a kept one is used for another request. Returns the
/// reason of a rejection. An exception is a rejection, too. Must be short. Thread-safe.
using MayUse = std::function<std::optional<std::string>(const PeerAddress&)>;

/// Asks hook `external` for the connections to one place, or for the starts of one program. Thread-safe.
class ExternalGate {
 public:
  /// Permits everything.
  ExternalGate() = default;
  /// `governor`: null permits everything. `about`: without the address.
  ExternalGate(std::shared_ptr<govern::Governor> governor, govern::ExternalQuestion about)
      : governor_(std::move(governor)), about_(std::move(about)) {}

  bool asks() const { return governor_ != nullptr; }
  std::optional<std::string> rejection(const PeerAddress& peer, const govern::TenantRef& tenant = {}) const {
    if (governor_ == nullptr) return std::nullopt;
    govern::ExternalQuestion question = about_;
    question.address = peer.address;
    if (peer.port != 0) question.port = peer.port;
    return governor_->check_external(question, tenant);
  }
  /// As rejection(), for a program with another digest and the sandbox that it gets.
  std::optional<std::string> rejection_of_program(std::string digest, std::string sandbox) const {
    if (governor_ == nullptr) return std::nullopt;
    govern::ExternalQuestion question = about_;
    question.digest = std::move(digest);
    question.sandbox = std::move(sandbox);
    return governor_->check_external(question, {});
  }

 private:
  std::shared_ptr<govern::Governor> governor_;
  govern::ExternalQuestion about_;
};

/// Returns a check without a tenant; null if the gate permits everything.
inline MayUse without_tenant(const ExternalGate& gate) {
  if (!gate.asks()) return nullptr;
  return [gate](const PeerAddress& peer) { return gate.rejection(peer); };
}

/// Returns the result of a check. An exception becomes a reason. A null check permits.
inline std::optional<std::string> rejection_by(const MayUse& may_use, const PeerAddress& peer) noexcept {
  if (may_use == nullptr) return std::nullopt;
  try {
    return may_use(peer);
  } catch (...) {
    return "the policy could not be asked";
  }
}

}  // namespace frazil::server
