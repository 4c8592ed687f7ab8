#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <frazil/model.h>

namespace frazil::server {

/// Returns true if a result agrees with the reference. Floats may differ by 1e-5 + 1e-3 of the reference, other values
/// must be equal. Sequences and maps agree if all their items do.
bool agree(const api::Array& result, const api::Array& reference);

/// Runs a share of a model's requests again on the reference executor and counts different results. Thread-safe.
class ReferenceCheck {
 public:
  using Share = std::shared_ptr<const std::atomic<double>>;  ///< may change; null: none

  /// Checks `share` of the requests. Only one check runs at a time; requests during a check are skipped.
  ReferenceCheck(const api::Model& model, Share share) : model_(model), share_(std::move(share)) {}

  /// Returns true if this request is to be checked. check() must then be called for it.
  bool wanted();
  /// Blocks for the run time of the reference.
  void check(std::span<const api::Array> inputs, std::span<const api::Array> results);

  std::uint64_t checked() const { return checked_; }
  std::uint64_t different() const { return different_; }

 private:
  const api::Model model_;
  const Share share_;
  std::atomic<bool> busy_ = false;
  std::atomic<std::uint64_t> checked_ = 0, different_ = 0;
  std::optional<api::Session> session_;  // guarded by busy_
};

}  // namespace frazil::server
