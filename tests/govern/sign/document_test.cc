#include "govern/sign/document.h"

#include "sign_testing.h"

namespace frazil::govern::sign_test::of_document {
namespace {

constexpr Moment kNow = 1'800'000'000;

const SigningKey& officer(const std::string& name) { return key_named(name, KeyKind::ed25519); }

std::vector<PublicKey> officers() {
  return {officer("a").public_key(), officer("b").public_key(), officer("c").public_key()};
}

std::string signed_document(const Document& document, const std::vector<std::string>& signers) {
  Envelope envelope = envelope_of(document);
  for (const std::string& name : signers) add_signature(envelope, officer(name));
  return canonical(json_of(envelope));
}

Document policy(std::uint64_t serial, const std::string& content = "permit all") {
  return {.kind = "policy", .serial = serial, .not_after = kNow, .content = content};
}

TEST(Moments, AreTextsOfOneForm) {
  const std::vector<std::pair<Moment, const char*>> cases = {
      {0, "1970-01-01T00:00:00Z"},
      {951'782'399, "2000-02-28T23:59:59Z"},
      {951'782'400, "2000-02-29T00:00:00Z"},
      {1'800'000'000, "2027-01-15T08:00:00Z"},
      {253'402'300'799, "9999-12-31T23:59:59Z"},
  };
  for (const auto& [moment, text] : cases) {
    EXPECT_EQ(moment_text(moment), text);
    EXPECT_EQ(moment_from(text), moment);
  }
  for (const char* bad : {"", "2027-01-15", "2027-01-15T08:00:00", "2027-01-15T08:00:00+00:00", "2027-02-29T00:00:00Z",
                          "2027-01-15T24:00:00Z", "2027-01-15T08:00:60Z", "2027-1-15T008:00:00Z",
                          "2027-01-15 08:00:00Z", "1969-12-31T23:59:59Z", "2027-13-15T08:00:00Z"}) {
    EXPECT_FALSE(moment_from(bad)) << bad;
  }
  EXPECT_THROW((void)moment_text(-1), Error);
  EXPECT_THROW((void)moment_text(253'402'300'800), Error);
}

TEST(Documents, NeedTOfNKeysAndATime) {
  struct Case {
    const char* name;
    std::vector<std::string> signers;
    Moment now;
    const char* reason;  ///< empty: accepted
  };
  const std::vector<Case> cases = {
      {"two", {"a", "c"}, kNow, ""},
      {"three", {"a", "b", "c"}, kNow, ""},
      {"one", {"a"}, kNow, "it has valid signatures of 1 of the 3 trusted keys, expected at least 2"},
      {"one twice", {"a", "a"}, kNow, "it has valid signatures of 1 of the 3 trusted keys, expected at least 2"},
      {"one and a stranger",
       {"a", "x"},
       kNow,
       "it has valid signatures of 1 of the 3 trusted keys, expected at least 2"},
      {"late", {"a", "b"}, kNow + 1, "it expired at 2027-01-15T08:00:00Z"},
  };
  for (const Case& one : cases) {
    const auto document =
        verify_document(signed_document(policy(7), one.signers), "policy", officers(), 2, one.now, "d");
    EXPECT_EQ(document ? "" : document.error(), one.reason) << one.name;
    if (document) EXPECT_EQ(document->content, "permit all");
    if (document) EXPECT_EQ(document->serial, 7);
  }
  EXPECT_EQ(verify_document(signed_document(policy(7), {"a", "b"}), "envelope", officers(), 2, kNow, "d").error(),
            "its payload type is 'application/vnd.frazil.policy+json', expected "
            "'application/vnd.frazil.envelope+json'");
}

TEST(Documents, AnOlderSerialIsRefusedAlsoAfterARestart) {
  struct Step {
    Document document;
    const char* reason;  ///< empty: accepted
  };
  const std::vector<Step> steps = {
      {policy(3), ""},
      {policy(3), ""},
      {policy(3, "forbid all"), "another document with serial 3 was accepted before"},
      {policy(2), "its serial 2 is lower than 3, which was accepted before"},
      {policy(10, "forbid all"), ""},
      {policy(3), "its serial 3 is lower than 10, which was accepted before"},
      {{.kind = "envelope", .serial = 1, .not_after = kNow, .content = "e"}, ""},
      {policy(9), "its serial 9 is lower than 10, which was accepted before"},
  };
  for (const bool restart : {false, true}) {
    TemporaryFolder folder;
    auto store = std::make_unique<SerialStore>(folder.path("serials"));
    for (const Step& step : steps) {
      if (restart) store = std::make_unique<SerialStore>(folder.path("serials"));
      const auto accepted = store->accept(step.document);
      EXPECT_EQ(accepted ? "" : accepted.error(), step.reason);
    }
  }
}

TEST(Documents, ADamagedStoreOfSerialsIsAnError) {
  TemporaryFolder folder;
  for (const char* bad : {"", "[]", R"({"policy":3})", R"({"policy":{"serial":-1,"digest":""}})", "{"}) {
    folder.write("serials", bad);
    EXPECT_THROW(SerialStore(folder.path("serials")), Error) << bad;
  }
  EXPECT_THROW((void)SerialStore(folder.path("no/such/folder")).accept(policy(1)), Error);
}

}  // namespace
}  // namespace frazil::govern::sign_test::of_document
