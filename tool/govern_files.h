#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "govern/base/key.h"

namespace frazil::tool {

inline constexpr std::uint64_t kMaxKeyFile = 1U << 16U;      ///< bytes
inline constexpr std::uint64_t kMaxGovernFile = 64U << 20U;  ///< bytes of bundles, documents, reports
inline constexpr std::int64_t kSecondsPerDay = 86'400;

/// Reads public keys from PEM files. A private key gives its public one.
std::vector<govern::PublicKey> public_keys(const std::vector<std::string>& paths);

}  // namespace frazil::tool
