// The log: the form of its lines, and files that take none.
#include "server/core/log.h"

#include <array>
#include <climits>
#include <cstdlib>
#include <regex>
#include <string>
#include <utility>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

namespace frazil::test {
namespace {

using server::Log;
using server::Notice;
using testing::HasSubstr;
using testing::MatchesRegex;

struct Pipe {
  Pipe() {
    if (::pipe(ends.data()) != 0) std::abort();
  }
  ~Pipe() {
    for (int end : {0, 1}) close(end);
  }
  void close(int end) {
    if (ends[static_cast<std::size_t>(end)] >= 0) ::close(std::exchange(ends[static_cast<std::size_t>(end)], -1));
  }
  int writer() const { return ends[1]; }
  /// All that comes before the end of the log.
  std::string read() const {
    std::string text;
    char some[4096];
    for (ssize_t got = 0; (got = ::read(ends[0], some, sizeof some)) > 0;)
      text.append(some, static_cast<std::size_t>(got));
    return text;
  }

  std::array<int, 2> ends{-1, -1};
};

TEST(LogTest, ALineHasTimeLevelAndSubject) {
  Pipe pipe;
  {
    Log log(pipe.writer());
    log.write({.subject = "model 'm'", .text = "loaded\nversion\t1"});
    log.write({.level = Notice::Level::warning, .subject = "redis", .text = "out"});
    log.write_line("listening http=h:1");
  }
  pipe.close(1);
  const std::string time = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z ";
  EXPECT_THAT(pipe.read(), MatchesRegex(time + "info model 'm': loaded version 1\n" + time +
                                        "warning redis: out\nlistening http=h:1\n"));
  EXPECT_EQ(server::line_of({.subject = "s", .text = "t"}, std::chrono::sys_days(std::chrono::year(2024) / 2 / 29)),
            "2024-02-29T00:00:00.000Z info s: t");
}

TEST(LogTest, LinesThatCannotBeWrittenAreCounted) {
  Pipe gone, closed;
  gone.close(0);
  const int number = closed.writer();
  closed.close(1);
  closed.close(0);
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  for (const int file : {gone.writer(), number, full, -1}) {
    Log log(file);
    for (int i = 0; i < 3; ++i) log.write_line("line");
    while (log.dropped() < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(log.dropped(), 3U) << file;
  }
  ::close(full);
}

TEST(LogTest, NobodyWaitsForAReaderWhoDoesNotRead) {
  Pipe pipe;
  constexpr std::size_t kLines = 5 * Log::kMaxWaiting;
  const std::string line(200, 'x');
  std::uint64_t dropped = 0;
  {
    Log log(pipe.writer());
    for (std::size_t i = 0; i < kLines; ++i) log.write_line(line);
    dropped = log.dropped();
  }
  constexpr std::size_t kPipe = 1U << 16U;
  EXPECT_GE(dropped, kLines - Log::kMaxWaiting - (kPipe + PIPE_BUF) / line.size())
      << "a pipe holds 64 KiB, and PIPE_BUF bytes are being written";
  EXPECT_LT(dropped, kLines);
}

/// The number of dropped lines that the log has reported. It reports again if the pipe took lines in between.
std::uint64_t reported_as_dropped(const std::string& text) {
  static const std::regex kReport(" warning log: (\\d+) lines could not be written and were dropped");
  std::uint64_t sum = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), kReport), end; it != end; ++it) sum += std::stoull((*it)[1]);
  return sum;
}

TEST(LogTest, TellsWhatWasDroppedOnceItCanWriteAgain) {
  Pipe pipe;
  std::string text;
  {
    Log log(pipe.writer());
    const std::string line(200, 'x');
    for (std::size_t i = 0; i < 5 * Log::kMaxWaiting; ++i) log.write_line(line);
    char some[4096];
    while (reported_as_dropped(text) < log.dropped()) {
      const ssize_t got = ::read(pipe.ends[0], some, sizeof some);
      ASSERT_GT(got, 0);
      text.append(some, static_cast<std::size_t>(got));
    }
    EXPECT_EQ(reported_as_dropped(text), log.dropped());
    EXPECT_GT(log.dropped(), 0U);
  }
}

}  // namespace
}  // namespace frazil::test
