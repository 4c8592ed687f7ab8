#include "govern/sign/dsse.h"

#include "govern/base/encoding.h"
#include "sign_testing.h"

namespace frazil::govern::sign_test::of_dsse {
namespace {

Envelope signed_by(const std::vector<std::string>& names, KeyKind kind = KeyKind::ed25519) {
  Envelope envelope{.payload_type = "text/plain", .payload = "hello world", .signatures = {}};
  for (const std::string& name : names) add_signature(envelope, key_named(name, kind));
  return envelope;
}

std::vector<PublicKey> keys_of(const std::vector<std::string>& names, KeyKind kind = KeyKind::ed25519) {
  std::vector<PublicKey> keys;
  for (const std::string& name : names) keys.push_back(key_named(name, kind).public_key());
  return keys;
}

TEST(Dsse, SignsThePreAuthenticationEncoding) {
  EXPECT_EQ(pae("http://example.com/HelloWorld", "hello world"),
            "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
  EXPECT_EQ(pae("", ""), "DSSEv1 0  0 ");
  EXPECT_EQ(pae("ä", std::string("\0b", 2)), std::string("DSSEv1 2 ä 2 \0b", 16));
}

TEST(Dsse, CountsDistinctKeys) {
  struct Case {
    std::vector<std::string> signers, trusted;
    std::size_t threshold;
    bool accepted;
  };
  const std::vector<Case> cases = {
      {{"a"}, {"a"}, 1, true},
      {{"a"}, {"b"}, 1, false},
      {{}, {"a"}, 1, false},
      {{"a"}, {}, 1, false},
      {{"a", "b"}, {"a", "b", "c"}, 2, true},
      {{"a", "c"}, {"a", "b"}, 2, false},
      {{"a", "a"}, {"a", "b"}, 2, false},
      {{"a"}, {"a", "a"}, 2, false},
      {{"b", "a"}, {"a", "b"}, 2, true},
  };
  for (const auto& [signers, trusted, threshold, accepted] : cases) {
    const auto verified = verify_envelope(signed_by(signers), "text/plain", keys_of(trusted), threshold);
    EXPECT_EQ(verified.has_value(), accepted) << testing::PrintToString(signers) << testing::PrintToString(trusted);
  }
  EXPECT_EQ(error_of([] { (void)verify_envelope(signed_by({"a"}), "text/plain", keys_of({"a"}), 0); }),
            "a threshold of 0 signatures verifies nothing: expected at least 1");
}

TEST(Dsse, OneKeyThatSignedTwiceIsOne) {
  Envelope envelope = signed_by({"a"}, KeyKind::ecdsa_p256);
  const SigningKey& key = key_named("a", KeyKind::ecdsa_p256);
  envelope.signatures.push_back({.key_id = "another", .bytes = key.sign(pae("text/plain", "hello world"))});
  ASSERT_NE(envelope.signatures[0].bytes, envelope.signatures[1].bytes);
  const auto trusted = keys_of({"a", "b"}, KeyKind::ecdsa_p256);
  EXPECT_EQ(signers_of(envelope, trusted), std::vector<std::size_t>{0});
  EXPECT_FALSE(verify_envelope(envelope, "text/plain", trusted, 2));
}

TEST(Dsse, TheTypeIsSigned) {
  Envelope envelope = signed_by({"a"});
  EXPECT_EQ(verify_envelope(envelope, "text/html", keys_of({"a"}), 1).error(),
            "its payload type is 'text/plain', expected 'text/html'");
  envelope.payload_type = "text/html";
  EXPECT_EQ(verify_envelope(envelope, "text/html", keys_of({"a"}), 1).error(),
            "it has valid signatures of 0 of the 1 trusted keys, expected at least 1");
}

TEST(Dsse, TheHintOfAKeyDecidesNothing) {
  for (const std::string& hint :
       {std::string(), key_named("b", KeyKind::ed25519).public_key().id(), std::string("x")}) {
    Envelope envelope = signed_by({"a"});
    envelope.signatures[0].key_id = hint;
    EXPECT_TRUE(verify_envelope(envelope, "text/plain", keys_of({"b", "a"}), 1)) << hint;
    EXPECT_FALSE(verify_envelope(envelope, "text/plain", keys_of({"b"}), 1)) << hint;
  }
}

TEST(Dsse, ReadsWhatItWritesAndBothAlphabets) {
  Envelope envelope{.payload_type = "t", .payload = "\xfb\xff\xbf>?", .signatures = {{"", "\xff\xfe"}}};
  const Envelope again = read_envelope(canonical(json_of(envelope)), "e");
  EXPECT_EQ(again.payload, envelope.payload);
  EXPECT_EQ(again.signatures[0].bytes, "\xff\xfe");
  const Envelope other =
      read_envelope(R"({"payload":"-_-_Pj8=","payloadType":"t","signatures":[{"sig":"__4=","keyid":null}]})", "e");
  EXPECT_EQ(other.payload, envelope.payload);
  EXPECT_EQ(other.signatures[0].bytes, "\xff\xfe");
}

TEST(Dsse, NamesWhatIsWrong) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"[]", "e: expected an object with 'payloadType', got array"},
      {R"({"payload":"","signatures":[]})", "e: 'payloadType' is missing"},
      {R"({"payload":1,"payloadType":"t","signatures":[]})", "e: 'payload': expected a string, got number"},
      {R"({"payload":"-+aa","payloadType":"t","signatures":[]})", "e: 'payload': expected base64 with padding"},
      {R"({"payload":"","payloadType":"t","signatures":{}})", "e: 'signatures': expected a list, got object"},
      {R"({"payload":"","payloadType":"t","signatures":[{}]})", "e: 'sig' is missing"},
      {R"({"payload":"","payloadType":"t","signatures":[{"sig":"","keyid":2}]})",
       "e: 'keyid': expected a string, got number"},
      {R"({"payload":"","payload":"","payloadType":"t","signatures":[]})", "e: the key \"payload\" occurs twice"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(error_of([&, form = text] { (void)read_envelope(form, "e"); }), expected);
  }
}

/// The vector "single-signature" of the protocol, whose key is that of RFC 8032, section 7.1, test 1.
TEST(Dsse, VerifiesAVectorOfTheProtocol) {
  const PublicKey key =
      PublicKey::from_ed25519(*from_hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"));
  const Envelope envelope = read_envelope(
      R"({"payload":"eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEifQ==",
          "payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":"A","sig":
          "2WAfaHm5jluo0w+0rk8uVkluELJYWjSmU9x7EUzx+AyteDGJ4/nqyJXfmAUVFIAoQafWm7AxBZNw5M9ixNHiCA=="}]})",
      "vector");
  const auto verified = verify_envelope(envelope, kInTotoType, std::span(&key, 1), 1);
  ASSERT_TRUE(verified) << verified.error();
  EXPECT_EQ(verified->payload, R"({"_type":"https://in-toto.io/Statement/v1"})");
}

}  // namespace
}  // namespace frazil::govern::sign_test::of_dsse
