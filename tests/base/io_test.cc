#include "base/os/io.h"

#include <cstring>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace frazil {
namespace {

using testing::HasSubstr;

class IoTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "frazil-io-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::string path(const std::string& name) const { return (dir_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(dir_), {}));
  }

  std::filesystem::path dir_;
};

TEST_F(IoTest, WritesAndReadsBack) {
  for (const std::size_t size : {0u, 1u, 4096u, 300000u}) {
    const std::string text(size, 'x');
    ASSERT_TRUE(write_file(path("a"), text));
    EXPECT_EQ(read_file(path("a"), 1 << 20).value(), text);
    EXPECT_EQ(read_file(path("a"), size).value(), text);
    const auto mapped = MappedFile::open(path("a"));
    ASSERT_TRUE(mapped);
    const auto bytes = (*mapped)->bytes();
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), text);
    EXPECT_EQ(files(), 1u) << "a temporary file was left";
  }
}

TEST_F(IoTest, MappingOutlivesReplacement) {
  ASSERT_TRUE(write_file(path("a"), std::string_view("old")));
  const auto mapped = MappedFile::open(path("a")).value();
  ASSERT_TRUE(write_file(path("a"), std::string_view("newer")));
  EXPECT_EQ(std::memcmp(mapped->bytes().data(), "old", 3), 0);
  EXPECT_EQ(read_file(path("a"), 10).value(), "newer");
}

TEST_F(IoTest, LimitIsKept) {
  ASSERT_TRUE(write_file(path("a"), std::string_view("12345")));
  EXPECT_EQ(read_file(path("a"), 4).error().code, Code::limit);
  EXPECT_EQ(read_file("/dev/zero", 1000).error().code, Code::limit);
  EXPECT_EQ(read_file(path("a"), SIZE_MAX).value(), "12345");
}

TEST_F(IoTest, FaultsNameTheFile) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& name : {path("missing"), path(""), path("pipe"), std::string("/dev/null")}) {
    const auto mapped = MappedFile::open(name);
    ASSERT_FALSE(mapped) << name;
    EXPECT_EQ(mapped.error().code, Code::bad_input);
    EXPECT_THAT(mapped.error().text(), HasSubstr("'" + name + "'"));
  }
  EXPECT_THAT(MappedFile::open(path("")).error().text(), HasSubstr("directory"));
  EXPECT_THAT(read_file(path("missing"), 1).error().text(), HasSubstr("No such file"));
  EXPECT_THAT(write_file(path("no/where"), std::string_view("x")).error().text(), HasSubstr("no/where"));
  EXPECT_THAT(write_file(path(""), std::string_view("x")).error().text(), HasSubstr("directory"));
}

TEST_F(IoTest, LinksAreFollowedAndDevicesKept) {
  ASSERT_TRUE(write_file(path("a"), std::string_view("1")));
  std::filesystem::create_symlink(path("a"), path("link"));
  ASSERT_TRUE(write_file(path("link"), std::string_view("2")));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("a"), 10).value(), "2");
  ASSERT_TRUE(write_file("/dev/null", std::string_view("2")));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace frazil
