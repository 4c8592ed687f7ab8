#include "base/value/fill.h"

#include <algorithm>
#include <optional>

#include "base/os/knobs.h"

namespace frazil {
namespace {

std::optional<std::byte> fill_byte() {
  static const auto byte = knobs() && knobs()->fill ? std::optional(std::byte{*knobs()->fill}) : std::nullopt;
  return byte;
}

}  // namespace

bool fills_unwritten() { return fill_byte().has_value(); }

void fill_unwritten(std::span<std::byte> bytes) {
  if (const auto byte = fill_byte()) std::ranges::fill(bytes, *byte);
}

}  // namespace frazil
