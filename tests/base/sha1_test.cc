// The test vectors of FIPS 180 and of RFC 3174.
#include "base/value/sha1.h"

#include <string>

#include <gtest/gtest.h>

namespace frazil {
namespace {

std::string sha1_of(const std::string& text) { return sha1(std::as_bytes(std::span(text))); }

TEST(Sha1Test, KnownSums) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
      {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrst"
       "u",
       "a49b2446a02c645bf419f995b67091253a04a259"},
      {std::string(1'000'000, 'a'), "34aa973cd4c4daa4f61eeb2bdbad27316534016f"},
  };
  for (const auto& [text, sum] : cases) EXPECT_EQ(sha1_of(text), sum) << text.size() << " bytes";
}

/// The end of the last block: the length fits after 55 bytes, but not after 56.
TEST(Sha1Test, AroundABlock) {
  const std::pair<std::size_t, std::string> cases[] = {
      {55, "c1c8bbdc22796e28c0e15163d20899b65621d65a"}, {56, "c2db330f6083854c99d4b5bfb6e8f29f201be699"},
      {63, "03f09f5b158a7a8cdad920bddc29b81c18a551f5"}, {64, "0098ba824b5c16427bd7a1122a5a442a25ec644d"},
      {65, "11655326c708d70319be2610e8a57d9a5b959d3b"}, {119, "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56"},
  };
  for (const auto& [size, sum] : cases) EXPECT_EQ(sha1_of(std::string(size, 'a')), sum) << size;
}

}  // namespace
}  // namespace frazil
