// The cache of generated code on disk: what is found, what is refused, several users at once.
#include "exec/native/code_cache.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace frazil::test {
namespace {

namespace fs = std::filesystem;
using exec::CodeCache;

class CodeCacheOnDisk : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "frazil-cache-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    outer_ = path;
    folder_ = outer_ / "code";
  }
  void TearDown() override { fs::remove_all(outer_); }
  fs::path only_entry() const { return fs::directory_iterator(folder_)->path(); }
  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }

  fs::path outer_, folder_;
};

TEST_F(CodeCacheOnDisk, FindsWhatWasStored) {
  CodeCache cache(folder_), other(folder_);
  EXPECT_EQ(cache.load("key"), std::nullopt);
  cache.store("key", std::string("code\0more", 9));
  cache.store("another", "");
  EXPECT_EQ(other.load("key"), std::string("code\0more", 9));
  EXPECT_EQ(other.load("another"), "");
  EXPECT_EQ(other.load("ke"), std::nullopt);
  struct stat about{};
  ASSERT_EQ(::stat(folder_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700U) << "for this user alone";
}

TEST_F(CodeCacheOnDisk, DamagedEntriesAreAbsentAndGo) {
  CodeCache cache(folder_);
  cache.store("key", "some code");
  const fs::path entry = only_entry();
  const std::string whole = read(entry);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    write(entry, flipped);
    EXPECT_EQ(cache.load("key"), std::nullopt) << "byte " << i;
    EXPECT_FALSE(fs::exists(entry));
    write(entry, whole.substr(0, i));
    EXPECT_EQ(cache.load("key"), std::nullopt) << "cut off at " << i;
  }
  write(entry, whole);
  EXPECT_EQ(cache.load("key"), "some code");
}

TEST_F(CodeCacheOnDisk, AnEntryUnderAnotherNameIsForeign) {
  CodeCache cache(folder_);
  cache.store("key", "some code");
  const std::string whole = read(only_entry());
  fs::remove(only_entry());
  cache.store("another", "other code");
  write(only_entry(), whole);
  EXPECT_EQ(cache.load("another"), std::nullopt);
}

TEST_F(CodeCacheOnDisk, AnEntryOfAnotherVersionIsAbsent) {
  CodeCache cache(folder_), other(folder_, "another version");
  cache.store("key", "some code");
  EXPECT_EQ(other.load("key"), std::nullopt);
  const fs::path entry = only_entry();
  const std::string whole = read(entry);
  other.store("key", "other code");
  EXPECT_EQ(cache.load("key"), "some code");
  EXPECT_EQ(other.load("key"), "other code");
  for (const auto& file : fs::directory_iterator(folder_)) write(file.path(), whole);
  EXPECT_EQ(other.load("key"), std::nullopt) << "under the name of its own";
  EXPECT_EQ(cache.load("key"), "some code");
}

TEST_F(CodeCacheOnDisk, AFolderOfOthersIsNotUsed) {
  fs::create_directory(folder_);
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  CodeCache cache(folder_);
  EXPECT_FALSE(cache.is_on());
  cache.store("key", "code");
  EXPECT_EQ(cache.load("key"), std::nullopt);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(CodeCacheOnDisk, WhatCannotBeWrittenIsNotKept) {
  CodeCache cache("/proc/frazil/code");
  cache.store("key", "code");
  EXPECT_EQ(cache.load("key"), std::nullopt);
}

/// A limit on the size of files ends writing in the middle, as a full disk does.
TEST_F(CodeCacheOnDisk, WhatDoesNotFitIsNotKept) {
  CodeCache cache(folder_);
  cache.store("key", "code");
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  cache.store("large", std::string(100'000, 'c'));
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(cache.load("large"), std::nullopt);
  EXPECT_EQ(cache.load("key"), "code");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "nothing is left of it";
}

TEST_F(CodeCacheOnDisk, ProcessesThatDieInTheMiddleLeaveNothingWrong) {
  const std::string code(200'000, 'c');
  std::vector<pid_t> children;
  for (int i = 0; i < 10; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      CodeCache cache(folder_);
      for (int k = 0;; ++k) cache.store("key " + std::to_string(k % 7), code);
    }
    children.push_back(child);
  }
  CodeCache cache(folder_);
  for (const pid_t child : children) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (int k = 0; k < 7; ++k) {
      EXPECT_EQ(cache.load("key " + std::to_string(k)).value_or(code), code);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  for (int k = 0; k < 7; ++k) {
    EXPECT_EQ(cache.load("key " + std::to_string(k)).value_or(code), code);
  }
  cache.store("key 0", code);
  EXPECT_EQ(cache.load("key 0"), code);
}

}  // namespace
}  // namespace frazil::test
