// Files that change while they are mapped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "onnx/model_writer.h"
#include "tool.h"

namespace frazil::test {
namespace {

constexpr std::int64_t kCount = 1 << 20;

/// x + w, with w in the file w.bin.
Message model_beside_its_weights() {
  const Message entry = text(text({}, 1, "location"), 2, "w.bin");
  const Message w = text(number(text(number(number({}, 1, kCount), 2, 1), 8, "w"), 14, 1), 13, entry);
  return model(graph({.nodes = {{"Add", {"x", "w"}, {"z"}}},
                      .inputs = {f32("x", {std::to_string(kCount)})},
                      .outputs = {value("z")},
                      .initializers = {w}}));
}

/// A weight file that is truncated between two requests ends the command with a one-line error, not with a signal.
TEST(CutFileTest, OneLineAndExitThree) {
#if defined(FRAZIL_SANITIZED)
  GTEST_SKIP() << "a build with sanitizers leaves crashes alone";
#endif
  if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << kNoCommand;
  const TempFolder folder;
  folder.write("model.onnx", model_beside_its_weights());
  folder.write("w.bin", std::string(4 * kCount, '\0'));
  ASSERT_EQ(::mkfifo((folder / "requests").c_str(), 0600), 0);
  const std::string dir = (folder / "").string();
  // From stdin: output is flushed before the next line is read.
  const std::string command = "'" + tool_path().string() + "' run '" + dir +
                              "model.onnx' --input x=1048576 --stream - <'" + dir + "requests' >'" + dir + "out' 2>'" +
                              dir + "err'";
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  std::fstream requests(folder / "requests", std::ios::in | std::ios::out);  // both, so that opening does not block
  requests << "{}" << std::endl;
  while (content_of(folder / "out").find('z') == std::string::npos && ::waitpid(child, nullptr, WNOHANG) == 0) {
    ::usleep(1000);
  }
  std::filesystem::resize_file(folder / "w.bin", 0);
  requests << "{}" << std::endl;
  requests.close();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  const std::string err = content_of(folder / "err");
  EXPECT_THAT(err, testing::HasSubstr("possibly a file that was truncated while in use"));
  EXPECT_EQ(std::ranges::count(err, '\n'), 1) << err;
}

}  // namespace
}  // namespace frazil::test
