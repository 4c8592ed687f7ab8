#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/value/error.h"

namespace frazil {

/// The passes of a graph, including planner passes: X(name). pass/engine/passes.cc describes each.
#define FRAZIL_PASSES(X) \
  X(recover) X(batch_norm) X(dead) X(fold) X(unroll) X(select) X(attention) X(algebra) \
  X(cse) X(layout) X(count) X(hoist) X(motion) X(fuse) X(append) X(stack)

enum class Pass : std::uint8_t {
#define FRAZIL_X(name) name,
  FRAZIL_PASSES(FRAZIL_X)
#undef FRAZIL_X
};
std::span<const std::string_view> pass_names();
inline std::string_view name_of(Pass pass) { return pass_names()[static_cast<std::size_t>(pass)]; }

/// The set of passes that run; all by default.
struct PassSet {
  std::uint32_t off = 0;  ///< one bit per pass

  constexpr bool has(Pass pass) const { return (off >> static_cast<unsigned>(pass) & 1u) == 0; }
  static constexpr PassSet none() { return {~0u}; }
  static constexpr PassSet without(Pass pass) { return {1u << static_cast<unsigned>(pass)}; }
  static constexpr PassSet only(Pass pass) { return {~(1u << static_cast<unsigned>(pass))}; }
  bool operator==(const PassSet&) const = default;
};

/// Parses "all", "none", "-NAME" and "+NAME", separated by commas and applied in order. The error describes the
/// expected text.
Result<PassSet> parse_pass_set(std::string_view text);
/// Returns the text that parse_pass_set() reads back to the same set.
std::string str(PassSet set);

}  // namespace frazil
