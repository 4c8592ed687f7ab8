#include "server/reference_check.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <frazil/error.h>

namespace frazil::server {

bool agree(const api::Array& result, const api::Array& reference) {
  constexpr double kAbsolute = 1e-5, kRelative = 1e-3;
  if (result.kind() != reference.kind()) return false;
  if (!result.is_tensor()) return true;
  if (result.dtype() != reference.dtype() || result.sizes() != reference.sizes()) return false;
  if (result.dtype() == api::Dtype::string) {
    return std::ranges::equal(result.values<std::string>(), reference.values<std::string>());
  }
  for (std::int64_t i = 0; i < result.count(); ++i) {
    const double a = result.number(i), b = reference.number(i);
    const bool near =
        a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= kAbsolute + kRelative * std::abs(b);
    if (!near) return false;
  }
  return true;
}

bool ReferenceCheck::wanted() {
  const double share = share_ == nullptr ? 0 : share_->load(std::memory_order_relaxed);
  if (share <= 0) return false;
  thread_local std::minstd_rand random(std::random_device{}());
  return std::uniform_real_distribution<double>()(random) < share && !busy_.exchange(true);
}

void ReferenceCheck::check(std::span<const api::Array> inputs, std::span<const api::Array> results) {
  try {
    if (!session_) session_ = model_.open({.tier = "ref", .threads = 1});
    const api::Results reference = session_->run(inputs);
    bool same = true;
    for (std::size_t i = 0; i < results.size(); ++i) same &= agree(results[i], reference[i]);
    if (!same) ++different_;
    ++checked_;
  } catch (const api::Error&) {
    ++checked_;  // it has run before
    ++different_;
  }
  busy_ = false;
}

}  // namespace frazil::server
