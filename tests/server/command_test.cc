// The command frazil serve: what it refuses before it serves, and how it ends.
#include <csignal>
#include <thread>

#include <gmock/gmock.h>

#include "server/folder.h"

namespace frazil::test {
namespace {

using testing::HasSubstr;

class Serve : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << "no command";
    folder_.add("double", kDouble);
  }
  Folder folder_;
};

TEST_F(Serve, RefusesWhatItCannotServe) {
  const Folder empty;
  const struct {
    std::vector<std::string> arguments;
    const char* why;
  } cases[] = {{{"/no/such/folder"}, "/no/such/folder"},
               {{empty.path()}, "there is no model"},
               {{folder_.path(), "--host", "nowhere"}, "--host nowhere"},
               {{folder_.path(), "--http-port", "65536"}, "--http-port"},
               {{folder_.path(), "--http-port", "0", "--grpc-port", "0", "--metrics-port", "0", "--http-socket", "/"},
                "/: a file that is no socket lies there"},
               {{folder_.path(), "--workers", "0"}, "--workers"},
               {{folder_.path(), "--tier", "9"}, "expected auto, ref, 0, 1 or 2"}};
  for (const auto& c : cases) {
    std::vector<std::string> arguments{"serve"};
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const Ended ended = run_tool(arguments);
    EXPECT_EQ(ended.exit, 2) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(c.why));
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  }
}

TEST_F(Serve, EndsOnASignal) {
  const TempFolder logs;
  const std::string err = logs / "err", tool = tool_path(), folder = folder_.path();
  const pid_t child = fork();
  if (child == 0) {
    if (!freopen(err.c_str(), "w", stderr)) _exit(99);
    execl(tool.c_str(), tool.c_str(), "serve", folder.c_str(), "--http-port", "0", "--grpc-port", "0", "--metrics-port",
          "0", nullptr);
    _exit(99);
  }
  while (content_of(err).find('\n') == std::string::npos) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_THAT(content_of(err), testing::MatchesRegex(
                                   "listening http=127.0.0.1:[0-9]+ grpc=127.0.0.1:[0-9]+ metrics=127.0.0.1:[0-9]+\n"));
  ::kill(child, SIGTERM);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace frazil::test
