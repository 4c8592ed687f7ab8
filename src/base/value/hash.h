#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace frazil {

/// A builder of order-sensitive 64-bit hashes. Equal inputs give equal values on every machine of the same byte order.
class Hasher {
 public:
  Hasher& add(std::uint64_t v) {
    state_ ^= v + 0x9e3779b97f4a7c15ull + (state_ << 6) + (state_ >> 2);
    state_ *= 0xff51afd7ed558ccdull;
    state_ ^= state_ >> 32;
    return *this;
  }
  Hasher& add(std::string_view s) { return add(std::as_bytes(std::span(s))); }
  Hasher& add(std::span<const std::byte> bytes);
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3ull;
};

/// The hash function of tables whose keys are lists of numbers.
struct HashOfWords {
  std::size_t operator()(std::span<const std::uint64_t> key) const {
    Hasher hasher;
    for (const std::uint64_t word : key) hasher.add(word);
    return hasher.value();
  }
};

}  // namespace frazil
