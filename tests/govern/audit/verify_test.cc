// The verifier: what an attacker with the folder and the log's key may do, events that do not fit together, crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "govern/audit/blobs.h"
#include "govern/audit/entry_scan.h"
#include "govern/audit/history.h"
#include "tests/govern/audit/crash_testing.h"
#include "tests/govern/audit/tamper_testing.h"

namespace frazil::govern::audit_testing {
namespace {

using ::testing::HasSubstr;

bool has_second_verifier() { return std::system("python3 -c '' && openssl version >/dev/null") == 0; }

TEST(Tampering, FlippedBytesAndCutsAreFoundByBothVerifiers) {
  const TamperCase subject;
  ASSERT_EQ(subject.first_verifier(subject.path()), "");
  for (unsigned seed = 0; seed < 60; ++seed) {
    const TamperResult result = subject.damage(seed, seed % 5 == 0, false);
    EXPECT_TRUE(result.found) << seed << " " << result.text;
  }
  if (!has_second_verifier()) GTEST_SKIP() << "needs python3 and openssl";
  ASSERT_EQ(subject.second_verifier(subject.path()), 0);
  for (unsigned seed = 0; seed < 2; ++seed) {
    const TamperResult result = subject.damage(seed, seed == 0, true);
    EXPECT_TRUE(result.found_by_second) << seed << " " << result.text;
  }
}

/// Copies a folder over another one.
void restore(const std::string& from, const std::string& to) {
  fs::remove_all(to);
  fs::copy(from, to, fs::copy_options::recursive);
}

TEST(Tampering, WithTheLogsKeyIsFoundAgainstAWitnessedCheckpoint) {
  const TamperCase subject;
  const TemporaryFolder attacks;
  struct Case {
    const char* name;
    std::string found;
    std::function<void(const std::string& folder)> attack;
  };
  const std::vector<Case> cases = {
      {"a rewritten log of equal length", "the log was rewritten",
       [&](const std::string& folder) {
         AuditLog log(options_of(folder));
         for (int i = 0; i < 620; ++i) log.append(i == 0 ? boot_event() : publish_event("other", "policy 1"));
         log.close();
       }},
      {"a shorter log", "the log was cut or is an older copy",
       [&](const std::string& folder) { write_log(folder, 100); }},
      {"a deleted checkpoint", "checkpoint",
       [&](const std::string& folder) {
         restore(subject.path(), folder);
         fs::remove(folder + "/checkpoint");
       }},
      {"an empty folder", "checkpoint", [&](const std::string& folder) { fs::create_directories(folder); }},
  };
  for (const Case& c : cases) {
    const std::string folder = attacks / c.name;
    c.attack(folder);
    EXPECT_THAT(subject.first_verifier(folder), HasSubstr(c.found)) << c.name;
    if (has_second_verifier()) {
      EXPECT_EQ(subject.second_verifier(folder), 1) << c.name;
    }
  }
}

TEST(Tampering, AnOldImageIsFoundAndNotContinued) {
  const TemporaryFolder folder, image, state;
  TestWitness witness(state.path());
  AuditOptions options = options_of(folder / "log");
  options.witnesses = witness.policy();
  options.witness_client = witness.client();
  const auto run = [&] {
    AuditLog log(options);
    append_run(log, 50);
    log.close();
  };
  run();
  restore(folder / "log", image / "log");
  run();
  const std::string newest = read_text(folder / "log/checkpoint");
  restore(image / "log", folder / "log");
  EXPECT_THAT(error_of([&] { AuditLog log(options); }), HasSubstr("has cosigned another tree of size 108"));
  EXPECT_THAT(findings_of(verify(folder / "log", {{"newest", newest}})),
              HasSubstr("the log was cut or is an older copy"));
  // The same for a log that was deleted.
  fs::remove_all(folder / "log");
  EXPECT_THAT(error_of([&] { AuditLog log(options); }), HasSubstr("has cosigned another tree of size 108"));
}

TEST(Tampering, AForkIsNotCosigned) {
  const TemporaryFolder folder, state;
  TestWitness witness(state.path());
  AuditOptions options = options_of(folder / "a");
  options.witnesses = witness.policy();
  options.witness_client = witness.client();
  {
    AuditLog log(options);
    append_run(log, 50);
    log.close();
  }
  write_log(folder / "b", 60);
  options.folder = folder / "b";
  EXPECT_THAT(error_of([&] { AuditLog log(options); }), HasSubstr("has cosigned another tree of size 54"));
}

/// Returns the findings about a log with these events after a boot and a first publication.
std::string findings_after(const std::vector<Json>& events) {
  const TemporaryFolder folder;
  AuditLog log(options_of(folder.path()));
  log.append(boot_event());
  log.append(policy_event("policy 1"));
  log.append(publish_event("definition 1", "policy 1"));
  for (const Json& event : events) log.append(event);
  log.close();
  return findings_of(verify(folder.path()));
}

Json with(Json event, const char* name, Json value) {
  event[name] = std::move(value);
  return event;
}

TEST(Meaning, EventsThatDoNotFitAreFound) {
  const std::string late = format_time(now_milliseconds() + 100000), later = format_time(now_milliseconds() + 200000);
  const Json request = request_event("definition 1"), publish = publish_event("definition 2", "policy 1");
  const Json edit = with(with(publish, "kind", "edit"), "parent", digest_of("definition 1"));
  struct Case {
    std::vector<Json> events;
    std::string found;  ///< empty: the log verifies
  };
  const std::vector<Case> cases = {
      {{request, publish, request}, ""},  // it was replaced while the request ran
      {{edit, request_event("definition 2")}, ""},
      {{request_event("definition 3")}, "was not published before"},
      {{with(request, "model", "other")}, "no definition of model \"other\" was published before"},
      {{with(publish, "at", late), with(request, "at", later)}, "was replaced at " + late},
      {{with(publish, "at", late), with(with(request, "at", later), "ms", 150000)}, ""},
      {{with(edit, "parent", digest_of("definition 7"))}, "definition 3: it edits"},
      {{with(publish, "kind", "roll_back")}, "which was not in force before"},
      {{publish, with(publish_event("definition 1", "policy 1"), "kind", "roll_back")}, ""},
      {{publish_event("definition 2", "policy 2")}, "permit 3: it names policy"},
      {{with(publish, "rule", "")}, "permit 3: it names no rule"},
      {{policy_event("policy 2"), publish_event("definition 2", "policy 2")}, ""},
      {{policy_event("policy 2"), publish}, "permit 4: it names policy"},
      {{with(request, "policy", digest_of("policy 9"))}, "policy " + digest_of("policy 9") + " was not published"},
      {{boot_event()}, "run 3: a boot follows a boot"},
      {{shutdown_event(), request}, "run 4: a request outside a boot"},
      {{with(request, "at", late), request}, "time 4: its time"},
      {{with(request, "blobs", {digest_of("nothing")})}, "is missing"},
      {{with(with(request, "blobs", {digest_of("nothing")}), "subject", "s1"), {{"kind", "erase"}, {"subject", "s1"}}},
       ""},
      {{{{"kind", "prune"}, {"from", 0}, {"to", 256}, {"dropped", Json::object()}, {"before", late}}}, "prune 3"},
  };
  for (const Case& c : cases) {
    const std::string found = findings_after(c.events);
    if (c.found.empty()) {
      EXPECT_EQ(found, "") << Json(c.events);
    } else {
      EXPECT_THAT(found, HasSubstr(c.found)) << Json(c.events);
    }
  }
}

TEST(EntryScan, AgreesWithTheParserOnRandomTexts) {
  std::mt19937 random(7);
  const std::string pieces[] = {"{", "}",       "[",           "]",           ",",          ":",       "\"a\"", "\"b\"",
                                "1", "-0",      "01",          "1.5",         "1e5",        "1e+30",   "true",  "null",
                                " ", "\"\\n\"", "\"\\u000a\"", "\"\\u001f\"", "\"\u00e4\"", "\"\xff\""};
  int valid = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = "{\"a\":";
    for (auto count = random() % 6; count-- > 0;) text += pieces[random() % std::size(pieces)];
    text += "}";
    bool canonical_text = false;
    try {
      canonical_text = canonical(parse_json(text, "text")) == text;
    } catch (const Error&) {
    }
    EntryScan scan;
    const bool read = scan.read(text);
    // The scanner leaves the spelling of numbers to the parser.
    EXPECT_TRUE(read || !canonical_text) << text;
    if (read && text.find_first_of("eE.-") == std::string::npos) {
      EXPECT_TRUE(canonical_text) << text;
    }
    valid += canonical_text ? 1 : 0;
  }
  EXPECT_GT(valid, 500);
}

TEST(Crashes, AKilledWriterLeavesALogThatVerifies) {
  const TemporaryFolder folder;
  for (unsigned seed = 0; seed < 5; ++seed) ASSERT_EQ(crash_once(folder.path(), seed), "") << seed;
}

}  // namespace
}  // namespace frazil::govern::audit_testing
