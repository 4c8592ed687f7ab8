#include "govern/sign/folder.h"

#include <gmock/gmock.h>

#include "sign_testing.h"

namespace frazil::govern::sign_test::of_folder {
namespace {

/// These hold also between a listing and an open, when a name may have become a link.
TEST(Folders, OpenNothingThroughLinks) {
  TemporaryFolder outer;
  outer.write("outside/secret", "x");
  outer.write("model/in/file", "x");
  outer.write("model/file", "x");
  std::filesystem::create_symlink("../outside", outer.path("model/away"));
  std::filesystem::create_symlink("in", outer.path("model/near"));
  std::filesystem::create_symlink("file", outer.path("model/link"));
  std::filesystem::create_symlink("/proc/self/root", outer.path("model/root"));
  const Folder folder(outer.path("model"));
  EXPECT_EQ(folder.hash("in/file").digest, sha256("x"));
  for (const std::string name : {"away/secret", "near/file", "link", "root/etc/passwd"}) {
    EXPECT_EQ(error_of([&] { (void)folder.hash(name); }),
              "file '" + name + "': a symbolic link, which signatures do not follow; replace it by a copy");
  }
  EXPECT_EQ(error_of([&] { (void)folder.hash("../outside/secret"); }),
            "file '../outside/secret': the name has the part '..'");
  EXPECT_EQ(error_of([&] { (void)folder.hash("in"); }), "file 'in': expected a regular file");
  EXPECT_EQ(error_of([&] { (void)folder.hash("none"); }), "file 'none': No such file or directory");
}

TEST(Folders, ListEachEntryOnce) {
  TemporaryFolder folder;
  for (const char* name : {"b", "a/z", "a/b/c", "a-b", ".git/x"}) folder.write(name, "");
  std::vector<std::string> names;
  for (const Folder::Entry& entry : Folder(folder.path()).list({".git"})) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a-b", "a/b/c", "a/z", "b"}));
  std::string deep = "d";
  for (int i = 0; i < 70; ++i) deep += "/d";
  folder.write(deep + "/file", "");
  EXPECT_THAT(error_of([&] { (void)Folder(folder.path()).list(); }), testing::HasSubstr("nested deeper than 64"));
}

}  // namespace
}  // namespace frazil::govern::sign_test::of_folder
