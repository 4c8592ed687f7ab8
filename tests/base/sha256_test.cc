// The test vectors of FIPS 180.
#include "base/value/sha256.h"

#include <string>

#include <gtest/gtest.h>

namespace frazil {
namespace {

std::string sha256_of(const std::string& text) { return sha256(std::as_bytes(std::span(text))); }

TEST(Sha256Test, KnownSums) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(1'000'000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const auto& [text, sum] : cases) EXPECT_EQ(sha256_of(text), sum) << text.size() << " bytes";
}

TEST(Sha256Test, TextsAreAddedWithTheirLengths) {
  const auto sum = [](std::initializer_list<std::string_view> texts) {
    Sha256 sha;
    for (const std::string_view text : texts) sha.add_text(text);
    return hex_of(sha.sum());
  };
  EXPECT_EQ(sum({"ab", "c"}), sum({"ab", "c"}));
  EXPECT_NE(sum({"ab", "c"}), sum({"a", "bc"}));
  EXPECT_NE(sum({"abc"}), sum({"abc", ""}));
}

}  // namespace
}  // namespace frazil
