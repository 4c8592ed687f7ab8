// Personal data under keys that can be destroyed.
#include "govern/audit/subject_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "govern/audit/blobs.h"
#include "govern/base/cipher.h"
#include "govern/base/encoding.h"
#include "tests/govern/audit/audit_testing.h"

namespace frazil::govern::audit_testing {
namespace {

using ::testing::HasSubstr;

TEST(Cipher, RefusesChangedBytesKeysAndContexts) {
  Digest key = {};
  for (const std::size_t size : {0, 1, 16, 1000}) {
    const std::string text(size, 't');
    const std::string sealed = seal(key, "context", text);
    EXPECT_EQ(unseal(key, "context", sealed), text);
    EXPECT_NE(seal(key, "context", text), sealed);
    EXPECT_EQ(unseal(key, "contexu", sealed), std::nullopt);
    for (std::size_t i = 0; i < sealed.size(); i += 7) {
      std::string changed = sealed;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      EXPECT_EQ(unseal(key, "context", changed), std::nullopt) << i;
    }
    Digest other = key;
    other[31] = 1;
    EXPECT_EQ(unseal(other, "context", sealed), std::nullopt);
  }
  EXPECT_EQ(unseal(key, "", std::string(27, 'x')), std::nullopt);
}

TEST(Cipher, OpensTheVectorOfTheSpecification) {
  // Test case 14 of the GCM specification: key and nonce of zeros, one block of zeros.
  const std::string sealed = *from_hex(
      "000000000000000000000000"
      "cea7403d4d606b6e074ec5d3baf39d18"
      "d0d1c8a799996bf0265b98b5d48ab919");
  EXPECT_EQ(unseal(Digest{}, "", sealed), std::string(16, '\0'));
}

TEST(SubjectKeys, SealAndCommitUntilTheyAreDestroyed) {
  const TemporaryFolder folder;
  SubjectKeys keys(folder / "keys");
  const std::string id = keys.id_of("alice@example.com");
  EXPECT_EQ(keys.id_of("alice@example.com"), id);
  EXPECT_NE(keys.id_of("bob@example.com"), id);
  const std::string commitment = keys.commit(id, "d1", "x", "7");
  EXPECT_EQ(keys.commit(id, "d1", "x", "7"), commitment);
  EXPECT_NE(keys.commit(id, "d2", "x", "7"), commitment);
  EXPECT_NE(keys.commit(id, "d1", "y", "7"), commitment);
  const std::string sealed = keys.seal(id, "d1", "payload");
  EXPECT_EQ(SubjectKeys(folder / "keys").unseal(id, "d1", sealed), "payload");
  EXPECT_EQ(keys.unseal(id, "d2", sealed), std::nullopt);

  EXPECT_EQ(keys.destroy_key("alice@example.com"), id);
  EXPECT_EQ(keys.destroy_key("alice@example.com"), std::nullopt);
  EXPECT_EQ(keys.unseal(id, "d1", sealed), std::nullopt);
  EXPECT_THAT(error_of([&] { keys.commit(id, "d1", "x", "7"); }), HasSubstr("its key was destroyed"));
  EXPECT_NE(keys.id_of("alice@example.com"), id);
  for (const auto& file : fs::recursive_directory_iterator(folder.path())) {
    EXPECT_THAT(file.path().string(), Not(HasSubstr("alice")));
  }
}

TEST(SubjectKeys, BelongToTheirOwner) {
  const TemporaryFolder folder;
  const SubjectKeys keys(folder / "keys");
  struct stat status = {};
  ASSERT_EQ(::stat((folder / "keys").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0700u);
}

TEST(SubjectKeys, AnErasedSubjectIsReported) {
  const TemporaryFolder folder;
  SubjectKeys keys(folder / "keys");
  AuditLog log(options_of(folder / "log"));
  log.append(boot_event());
  log.append(policy_event("policy 1"));
  log.append(publish_event("definition 1", "policy 1"));
  const std::string id = keys.id_of("alice");
  Json request = request_event("definition 1");
  request["subject"] = id;
  const std::string blob = log.put_blob(keys.seal(id, "d0", "payload"));
  request["blobs"] = {blob};
  log.append(request);
  log.append_durable({{"kind", "erase"}, {"subject", *keys.destroy_key("alice")}});
  remove_blob(folder / "log", blob);
  log.append(shutdown_event());
  log.close();
  const VerifyReport report = verify(folder / "log");
  EXPECT_EQ(findings_of(report), "");
  EXPECT_THAT(report.notes, ::testing::Contains(HasSubstr("blob " + blob + " was erased under event 4")));
}

}  // namespace
}  // namespace frazil::govern::audit_testing
