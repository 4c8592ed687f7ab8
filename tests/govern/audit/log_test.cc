// The writer: events, durability, restarts, refusal and gaps, witnesses, proofs, pruning.
#include <algorithm>
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "govern/audit/blobs.h"
#include "govern/audit/history.h"
#include "govern/audit/log_reader.h"
#include "govern/audit/proof.h"
#include "tests/govern/audit/audit_testing.h"

namespace frazil::govern::audit_testing {
namespace {

using ::testing::HasSubstr;

TEST(AuditLog, AnEmptyLogVerifies) {
  const TemporaryFolder folder;
  AuditLog(options_of(folder.path())).close();
  const VerifyReport report = verify(folder.path());
  EXPECT_EQ(findings_of(report), "");
  EXPECT_EQ(report.size, 0);
}

TEST(AuditLog, VerifiesAtSizesAroundTiles) {
  for (const int requests : {0, 1, 251, 252, 253, 508, 1020}) {
    const TemporaryFolder folder;
    write_log(folder.path(), requests);
    const VerifyReport report = verify(folder.path());
    EXPECT_EQ(findings_of(report), "") << requests;
    EXPECT_EQ(report.size, static_cast<std::uint64_t>(requests) + 4);
    EXPECT_EQ(report.kinds.at("publish"), 1);
  }
}

TEST(AuditLog, ThreadsAppendWithoutLoss) {
  const TemporaryFolder folder;
  AuditLog log(options_of(folder.path()));
  log.append(boot_event());
  log.append(policy_event("policy 1"));
  log.append_durable(publish_event("definition 1", "policy 1"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log] {
      for (int i = 0; i < 500; ++i) {
        const auto index = append_request(log, request_event("definition 1", i));
        if (i % 100 == 0) log.wait_durable(*index);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  log.append(shutdown_event());
  log.close();
  const VerifyReport report = verify(folder.path());
  EXPECT_EQ(findings_of(report), "");
  EXPECT_EQ(report.kinds.at("request"), 2000);
}

TEST(AuditLog, EventsThatTheTableLacksAreErrors) {
  const TemporaryFolder folder;
  AuditLog log(options_of(folder.path()));
  const std::vector<std::pair<Json, std::string>> cases = {
      {{{"kind", "dance"}}, "audit event '\"dance\"': there is no kind 'dance'"},
      {{{"kind", "boot"}}, "audit event '\"boot\"': 'build' is missing"},
      {{{"kind", "policy"}, {"policy", "abc"}}, "audit event '\"policy\"': 'policy': expected a digest"},
      {{{"kind", "boot"}, {"build", "1"}, {"at", "today"}},
       "audit event '\"boot\"': 'at': expected a time like 2026-01-31T23:59:59.000Z"},
      {Json::array(), "audit event '': expected an object"},
  };
  for (const auto& [event, message] : cases) EXPECT_EQ(error_of([&] { log.append(event); }), message);
  Json large = request_event("d");
  large["text"] = std::string(70000, 'x');
  EXPECT_THAT(error_of([&] { log.append(large); }), HasSubstr("expected at most 65535 bytes"));
}

TEST(AuditLog, ContinuesAfterARestart) {
  const TemporaryFolder folder;
  for (int run = 0; run < 3; ++run) write_log(folder.path(), 300);
  AuditLog log(options_of(folder.path()));
  EXPECT_EQ(log.recovery().text, "");
  log.close();
  const VerifyReport report = verify(folder.path());
  EXPECT_EQ(findings_of(report), "");
  EXPECT_EQ(report.size, 912);
}

TEST(AuditLog, OneObjectOpensALog) {
  const TemporaryFolder folder;
  const AuditLog log(options_of(folder.path()));
  EXPECT_THAT(error_of([&] { AuditLog second(options_of(folder.path())); }), HasSubstr("has it open"));
}

TEST(AuditLog, AnotherKeyOrOriginIsRefused) {
  const TemporaryFolder folder;
  write_log(folder.path(), 1);
  AuditOptions options = options_of(folder.path());
  options.key = SigningKey::generate(KeyKind::ed25519);
  EXPECT_THAT(error_of([&] { AuditLog log(options); }), HasSubstr("signed by the given key"));
  options = options_of(folder.path());
  options.origin = "example.com/other";
  EXPECT_THAT(error_of([&] { AuditLog log(options); }), HasSubstr("expected a checkpoint of 'example.com/other'"));
}

TEST(AuditLog, ATornTailIsRepairedAndStated) {
  const TemporaryFolder folder;
  write_log(folder.path(), 20);
  const std::string journal = folder / "journal";
  write_text(journal, read_text(journal) + std::string("\x00\x20{\"at\":\"2026", 12));
  {
    AuditLog log(options_of(folder.path()));
    EXPECT_EQ(log.recovery().torn, 12);
    append_run(log, 3);
    log.close();
  }
  const VerifyReport report = verify(folder.path());
  EXPECT_EQ(findings_of(report), "");
  EXPECT_EQ(report.kinds.at("repair"), 1);
}

/// Limits the size of files that this process writes, for the life of the object.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_ = {};
};

void wait_for_failure(const AuditLog& log, bool failing) {
  for (int i = 0; i < 2000 && log.status().failure.empty() == failing; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(AuditLog, AFullDiskRefusesUntilThereIsSpace) {
  const TemporaryFolder folder;
  AuditLog log(options_of(folder.path()));
  append_run(log, 10);
  log.publish_checkpoint();
  {
    const FullDisk full(2000);
    log.append(boot_event());
    wait_for_failure(log, true);
    EXPECT_THAT(error_of([&] { append_request(log, request_event("definition 1")); }), HasSubstr("File too large"));
    EXPECT_THAT(error_of([&] { log.append(policy_event("policy 1")); }), HasSubstr("File too large"));
  }
  wait_for_failure(log, false);
  append_request(log, request_event("definition 1"));
  log.append(shutdown_event());
  log.close();
  const VerifyReport report = verify(folder.path());
  EXPECT_EQ(findings_of(report), "");
  EXPECT_EQ(report.size, 17);
}

TEST(AuditLog, AFullDiskLeavesAGap) {
  const TemporaryFolder folder;
  AuditOptions options = options_of(folder.path());
  options.pressure = PressureMode::gap;
  AuditLog log(options);
  append_run(log, 10);
  log.append(boot_event());
  log.publish_checkpoint();
  {
    const FullDisk full(2000);
    append_request(log, request_event("definition 1"));
    wait_for_failure(log, true);
    for (int i = 0; i < 7; ++i) EXPECT_EQ(append_request(log, request_event("definition 1")), std::nullopt);
    EXPECT_THAT(error_of([&] { log.append(policy_event("policy 1")); }), HasSubstr("File too large"));
    EXPECT_EQ(log.status().lost, 7);
  }
  wait_for_failure(log, false);
  log.append(shutdown_event());
  log.close();
  const VerifyReport report = verify(folder.path());
  EXPECT_EQ(findings_of(report), "");
  EXPECT_EQ(report.lost, 7);
  EXPECT_EQ(report.kinds.at("gap"), 1);
}

TEST(AuditLog, PendingEventsAreBounded) {
  const TemporaryFolder folder;
  AuditOptions options = options_of(folder.path());
  options.max_pending_bytes = 1000;
  options.commit_every = std::chrono::milliseconds(1000);
  AuditLog log(options);
  std::string error;
  for (int i = 0; i < 100000 && error.empty(); ++i) {
    const std::string text = error_of([&] { append_request(log, request_event("definition 1", i)); });
    if (text != "no error") error = text;
  }
  EXPECT_THAT(error, HasSubstr("too many entries wait"));
}

TEST(AuditLog, WhatCannotBeMadeIsAGap) {
  const TemporaryFolder folder;
  AuditLog log(options_of(folder.path()));
  append_run(log, 1);
  log.append(boot_event());
  Json large = request_event("definition 1"), other = large, strange = large;
  large["steps"] = Json::array({std::string(70000, 'x')});
  other["kind"] = "boot";
  strange["model"] = "\xff";
  for (const Json& event : {large, other, strange}) append_request(log, event);
  for (const std::string& text : {std::string(70000, 'x'), std::string("\xff")}) {
    log.append_request([text]() -> RequestEntry { throw std::runtime_error(text); }, 100);
  }
  append_request(log, request_event("definition 1", 7));
  log.append(shutdown_event());
  log.close();
  const VerifyReport report = verify(folder.path());
  EXPECT_EQ(findings_of(report), "");
  EXPECT_EQ(report.kinds.at("gap"), 5);
  EXPECT_EQ(std::ranges::count_if(report.notes, [](const auto& note) { return note.ends_with("(fault)"); }), 5);
  EXPECT_EQ(report.lost, 5);
  EXPECT_EQ(report.kinds.at("request"), 2);
}

TEST(AuditLog, RequestsAreMadeOnceAndInOrder) {
  const TemporaryFolder folder;
  AuditLog log(options_of(folder.path()));
  append_run(log, 10);
  log.publish_checkpoint();
  std::vector<int> made;
  {
    const FullDisk full(2000);
    for (int i = 0; i < 5; ++i) {
      const auto index = log.append_request(
          [i, &made] {
            made.push_back(i);
            return RequestEntry{request_event("definition 1", i)};
          },
          100);
      EXPECT_EQ(index, i + 14);
    }
    wait_for_failure(log, true);
    EXPECT_THAT(log.status().failure, HasSubstr("File too large"));
  }
  wait_for_failure(log, false);
  EXPECT_EQ(log.append(boot_event()), 19);
  log.append(shutdown_event());
  log.close();
  EXPECT_EQ(made, (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(verify(folder.path()).kinds.at("request"), 15);
}

TEST(AuditLog, CallersMakeEntriesWhileManyWait) {
  constexpr int kRequests = 5000;
  const TemporaryFolder folder;
  AuditOptions options = options_of(folder.path());
  options.commit_every = std::chrono::hours(1);
  AuditLog log(options);
  append_run(log, 0);
  log.append(boot_event());
  std::atomic<int> made_here = 0, made = 0;
  for (int i = 0; i < kRequests; ++i) {
    const auto make = [&, i, caller = std::this_thread::get_id()] {
      ++made;
      made_here += std::this_thread::get_id() == caller ? 1 : 0;
      return RequestEntry{request_event("definition 1", i)};
    };
    EXPECT_EQ(log.append_request(make, 100), i + 5);
  }
  EXPECT_GT(made_here, 500) << "4,096 of them wait for the writer";
  EXPECT_LT(made_here, 1000);
  log.append(shutdown_event());
  log.close();
  EXPECT_EQ(made, kRequests);
  const VerifyReport report = verify(folder.path());
  EXPECT_EQ(findings_of(report), "");
  EXPECT_EQ(report.kinds.at("request"), kRequests);
}

TEST(AuditLog, ProvesEntriesToThirdParties) {
  const TemporaryFolder folder, state;
  TestWitness witness(state.path());
  AuditOptions options = options_of(folder.path());
  options.witnesses = witness.policy();
  options.witness_client = witness.client();
  AuditLog log(options);
  append_run(log, 600);
  log.close();
  for (const std::uint64_t index : {0, 255, 256, 603}) {
    const EntryProof proof = EntryProof::parse(prove_entry(folder.path(), index).text(), "proof");
    EXPECT_EQ(check_entry_proof(proof, witness.policy()), "") << index;
    EntryProof other = proof;
    other.extra.back() = ' ';
    EXPECT_EQ(check_entry_proof(other, witness.policy()), "the hashes do not lead to the root of size 604");
    other = proof;
    other.index ^= 1;
    EXPECT_NE(check_entry_proof(other, witness.policy()), "");
    other = proof;
    other.checkpoint.resize(other.checkpoint.find("\u2014 example.com/w1"));
    EXPECT_EQ(check_entry_proof(other, witness.policy()), "the checkpoint lacks cosignatures of the quorum 'w1'");
    EXPECT_EQ(check_entry_proof(other, WitnessPolicy::of_logs({log_verifier()})), "");
  }
  EXPECT_THAT(error_of([&] { prove_entry(folder.path(), 604); }), HasSubstr("there is no entry 604"));
}

TEST(AuditLog, SelectsEntries) {
  const TemporaryFolder folder;
  write_log(folder.path(), 10);
  const auto count = [&](const ReadFilter& filter) {
    int entries = 0;
    read_log(folder.path(), filter, [&](std::uint64_t, const std::string&) { ++entries; });
    return entries;
  };
  EXPECT_EQ(count({}), 14);
  EXPECT_EQ(count({.kinds = {"boot", "policy"}}), 2);
  EXPECT_EQ(count({.tenant = "b"}), 5);
  EXPECT_EQ(count({.to = now_milliseconds() - 3600000}), 0);
  EXPECT_EQ(count({.from = now_milliseconds() - 3600000}), 14);
  EXPECT_THAT(error_of([&] { count({.kinds = {"dance"}}); }), HasSubstr("there is no kind of events 'dance'"));
}

std::uint64_t bytes_in(const std::string& folder) {
  std::uint64_t bytes = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (file.is_regular_file()) bytes += file.file_size();
  }
  return bytes;
}

TEST(Pruning, RemovesExpiredEntriesAndKeepsProofs) {
  const TemporaryFolder folder;
  AuditLog log(options_of(folder.path()));
  log.append(boot_event());
  log.append(policy_event("policy 1"));
  log.append(publish_event("definition 1", "policy 1"));
  Json with_blob = request_event("definition 1");
  with_blob["blobs"] = {log.put_blob("a payload")};
  log.append(with_blob);
  const std::string shared = log.put_blob("a policy");
  with_blob["blobs"] = {shared};
  log.append(with_blob);
  for (int i = 0; i < 2000; ++i) append_request(log, request_event("definition 1", i));
  with_blob = policy_event("policy 1");
  with_blob["blobs"] = {shared};
  log.append_durable(with_blob);
  EXPECT_TRUE(log.prune({{"request", std::chrono::hours(1)}}).dropped.empty());

  const std::int64_t later = now_milliseconds() + 7200000;
  const PruneResult result = log.prune({{"request", std::chrono::hours(1)}}, later);
  EXPECT_EQ(result.dropped, (std::map<std::string, std::uint64_t>{{"request", 7 * 256 - 3}}));
  log.append(shutdown_event());
  log.close();
  const VerifyReport report = verify(folder.path());
  EXPECT_EQ(findings_of(report), "");
  EXPECT_EQ(report.pruned, 7 * 256 - 3);
  EXPECT_EQ(report.blobs, 1);
  EXPECT_EQ(check_entry_proof(prove_entry(folder.path(), 2), WitnessPolicy::of_logs({log_verifier()})), "");
  EXPECT_THAT(error_of([&] { prove_entry(folder.path(), 3); }), HasSubstr("was pruned"));
  EXPECT_LT(bytes_in(folder / "tile/0") + bytes_in(folder / "tile/kept"), 150 * result.dropped.at("request"));
  EXPECT_FALSE(fs::exists(folder / "tile/entries/000"));
}

TEST(Pruning, UndeclaredRemovalsAreFound) {
  const TemporaryFolder folder;
  write_log(folder.path(), 600);
  fs::remove(folder / "tile/entries/001");
  EXPECT_THAT(findings_of(verify(folder.path())), HasSubstr("prune 256: 256 entries from here are missing"));
}

TEST(Pruning, TimesToKeepAreRead) {
  EXPECT_EQ(parse_keep("190d", "keep"), std::chrono::hours(190 * 24));
  EXPECT_EQ(parse_keep("6h", "keep"), std::chrono::hours(6));
  EXPECT_EQ(parse_keep("10y", "keep"), std::chrono::hours(10 * 365 * 24));
  for (const char* bad : {"", "d", "190", "-1d", "1.5d", "1w", "99999999999d"}) {
    EXPECT_THROW(parse_keep(bad, "keep"), Error) << bad;
  }
}

TEST(Blobs, AreFoundByTheirDigest) {
  const TemporaryFolder folder;
  const std::string digest = put_blob(folder.path(), "bytes");
  EXPECT_EQ(put_blob(folder.path(), "bytes"), digest);
  EXPECT_EQ(get_blob(folder.path(), digest), "bytes");
  write_text(blob_path(folder.path(), digest), "bytez");
  EXPECT_THAT(error_of([&] { get_blob(folder.path(), digest); }), HasSubstr("another digest"));
  EXPECT_THAT(error_of([&] { get_blob(folder.path(), "sha256:../../etc/passwd"); }), HasSubstr("expected sha256:"));
}

}  // namespace
}  // namespace frazil::govern::audit_testing
