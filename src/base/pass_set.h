#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace frazil {

/// The passes that graphs go through until they are plans; pass/passes.cc says what each does.
enum class Pass : std::uint8_t {
  recover,
  batch_norm,
  dead,
  fold,
  unroll,
  select,
  attention,
  algebra,
  cse,
  count,
  hoist,
  motion,
  fuse,
  append,
  stack,
};
std::span<const std::string_view> pass_names();
inline std::string_view name_of(Pass pass) { return pass_names()[static_cast<std::size_t>(pass)]; }

/// Which passes run; all by default.
struct PassSet {
  std::uint32_t off = 0;  ///< a bit a pass

  constexpr bool has(Pass pass) const { return (off >> static_cast<unsigned>(pass) & 1u) == 0; }
  static constexpr PassSet none() { return {~0u}; }
  static constexpr PassSet without(Pass pass) { return {1u << static_cast<unsigned>(pass)}; }
  static constexpr PassSet only(Pass pass) { return {~(1u << static_cast<unsigned>(pass))}; }
  bool operator==(const PassSet&) const = default;
};

/// "all", "none", and "-NAME" or "+NAME" from there on, in order, with commas between. The error is what the text
/// should have been.
Result<PassSet> parse_pass_set(std::string_view text);
/// Reads back to the same set.
std::string str(PassSet set);

}  // namespace frazil
