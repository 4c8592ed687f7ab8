#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace frazil::fuzz {

/// Choices read from a fuzzer's bytes; after the last byte they come from a generator seeded with the bytes.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {
    for (std::uint8_t b : bytes) state_ = (state_ ^ b) * 0x100000001b3ull;
  }

  std::uint8_t byte() {
    if (at_ < bytes_.size()) return bytes_[at_++];
    return static_cast<std::uint8_t>(random() >> 56);
  }
  /// Returns a number in [0, n). Precondition: 0 < n <= 2^16.
  std::size_t below(std::size_t n) {
    if (n == 1) return 0;
    return n <= 256 ? byte() * n / 256 : (byte() * std::size_t{256} + byte()) * n / 65536;
  }
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(below(static_cast<std::size_t>(hi - lo + 1)));
  }
  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return of.begin()[below(of.size())];
  }
  template <class C>
  const auto& pick(const C& of) {
    return of[below(of.size())];
  }
  /// Returns the index of one of `weights`, with probability proportional to it.
  std::size_t weighted(std::initializer_list<int> weights) {
    int total = 0;
    for (int w : weights) total += w;
    auto left = static_cast<int>(below(static_cast<std::size_t>(total)));
    std::size_t at = 0;
    for (int w : weights) {
      if (left < w) return at;
      left -= w;
      ++at;
    }
    return 0;
  }
  /// Returns 64 generated bits, for values that coverage need not guide.
  std::uint64_t random() {
    state_ += 0x9e3779b97f4a7c15ull;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::uint64_t state_ = 0xcbf29ce484222325ull;
};

}  // namespace frazil::fuzz
