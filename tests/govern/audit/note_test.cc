// Notes, checkpoints, cosignatures, keys and witness policies of C2SP.
#include "govern/audit/note.h"

#include <gtest/gtest.h>

#include "govern/audit/witness_policy.h"
#include "tests/govern/audit/audit_testing.h"

namespace frazil::govern::audit_testing {
namespace {

TEST(Notes, AKnownNoteIsVerified) {
  // The example of the Go package golang.org/x/mod/sumdb/note.
  const auto key = VerifierKey::parse("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW", "key");
  const std::string text =
      "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
  const std::string line =
      "\u2014 PeterNeumann "
      "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
  const Note note = parse_note(text + "\n" + line, "note");
  EXPECT_EQ(verify_signature(note, key), SignatureState::valid);
  EXPECT_EQ(format_note(note), text + "\n" + line);
  EXPECT_EQ(key.text(), "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW");
  Note changed = note;
  changed.text[0] = 'i';
  EXPECT_EQ(verify_signature(changed, key), SignatureState::invalid);
  EXPECT_EQ(verify_signature(note, log_verifier()), SignatureState::absent);
}

TEST(Notes, OtherTextsAreErrors) {
  const std::string good = "a\n\n\u2014 k AAAAAAA=\n";
  EXPECT_EQ(parse_note(good, "n").signatures.size(), 1);
  for (const std::string& bad : std::vector<std::string>{
           "", "a\n", "a\n\n", "a\n\n\u2014 k AAAAAA==\n", "a\n\n\u2014 k AAAAAAA=", "a\n\n- k AAAAAAA=\n",
           "a\tb\n\n\u2014 k AAAAAAA=\n", "a\n\n\u2014  AAAAAAA=\n", "a\n\n\u2014 k+l AAAAAAA=\n"}) {
    EXPECT_THROW(parse_note(bad, "n"), Error) << bad;
  }
}

TEST(Checkpoints, RoundTripAndIgnoreExtensions) {
  const Checkpoint checkpoint{kOrigin, 20852163, sha256("root")};
  const Checkpoint read = Checkpoint::parse(checkpoint.text() + "extension\n", "c");
  EXPECT_EQ(read.text(), checkpoint.text());
  for (const std::string& bad : std::vector<std::string>{"o\n01\n" + checkpoint.text().substr(25),
                                                         std::string("o\n1\nAAAA\n"), std::string("o\n-1\n")}) {
    EXPECT_THROW(Checkpoint::parse(bad, "c"), Error) << bad;
  }
}

TEST(Cosignatures, CoverTheTimeAndTheCheckpoint) {
  const SigningKey key = SigningKey::generate(KeyKind::ed25519);
  const VerifierKey witness{"example.com/w1", SignatureType::cosignature, key.public_key()};
  Note note{Checkpoint{kOrigin, 5, sha256("root")}.text(), {}};
  note.signatures.push_back(cosign(note.text, witness.name, key, 1679315147));
  EXPECT_EQ(verify_signature(note, witness), SignatureState::valid);
  EXPECT_EQ(cosignature_time(note.signatures[0]), 1679315147);
  EXPECT_EQ(VerifierKey::parse(witness.text(), "key").text(), witness.text());
  // The time is part of what is signed, and a key of type 1 has another id.
  Note later = note;
  later.signatures[0].signature[7] ^= 1;
  EXPECT_EQ(verify_signature(later, witness), SignatureState::invalid);
  const VerifierKey other{witness.name, SignatureType::ed25519, key.public_key()};
  EXPECT_EQ(verify_signature(note, other), SignatureState::absent);
}

std::string key_text(const char* name, SignatureType type = SignatureType::cosignature) {
  return VerifierKey{name, type, SigningKey::generate(KeyKind::ed25519).public_key()}.text();
}

TEST(WitnessPolicies, QuorumsOfTwoLevels) {
  std::string text = "# two companies\n log " + key_text("l", SignatureType::ed25519) + " https://l.example\n\n";
  for (const char* name : {"X1", "X2", "X3", "Y1", "Y2"}) {
    text += std::string("witness ") + name + "\t" + key_text(name) + "\n";
  }
  text += "group X 2 X1 X2 X3\ngroup Y any Y1 Y2\ngroup XY all X Y\nquorum XY\n";
  const WitnessPolicy policy = WitnessPolicy::parse(text, "policy");
  EXPECT_EQ(policy.witnesses().size(), 5);
  EXPECT_TRUE(policy.is_quorum({"X1", "X3", "Y2"}));
  EXPECT_FALSE(policy.is_quorum({"X1", "X2", "X3"}));
  EXPECT_FALSE(policy.is_quorum({"X1", "Y1", "Y2"}));
  EXPECT_TRUE(WitnessPolicy::parse("quorum none", "policy").is_quorum({}));

  const WitnessPolicy again = WitnessPolicy::parse(policy.text(), "text");
  EXPECT_EQ(again.text(), policy.text());
  EXPECT_EQ(again.logs()[0].text(), policy.logs()[0].text());
  EXPECT_TRUE(again.is_quorum({"X1", "X3", "Y2"}));
  EXPECT_FALSE(again.is_quorum({"X1", "X2", "X3"}));
}

TEST(WitnessPolicies, MistakesNameTheLine) {
  const std::string w = "witness a " + key_text("a") + "\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "policy: there is no line 'quorum'"},
      {"quorum a\n", "policy, line 1: 'a' is not defined above"},
      {w + "group g 2 a\nquorum g\n", "policy, line 2: expected all, any or a number from 1 to 1, got '2'"},
      {w + "group g all a\ngroup h all a\n", "policy, line 3: 'a' is a member of two groups"},
      {w + w, "policy, line 2: the key is that of 'a'"},
      {w + "quorum a\nquorum a\n", "policy, line 3: a second line 'quorum'"},
      {"log " + key_text("a") + "\n", "policy, line 1: expected a key of type 1, got 4"},
      {"logs\n", "policy, line 1: expected log, witness, group or quorum, got 'logs'"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(error_of([&] { WitnessPolicy::parse(text, "policy"); }), message);
  }
}

}  // namespace
}  // namespace frazil::govern::audit_testing
