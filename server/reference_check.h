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

/// Whether a result is that of the reference: floats are not further apart than 1e-5 + 1e-3 of the reference, and other
/// values are equal. Sequences and maps agree where all their items do.
bool agree(const api::Array& result, const api::Array& reference);

/// Runs a share of a model's requests again on the reference executor, and counts results that differ. Thread-safe.
class ReferenceCheck {
 public:
  using Share = std::shared_ptr<const std::atomic<double>>;  ///< may change; null: none

  /// `share` of the requests, one at a time at most: those that come meanwhile are left out.
  ReferenceCheck(api::Model model, Share share) : model_(std::move(model)), share_(std::move(share)) {}

  /// Whether this request is to be checked; then check() is to be called for it.
  bool wanted();
  /// Takes as long as the reference needs.
  void check(std::span<const api::Array> inputs, std::span<const api::Array> results);

  std::uint64_t checked() const { return checked_; }
  std::uint64_t different() const { return different_; }

 private:
  const api::Model model_;
  const Share share_;
  std::atomic<bool> busy_ = false;
  std::atomic<std::uint64_t> checked_ = 0, different_ = 0;
  std::optional<api::Session> session_;  // of whom busy_ lets in
};

}  // namespace frazil::server
