// Payloads of requests: durable with their entries, found by them, pruned with them.
#include "govern/audit/payloads.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "error/tool.h"
#include "govern/audit/audit_log.h"
#include "govern/audit/log_store.h"
#include "govern/audit/verify.h"

namespace frazil::govern {
namespace {

constexpr const char* kOrigin = "example.org/payloads";

Json request_at(std::int64_t ms) {
  return {{"at", format_time(ms)}, {"kind", "request"},
          {"model", "m"},          {"definition", digest_text(sha256("m"))},
          {"status", "ok"},        {"ms", 1}};
}

class Payloads : public testing::Test {
 protected:
  AuditLog open() { return AuditLog({.folder = folder_ / "log", .origin = kOrigin, .key = key_}); }
  std::string path() const { return folder_ / "log"; }

  test::TempFolder folder_;
  SigningKey key_ = SigningKey::generate(KeyKind::ed25519);
};

TEST_F(Payloads, AreFoundByTheirEntries) {
  for (const int session : {0, 1}) {
    AuditLog log = open();
    for (int i = 0; i < 3; ++i)
      audit_testing::append_request(log, request_at(1000), "payload " + std::to_string(3 * session + i));
    log.close();
  }
  for (std::uint64_t i = 0; i < 6; ++i) {
    const std::string text = "payload " + std::to_string(i);
    EXPECT_EQ(get_payload(path(), i + (i < 3 ? 0 : 1), digest_text(sha256(text))), text);  // an event `repair` between
  }
  EXPECT_THROW(get_payload(path(), 0, digest_text(sha256("other"))), Error);
}

TEST_F(Payloads, OfARecordThatIsCutOffAreMissing) {
  {
    AuditLog log = open();
    audit_testing::append_request(log, request_at(1000), "first");
    audit_testing::append_request(log, request_at(1000), "second");
    log.close();
  }
  const auto file = std::filesystem::directory_iterator(path() + "/payloads")->path();
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_EQ(get_payload(path(), 0, digest_text(sha256("first"))), "first");
  EXPECT_THROW(get_payload(path(), 1, digest_text(sha256("second"))), Error);
}

TEST_F(Payloads, AreRemovedWithTheirEntries) {
  AuditLog log = open();
  const std::int64_t now = now_milliseconds();
  for (int i = 0; i < 300; ++i)
    audit_testing::append_request(log, request_at(now - 100'000'000 + i), "old " + std::to_string(i));
  for (int i = 0; i < 20; ++i) audit_testing::append_request(log, request_at(now), "new " + std::to_string(i));
  log.publish_checkpoint();
  EXPECT_EQ(log.prune({{"request", std::chrono::hours(1)}}).dropped.at("request"), 256U);
  audit_testing::append_request(log, request_at(now), "last");
  log.close();
  EXPECT_THROW(get_payload(path(), 0, digest_text(sha256("old 0"))), Error);
  EXPECT_EQ(get_payload(path(), 299, digest_text(sha256("old 299"))), "old 299");  // of a bundle that is not full
  EXPECT_EQ(get_payload(path(), 300, digest_text(sha256("new 0"))), "new 0");
  std::string all;
  read_payloads(path(), [&](std::string_view, std::string_view bytes) { all += bytes; });
  EXPECT_EQ(all.find("old 255"), std::string::npos);
  EXPECT_NE(all.find("last"), std::string::npos);
}

TEST_F(Payloads, ThatWereChangedAreFoundByTheVerifier) {
  {
    AuditLog log = open();
    log.append({{"kind", "boot"}, {"build", "test"}});
    audit_testing::append_request(log, request_at(now_milliseconds()), "a payload of a request");
    log.close();
  }
  const auto blob_findings = [&] {
    VerifyOptions options;
    options.policy = WitnessPolicy::of_logs({{kOrigin, SignatureType::ed25519, key_.public_key()}});
    std::size_t count = 0;
    for (const Finding& finding : verify_log(path(), options).findings.list()) count += finding.check == "blob" ? 1 : 0;
    return count;
  };
  EXPECT_EQ(blob_findings(), 0U);
  const auto file = std::filesystem::directory_iterator(path() + "/payloads")->path();
  std::fstream(file, std::ios::in | std::ios::out).seekp(-1, std::ios::end) << 'X';
  EXPECT_EQ(blob_findings(), 1U);
  std::filesystem::remove(file);
  EXPECT_EQ(blob_findings(), 1U);
}

TEST_F(Payloads, OfEntriesThatCouldNotBeWrittenAreTakenBack) {
  PayloadWriter writer(folder_ / "own");
  const std::vector<std::string> first{"one", "two"}, second{"three"};
  writer.write(0, first);
  writer.undo();
  writer.write(0, second);
  std::vector<std::string> all;
  read_payloads(folder_ / "own", [&](std::string_view, std::string_view bytes) { all.emplace_back(bytes); });
  EXPECT_EQ(all, second);
}

}  // namespace
}  // namespace frazil::govern
