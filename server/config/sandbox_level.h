#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace frazil::server {

/// The protection of the server from a process that runs code of a user. Each level includes those before it;
/// docs/reference/pipelines.md lists what they stop.
enum class SandboxLevel : std::uint8_t {
  none,        ///< an environment and descriptors of its own
  limits,      ///< limits, no privileges, no other programs and processes, no dangerous system calls
  no_network,  ///< no sockets, and only declared files
  isolated,    ///< namespaces of its own: it sees no other processes and no other files
};

inline constexpr std::array<std::string_view, 4> kSandboxLevels = {"none", "limits", "no-network", "isolated"};

inline std::string_view name_of(SandboxLevel level) { return kSandboxLevels.at(static_cast<std::size_t>(level)); }

/// Returns nullopt for a text that is not a level.
inline std::optional<SandboxLevel> sandbox_level_of(std::string_view text) {
  for (std::size_t i = 0; i < kSandboxLevels.size(); ++i) {
    if (kSandboxLevels.at(i) == text) return static_cast<SandboxLevel>(i);
  }
  return std::nullopt;
}

}  // namespace frazil::server
