#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "govern/base/digest.h"
#include "govern/base/encoding.h"
#include "govern/base/error.h"
#include "govern/base/json.h"
#include "govern/base/key.h"

namespace frazil::govern {
namespace {

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(CanonicalJson, WritesWhatRfc8785Shows) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({"b": 1, "a": [true, null, "x"]})", R"({"a":[true,null,"x"],"b":1})"},
      {"[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001, -0.0]",
       "[333333333.3333333,1e+30,4.5,0.002,1e-27,0]"},
      {"[1e21, 123456789012345680000.0, 1e-6, 1.5e-7, -12.75]", "[1e+21,123456789012345680000,0.000001,1.5e-7,-12.75]"},
      {R"(["\u20ac$\u000f\nA'\u0042\"\\\/"])", "[\"€$\\u000f\\nA'B\\\"\\\\/\"]"},
      // The order of UTF-16 code units: the surrogates of U+1F600 precede U+FB33.
      {R"({"\ufb33": 1, "\ud83d\ude00": 2, "\u0080": 3, "1": 4})", "{\"1\":4,\"\u0080\":3,\"😀\":2,\"\uFB33\":1}"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(canonical(parse_json(text, "case")), expected) << text;
}

TEST(CanonicalJson, RefusesWhatReadersDisagreeOn) {
  EXPECT_EQ(message_of([] { parse_json(R"({"a": 1, "b": {"a": 2}, "a": 3})", "case"); }),
            "case: the key \"a\" occurs twice");
  EXPECT_EQ(message_of([] { parse_json("{} {}", "case"); }), "case: expected JSON; byte 4 is wrong");
  EXPECT_EQ(message_of([] { parse_json(std::string(100, '['), "case"); }), "case: nested deeper than 64");
  EXPECT_EQ(message_of([] { canonical(Json(std::int64_t{1} << 54)); }),
            "the integer 18014398509481984 is beyond 2^53, which JSON readers may round");
  EXPECT_EQ(message_of([] { canonical(Json("\xff")); }), "a text in JSON is not UTF-8");
}

TEST(Encoding, AcceptsOneTextForEachSequenceOfBytes) {
  std::string bytes;
  for (int i = 0; i < 70; ++i) {
    EXPECT_EQ(from_base64(base64(bytes_of(bytes))), bytes);
    EXPECT_EQ(from_hex(hex(bytes_of(bytes))), bytes);
    bytes += static_cast<char>(i * 37);
  }
  EXPECT_EQ(base64(bytes_of("Frazil")), "RnJhemls");
  for (const char* bad : {"RnI", "RnJ=", "Rn=h", "R===", "RnJh\n", "Rn-_", "RnJhRg==RnJh"}) {
    EXPECT_FALSE(from_base64(bad)) << bad;
  }
  for (const char* bad : {"a", "0G", "AB"}) EXPECT_FALSE(from_hex(bad)) << bad;
}

TEST(Keys, EachKindSignsAndRefusesAnyOtherMessage) {
  for (const KeyKind kind : {KeyKind::ed25519, KeyKind::ecdsa_p256, KeyKind::ecdsa_p384, KeyKind::ecdsa_p521}) {
    const SigningKey key = SigningKey::from_pem(SigningKey::generate(kind).pem(), "key");
    const PublicKey known = PublicKey::from_pem(key.public_key().pem(), "key");
    EXPECT_EQ(known.kind(), kind);
    EXPECT_EQ(known, key.public_key());
    std::string signature = key.sign("a message");
    EXPECT_TRUE(known.verify("a message", signature));
    EXPECT_FALSE(known.verify("a messagf", signature));
    EXPECT_FALSE(SigningKey::generate(kind).public_key().verify("a message", signature));
    EXPECT_FALSE(known.verify("a message", ""));
    signature.back() ^= 1;
    EXPECT_FALSE(known.verify("a message", signature));
  }
}

TEST(Keys, ATextThatIsNoKeyIsAnError) {
  EXPECT_EQ(message_of([] { PublicKey::from_pem("abc", "file 'k.pem'"); }),
            "file 'k.pem': expected a public key or a certificate in PEM form");
  EXPECT_EQ(message_of([] { SigningKey::from_pem("", "file 'k.pem'"); }),
            "file 'k.pem': expected a private key without a pass phrase in PEM form");
}

TEST(Digests, MatchTheVectorsOfTheStandards) {
  EXPECT_EQ(digest_text(sha256("abc")), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(hmac(bytes_of("Jefe"), "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");  // RFC 4231, case 2
  EXPECT_EQ(sha256_joined(1, bytes_of("a"), bytes_of("b")), sha256(std::string("\1ab")));
}

}  // namespace
}  // namespace frazil::govern
