#include "govern/sign/installation.h"

#include <sys/stat.h>

#include "sign_testing.h"

namespace frazil::govern::sign_test::of_installation {
namespace {

TEST(InstallationKeys, AreMadeOnceAndSecret) {
  TemporaryFolder folder;
  const std::string path = folder.path("key");
  const std::string tag = InstallationKey::open(path).tag(FilePurpose::package, "a", {});
  struct stat info = {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  EXPECT_EQ(info.st_size, 32);
  EXPECT_EQ(InstallationKey::open(path).tag(FilePurpose::package, "a", {}), tag);
  EXPECT_NE(InstallationKey::open(folder.path("other")).tag(FilePurpose::package, "a", {}), tag);
}

TEST(InstallationKeys, ThatOthersMayReadAreRefused) {
  TemporaryFolder folder;
  const std::string path = folder.path("key");
  (void)InstallationKey::open(path);
  for (const mode_t mode : {0640U, 0604U, 0620U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_EQ(error_of([&] { (void)InstallationKey::open(path); }),
              "key file '" + path + "': others than its owner may use it, expected mode 0600 and the user's own file");
  }
  folder.write("short", "abc");
  ASSERT_EQ(::chmod(folder.path("short").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { (void)InstallationKey::open(folder.path("short")); }),
            "key file '" + folder.path("short") + "': expected 32 bytes");
}

TEST(InstallationKeys, VerifyExactlyTheSignedFile) {
  TemporaryFolder folder;
  const InstallationKey key = InstallationKey::open(folder.path("key"));
  const InstallationKey other = InstallationKey::open(folder.path("other key"));
  folder.write("m.frzc", "code");
  folder.write("n.frzc", "code");
  const std::string path = folder.path("m.frzc"), tag = sign_file(path, FilePurpose::package, key);
  const auto verified = verify_file(path, FilePurpose::package, tag, key);
  ASSERT_TRUE(verified) << verified.error();
  EXPECT_EQ(verified->digest, sha256("code"));
  EXPECT_TRUE(verified->is_unchanged());

  const std::string reason = "file '" + path + "': its tag is not one of this installation for a package";
  EXPECT_EQ(verify_file(path, FilePurpose::package, tag, other).error(), reason);
  EXPECT_EQ(verify_file(path, FilePurpose::package, "", key).error(), reason);
  EXPECT_EQ(verify_file(path, FilePurpose::package, tag.substr(1), key).error(), reason);
  EXPECT_FALSE(verify_file(path, FilePurpose::code_cache, tag, key));
  EXPECT_FALSE(verify_file(folder.path("n.frzc"), FilePurpose::package, tag, key));
  folder.write("m.frzc", "Code");
  EXPECT_EQ(verify_file(path, FilePurpose::package, tag, key).error(), reason);
}

}  // namespace
}  // namespace frazil::govern::sign_test::of_installation
