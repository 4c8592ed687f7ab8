#include <atomic>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/message_of.h"
#include "api/tiny_onnx.h"

namespace {

using frazil::Array;
using frazil::Code;
using frazil::Log;
using frazil::LogMessage;
using frazil::Model;
using frazil::Severity;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

/// Collects messages as "severity category: text".
class Collected {
 public:
  Log log(Severity least = Severity::info) {
    return {.function =
                [this](const LogMessage& message) {
                  constexpr const char* kNames[] = {"debug", "info", "warning"};
                  const std::scoped_lock lock(mutex_);
                  lines_.push_back(std::string(kNames[static_cast<int>(message.severity)]) + " " +
                                   std::string(message.category) + ": " + std::string(message.text));
                },
            .least = least};
  }
  std::vector<std::string> lines() {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// Sets the log of the process during its lifetime.
struct ProcessLog {
  explicit ProcessLog(Log log) { frazil::set_log(std::move(log)); }
  ~ProcessLog() { frazil::set_log({}); }
  ProcessLog(const ProcessLog&) = delete;
  ProcessLog& operator=(const ProcessLog&) = delete;
};

/// Loads a model whose output has another declared type than the inferred one.
Model load_odd(const frazil::LoadOptions& options) {
  const std::string bytes = negating_onnx(3);
  return Model::from_bytes(std::as_bytes(std::span(bytes)), options);
}

TEST(Log, AModelsLogReceivesTheWarningsOfItsLoad) {
  Collected own, process;
  const ProcessLog set(process.log());
  load_odd({.log = own.log()});
  EXPECT_THAT(own.lines(), Contains(HasSubstr("warning load: ")));
  EXPECT_THAT(process.lines(), IsEmpty());
}

TEST(Log, TheProcessesLogReceivesTheRest) {
  Collected process;
  {
    const ProcessLog set(process.log());
    load_odd({});
  }
  EXPECT_THAT(process.lines(), Contains(HasSubstr("warning load: ")));
  testing::internal::CaptureStderr();
  load_odd({});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("warning")) << "without a log: stderr";
}

/// The branches have different ranks, so the plan assumes one of them: small(x) if x has fewer than four rows.
Model guarded(const frazil::LoadOptions& options) {
  return Model::from_text(R"(graph g(%x: f32[N,2]) {
    %s = Shape(%x)
    %n = Gather(%s, i64[] 0)
    %small = Less(%n, i64[] 4)
    %r = If(%small) then_branch() { %flat = Reshape(%x, i64[1] [-1]) yield %flat } else_branch() { yield %x } "choice"
    %y = Add(%r, %r)
    return y = %y
  })",
                          {}, options);
}

/// Runs with few and many rows, so that one of them misses the guard.
void run_both(frazil::Session& session, int times = 1) {
  for (int i = 0; i < times; ++i) {
    for (const std::int64_t rows : {1, 5}) session.run({{"x", Array(frazil::Dtype::f32, {rows, 2})}});
  }
}

TEST(Log, MissedGuardsAreReported) {
  Collected own;
  const Model model = guarded({.log = own.log(Severity::debug)});
  auto session = model.open({.tier = "0"});
  run_both(session, 2);
  EXPECT_THAT(own.lines(), Contains(testing::AllOf(HasSubstr("info guard: "), HasSubstr("'choice' (If)"))))
      << "the first miss makes a plan";
  EXPECT_THAT(own.lines(), Contains(HasSubstr("debug guard: "))) << "later ones use it";
}

TEST(Log, EditedModelsAndPoolsKeepTheLog) {
  Collected own;
  const Model model = guarded({.log = own.log()}).with_pool({.session = {.tier = "0"}});
  for (const std::int64_t rows : {1, 5}) model.run({{"x", Array(frazil::Dtype::f32, {rows, 2})}});
  EXPECT_THAT(own.lines(), Contains(HasSubstr("guard: ")));
  const std::size_t before = own.lines().size();
  frazil::Patch patch(model, "edit");
  patch.replace("y", patch.op("Neg", {patch.tap("y")}));
  auto edited = patch.commit().open({.tier = "0"});
  run_both(edited);
  EXPECT_GT(own.lines().size(), before);
}

TEST(Log, SeveritiesBelowTheLeastAreDropped) {
  Collected own;
  const Model model = guarded({.log = own.log(Severity::warning)});
  auto session = model.open({.tier = "0"});
  run_both(session);
  EXPECT_THAT(own.lines(), IsEmpty());
  EXPECT_THAT(
      message_of([&] { frazil::set_log({[](const LogMessage&) {}, static_cast<Severity>(9)}); }, Code::bad_input),
      HasSubstr("severity 9"));
}

TEST(Log, AnExceptionOfAFunctionIsDropped) {
  EXPECT_NO_THROW(load_odd({.log = {.function = [](const LogMessage&) { throw std::runtime_error("no"); }}}));
}

TEST(Log, MayBeReplacedWhileThreadsLog) {
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  Collected a, b;
  {
    const ProcessLog set(a.log());
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        while (!done) load_odd({});
      });
    }
    const auto heard = [&] { return !a.lines().empty() && !b.lines().empty(); };
    for (int i = 0; i < 200 || (i < 1'000'000 && !heard()); ++i) frazil::set_log(i % 2 == 0 ? b.log() : a.log());
    done = true;
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_FALSE(a.lines().empty());
  EXPECT_FALSE(b.lines().empty());
}

}  // namespace
