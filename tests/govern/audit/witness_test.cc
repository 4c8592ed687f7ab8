// The witness's answers (C2SP tlog-witness), and how a log deals with witnesses.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "govern/audit/history.h"
#include "govern/base/encoding.h"
#include "tests/govern/audit/audit_testing.h"

namespace frazil::govern::audit_testing {
namespace {

using ::testing::HasSubstr;

/// A tree with signed checkpoints of its sizes.
struct WitnessedTree {
  std::vector<Digest> leaves;
  SubtreeHash source = [this](unsigned height, std::uint64_t index) {
    return complete_root(std::span(leaves).subspan(index << height, std::size_t{1} << height));
  };
  explicit WitnessedTree(int count, const std::string& salt = "") {
    for (int i = 0; i < count; ++i) leaves.push_back(leaf_hash(salt + std::to_string(i)));
  }
  std::string note(std::uint64_t size, const SigningKey& key = log_key(), const std::string& origin = kOrigin) const {
    const std::string text = Checkpoint{origin, size, root_of(size, source)}.text();
    return format_note({text, {sign_note(text, origin, key)}});
  }
  std::string request(std::uint64_t old, std::uint64_t size) const {
    std::string body = "old " + std::to_string(old) + "\n";
    for (const Digest& hash : consistency_proof(old, size, source)) body += base64(hash) + "\n";
    return body + "\n" + note(size);
  }
};

TEST(Witnesses, AnswerAsTheSpecificationSays) {
  const TemporaryFolder state;
  TestWitness witness(state.path());
  const WitnessedTree tree(40), fork(40, "other ");
  struct Case {
    const char* name;
    std::string body;
    unsigned status;
    std::string answer;
  };
  const SigningKey other = SigningKey::generate(KeyKind::ed25519);
  const std::vector<Case> cases = {
      {"a first checkpoint", tree.request(0, 10), 200, "\u2014 example.com/w1 "},
      {"the same again", tree.request(10, 10), 200, "\u2014 example.com/w1 "},
      {"a later one", tree.request(10, 25), 200, "\u2014 example.com/w1 "},
      {"an old size that is not the last", tree.request(10, 30), 409, "25\n"},
      {"an old size of zero", tree.request(0, 30), 409, "25\n"},
      {"another tree of the same size", fork.request(25, 25), 409, "25\n"},
      {"another tree", fork.request(25, 30), 422, ""},
      {"a proof that is cut", "old 25\n\n" + tree.note(30), 422, ""},
      {"an old size beyond the checkpoint", tree.request(30, 30).replace(4, 2, "31"), 400, ""},
      {"an unknown log", "old 0\n\n" + tree.note(30, log_key(), "example.com/unknown"), 404, ""},
      {"another key", "old 25\n\n" + tree.note(30, other), 403, ""},
      {"no old size", "\n" + tree.note(30), 400, ""},
      {"a leading zero", "old 025\n\n" + tree.note(30), 400, ""},
      {"no checkpoint", "old 25\n\n", 400, ""},
      {"nothing", "", 400, ""},
      {"the next one", tree.request(25, 40), 200, "\u2014 example.com/w1 "},
  };
  for (const Case& c : cases) {
    const WitnessAnswer answer = witness.witness.add_checkpoint(c.body);
    EXPECT_EQ(answer.status, c.status) << c.name << ": " << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(c.answer)) << c.name;
    if (answer.status != 200) continue;
    const std::string note = c.body.substr(c.body.find("\n\n") + 2) + answer.body;
    EXPECT_EQ(verify_signature(parse_note(note, "note"), witness.witness.key()), SignatureState::valid);
  }
}

TEST(Witnesses, KeepTheirStateOverARestart) {
  const TemporaryFolder state;
  const WitnessedTree tree(40);
  const SigningKey key = SigningKey::generate(KeyKind::ed25519);
  EXPECT_EQ(Witness(state.path(), "w", key, {log_verifier()}).add_checkpoint(tree.request(0, 10)).status, 200);
  Witness again(state.path(), "w", key, {log_verifier()});
  EXPECT_EQ(again.add_checkpoint(tree.request(0, 20)).body, "10\n");
  EXPECT_THAT(error_of([&] { Witness second(state.path(), "w", key, {log_verifier()}); }),
              HasSubstr("another witness uses it"));
}

TEST(Witnesses, ALogKeepsCosignedCheckpoints) {
  const TemporaryFolder folder, state;
  TestWitness witness(state.path());
  AuditOptions options = options_of(folder.path());
  options.witnesses = witness.policy();
  options.witness_client = witness.client();
  AuditLog log(options);
  append_run(log, 100);
  const std::string note = log.publish_checkpoint();
  EXPECT_EQ(witness.policy().witnesses_of(parse_note(note, "note")), (std::set<std::string>{"w1"}));
  log.close();
  EXPECT_EQ(read_history(folder.path()).back().checkpoint.size, 104);
  VerifyOptions verify_options;
  verify_options.policy = witness.policy();
  const VerifyReport report = verify_log(folder.path(), verify_options);
  EXPECT_EQ(findings_of(report), "");
  EXPECT_EQ(report.witnessed_size, 104);
  // Another witness's quorum is not reached.
  const VerifierKey other{"example.com/w2", SignatureType::cosignature, fixed_key(3).public_key()};
  const std::string text = "log " + log_verifier().text() + "\nwitness w2 " + other.text() + "\nquorum w2\n";
  verify_options.policy = WitnessPolicy::parse(text, "policy");
  EXPECT_THAT(findings_of(verify_log(folder.path(), verify_options)), HasSubstr("no checkpoint has cosignatures"));
}

TEST(Witnesses, AnUnreachableWitnessIsStatedOrRefuses) {
  for (const WitnessMode mode : {WitnessMode::proceed, WitnessMode::refuse}) {
    const TemporaryFolder folder, state;
    TestWitness witness(state.path());
    AuditOptions options = options_of(folder.path());
    options.witnesses = witness.policy();
    options.witness_client = [](const auto&, const auto&) -> WitnessAnswer { throw std::runtime_error("no route"); };
    options.witness_mode = mode;
    options.witness_patience = std::chrono::milliseconds(0);
    AuditLog log(options);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::string error = error_of([&] { append_run(log, 3); });
    EXPECT_THAT(error, HasSubstr(mode == WitnessMode::proceed ? "no error" : "witness 'w1': no route"));
    log.close();
    const VerifyReport report = verify(folder.path());
    EXPECT_EQ(findings_of(report), "");
    if (mode == WitnessMode::proceed) {
      EXPECT_EQ(report.kinds.at("witness"), 1);
    }
  }
}

}  // namespace
}  // namespace frazil::govern::audit_testing
