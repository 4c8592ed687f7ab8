#include "base/value/sha1.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

namespace frazil {
namespace {

constexpr std::size_t kBlockBytes = 64;

struct State {
  std::uint32_t a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476, e = 0xc3d2e1f0;
};

std::uint32_t big_endian(const std::byte* at) {
  std::uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return std::endian::native == std::endian::little ? std::byteswap(value) : value;
}

/// The message schedule of a block. Each word is computed when its round needs it; only the last 16 words are kept.
class Schedule {
 public:
  explicit Schedule(const std::byte* block) {
    for (std::size_t i = 0; i < 16; ++i) words_[i] = big_endian(block + 4 * i);
  }
  std::uint32_t word(std::size_t t) {
    std::uint32_t& w = words_[t % 16];
    if (t >= 16) w = std::rotl(w ^ words_[(t + 2) % 16] ^ words_[(t + 8) % 16] ^ words_[(t + 13) % 16], 1);
    return w;
  }

 private:
  std::array<std::uint32_t, 16> words_;
};

void add_block(State& state, const std::byte* block) {
  Schedule schedule(block);
  State s = state;
  const auto rounds = [&](std::size_t from, std::uint32_t constant, auto mix) {
    for (std::size_t t = from; t < from + 20; ++t) {
      const std::uint32_t next = std::rotl(s.a, 5) + mix(s.b, s.c, s.d) + s.e + constant + schedule.word(t);
      s = {next, s.a, std::rotl(s.b, 30), s.c, s.d};
    }
  };
  const auto choose = [](auto x, auto y, auto z) { return z ^ (x & (y ^ z)); };
  const auto parity = [](auto x, auto y, auto z) { return x ^ y ^ z; };
  const auto majority = [](auto x, auto y, auto z) { return (x & y) | (z & (x | y)); };
  rounds(0, 0x5a827999, choose);
  rounds(20, 0x6ed9eba1, parity);
  rounds(40, 0x8f1bbcdc, majority);
  rounds(60, 0xca62c1d6, parity);
  state = {state.a + s.a, state.b + s.b, state.c + s.c, state.d + s.d, state.e + s.e};
}

/// Adds the end of the message: the bytes after the last whole block, a one bit, zeros, and the length in bits.
void add_end(State& state, std::span<const std::byte> rest, std::uint64_t size) {
  std::array<std::byte, 2 * kBlockBytes> end{};
  if (!rest.empty()) std::memcpy(end.data(), rest.data(), rest.size());
  end[rest.size()] = std::byte{0x80};
  const std::size_t blocks = rest.size() + 9 > kBlockBytes ? 2 : 1;
  for (std::size_t i = 0; i < 8; ++i) {
    end[blocks * kBlockBytes - 1 - i] = static_cast<std::byte>(size * 8 >> (8 * i));
  }
  for (std::size_t i = 0; i < blocks; ++i) add_block(state, end.data() + i * kBlockBytes);
}

}  // namespace

std::string sha1(std::span<const std::byte> bytes) {
  State state;
  const std::size_t whole = bytes.size() / kBlockBytes * kBlockBytes;
  for (std::size_t at = 0; at < whole; at += kBlockBytes) add_block(state, bytes.data() + at);
  add_end(state, bytes.subspan(whole), bytes.size());
  return fmt::format("{:08x}{:08x}{:08x}{:08x}{:08x}", state.a, state.b, state.c, state.d, state.e);
}

}  // namespace frazil
