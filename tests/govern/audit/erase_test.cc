// Erasure of subjects, and legal holds against it and against pruning.
#include <gmock/gmock.h>

#include "govern/audit/audit_testing.h"
#include "govern/audit/blobs.h"
#include "govern/audit/subject_keys.h"

namespace frazil::govern::audit_testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class Erasure : public ::testing::Test {
 protected:
  Erasure() : log_(std::make_unique<AuditLog>(options_of(folder_ / "log"))), keys_(folder_ / "keys") {
    log_->append(boot_event());
    log_->append(policy_event("policy 1"));
    log_->append(publish_event("definition 1", "policy 1"));
  }
  /// Appends a request about a subject and returns its blob.
  std::string record(const std::string& subject, const std::string& payload) {
    const std::string id = keys_.id_of(subject);
    return record_with(id, log_->put_blob(keys_.seal(id, "r", payload)));
  }
  std::string record_with(const std::string& id, const std::string& blob) {
    Json request = request_event("definition 1");
    request["subject"] = id;
    request["blobs"] = {blob};
    log_->append(request);
    return blob;
  }
  bool has(const std::string& blob) const { return fs::exists(blob_path(folder_ / "log", blob)); }
  VerifyReport closed() {
    log_->append(shutdown_event());
    log_->close();
    return verify(folder_ / "log");
  }

  const TemporaryFolder folder_;
  std::unique_ptr<AuditLog> log_;
  SubjectKeys keys_;
};

TEST_F(Erasure, RemovesWhatIsAboutOneSubjectAlone) {
  const std::string alice = record("alice", "a1"), bob = record("bob", "b1");
  const std::string shared = record("alice", "a2");
  record_with(keys_.id_of("bob"), shared);
  const std::string id = keys_.id_of("alice");
  const EraseResult result = log_->erase(keys_, "alice", "officer");
  EXPECT_EQ(result.subject, id);
  EXPECT_EQ(result.event, 7U);
  EXPECT_EQ(result.blobs, 1U);
  EXPECT_FALSE(has(alice));
  EXPECT_TRUE(has(bob));
  EXPECT_TRUE(has(shared));
  EXPECT_EQ(keys_.unseal(id, "r", get_blob(folder_ / "log", shared)), std::nullopt);
  EXPECT_THAT(error_of([&] { log_->erase(keys_, "alice"); }), HasSubstr("the subject has no key"));
  EXPECT_THAT(error_of([&] { log_->erase(keys_, "nobody"); }), HasSubstr("the subject has no key"));
  const VerifyReport report = closed();
  EXPECT_EQ(findings_of(report), "");
  EXPECT_THAT(report.notes, Contains(HasSubstr("blob " + alice + " was erased under event 7")));
}

TEST_F(Erasure, ABlobThatIsGoneWithoutAnEventIsAViolation) {
  const std::string alice = record("alice", "a1"), shared = record("alice", "a2");
  record_with(keys_.id_of("bob"), shared);
  const std::string bob = record("bob", "b1");
  log_->erase(keys_, "alice");
  remove_blob(folder_ / "log", shared);
  remove_blob(folder_ / "log", bob);
  const VerifyReport report = closed();
  EXPECT_THAT(findings_of(report), HasSubstr("blob " + shared + " is missing"));
  EXPECT_THAT(findings_of(report), HasSubstr("blob " + bob + " is missing"));
  EXPECT_EQ(report.findings.count(), 2U);
}

TEST_F(Erasure, AHoldPreventsIt) {
  const std::string blob = record("alice", "a1");
  record("bob", "b1");
  const std::string id = keys_.id_of("alice");
  EXPECT_EQ(log_->hold({.case_name = "case 7", .subject = id}), 5U);
  EXPECT_THAT(error_of([&] { log_->hold({.case_name = "case 7"}); }), HasSubstr("case 'case 7' has a hold"));
  EXPECT_THAT(error_of([&] { log_->erase(keys_, "alice"); }), HasSubstr("the subject is held by event 5"));
  EXPECT_TRUE(has(blob));
  EXPECT_EQ(keys_.find_id("alice"), id);
  EXPECT_EQ(log_->erase(keys_, "bob").event, 6U);
  EXPECT_EQ(log_->release("case 7"), 7U);
  EXPECT_THAT(error_of([&] { log_->release("case 7"); }), HasSubstr("case 'case 7' has no hold"));
  EXPECT_EQ(log_->erase(keys_, "alice").event, 8U);
  EXPECT_EQ(findings_of(closed()), "");
}

TEST_F(Erasure, AnErasureUnderAHoldIsAViolation) {
  const std::string id = keys_.id_of("alice");
  log_->hold({.case_name = "all"});
  log_->append({{"kind", "erase"}, {"subject", id}});
  log_->append({{"kind", "release"}, {"case", "other"}});
  const VerifyReport report = closed();
  EXPECT_THAT(findings_of(report), HasSubstr("which event 3 holds"));
  EXPECT_THAT(findings_of(report), HasSubstr("case 'other' has no hold"));
}

TEST_F(Erasure, AHoldPreventsPruning) {
  const std::string held = keys_.id_of("alice");
  for (int i = 0; i < 600; ++i) {
    Json request = request_event("definition 1", i);
    request["subject"] = i % 100 == 0 ? held : "someone";
    log_->append(request);
  }
  log_->hold({.case_name = "person", .subject = held});
  log_->hold({.case_name = "range", .subject = {}, .from = 40, .to = 50});
  const std::int64_t later = now_milliseconds() + std::int64_t{400} * 86'400'000;
  const PruneResult pruned = log_->prune({{"request", std::chrono::seconds(1)}}, later);
  // Two bundles are full. They have 509 requests: the held ones of index 3 + 100 k, and 40 to 49, stay.
  EXPECT_EQ(pruned.dropped.at("request"), 509U - 6U - 10U);
  log_->release("person");
  log_->release("range");
  EXPECT_EQ(log_->prune({{"request", std::chrono::seconds(1)}}, later).dropped.at("request"), 16U);
  EXPECT_EQ(findings_of(closed()), "");
}

}  // namespace
}  // namespace frazil::govern::audit_testing
