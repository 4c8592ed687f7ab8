#include "server/model/reference_check.h"

#include <random>

#include <frazil/error.h>

namespace frazil::server {

bool agree(const api::Array& result, const api::Array& reference) {
  constexpr double kAbsolute = 1e-5, kRelative = 1e-3;
  return !api::difference(result, reference, kRelative, kAbsolute);
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
    ++checked_;  // the model itself has run, so this is a difference
    ++different_;
  }
  busy_ = false;
}

}  // namespace frazil::server
