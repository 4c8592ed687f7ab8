// A small request that the thread which reads it may run itself.
#include <deque>
#include <thread>

#include <gmock/gmock.h>

#include "server/core/workers.h"
#include "server/folder.h"
#include "server/rest_asked.h"

namespace frazil::test {
namespace {

using server::Http;
using server::InlineRunSlot;
using server::Reply;
using server::Workers;

/// What came of a request, and on which thread.
struct AnsweredOn {
  Reply reply;
  std::thread::id where;
};

class InlineRunTest : public testing::Test {
 protected:
  InlineRunTest() {
    folder_.add("count", kCount);
    service_.emplace(options_of(folder_));
  }
  AnsweredOn ask(std::string_view n, bool with_slot = true) {
    const std::string body =
        R"({"inputs":[{"name":"n","datatype":"INT64","shape":[],"data":[)" + std::string(n) + "]}]}";
    std::promise<AnsweredOn> told;
    const server::Message message{
        .method = "POST", .path = "/v2/models/count/infer", .body = body, .inline_slot = with_slot ? &slot_ : nullptr};
    ask_rest(*service_, message, std::make_shared<server::Caller>(),
             [&](Reply reply) { told.set_value({std::move(reply), std::this_thread::get_id()}); });
    return told.get_future().get();
  }
  /// Has it look as if it took little time, whatever the machine does.
  void learn() {
    const auto served = service_->models().find("count", "");
    for (int i = 0; i < 200; ++i) served->statistics().cost.add(std::chrono::microseconds(1));
    ASSERT_TRUE(served->may_run_inline());
  }
  static bool is_inline(const AnsweredOn& told) { return told.where == std::this_thread::get_id(); }
  /// Whether it may run on this thread: a machine that stands still for a while has one or the other done by a worker.
  bool runs_inline(std::string_view n) {
    for (int i = 0; i < 100; ++i) {
      learn();
      const bool here = is_inline(ask(n));
      for (; !later_.empty(); later_.pop_front()) later_.front()();
      if (here) return true;
    }
    return false;
  }

  std::deque<std::function<void()>> later_;
  InlineRunSlot slot_{[this](std::function<void()> work) { later_.push_back(std::move(work)); }};
  Folder folder_;
  std::optional<server::Service> service_;
};

TEST_F(InlineRunTest, IsTakenOnceUntilWhatCameHasBeenLookedAt) {
  EXPECT_TRUE(slot_.take());
  EXPECT_FALSE(slot_.take());
  later_.front()();
  EXPECT_TRUE(slot_.take());
}

TEST_F(InlineRunTest, WhatIsNotKnownToBeQuickIsForWorkers) {
  EXPECT_FALSE(is_inline(ask("1")));
  EXPECT_TRUE(later_.empty()) << "and the spot stays free";
}

TEST_F(InlineRunTest, AQuickModelRunsWhereItsRequestIsRead) {
  EXPECT_TRUE(runs_inline("2"));
  learn();
  EXPECT_FALSE(is_inline(ask("2", false)));
  const std::string alone = ask("3", false).reply.body;
  learn();
  EXPECT_EQ(ask("3").reply.body, alone);
}

TEST_F(InlineRunTest, OneOfThoseThatCameTogetherRunsThere) {
  learn();
  ASSERT_TRUE(slot_.take());
  EXPECT_FALSE(is_inline(ask("2")));
}

TEST_F(InlineRunTest, BesideOthersItIsForWorkers) {
  learn();
  const auto place = service_->admission().enter({}).value();
  EXPECT_FALSE(is_inline(ask("2")));
}

TEST_F(InlineRunTest, ARunThatTakesLongIsDoneByAWorker) {
  learn();
  const AnsweredOn told = ask("3000000");
  EXPECT_FALSE(is_inline(told));
  EXPECT_EQ(told.reply.status, Http::ok);
}

TEST_F(InlineRunTest, AnErrorIsAnsweredThere) {
  learn();
  const AnsweredOn told = ask(R"("x")");
  EXPECT_TRUE(is_inline(told));
  EXPECT_EQ(told.reply.status, Http::bad_request);
}

TEST(WorkersInline, WhatIsPostedMeanwhileRunsBehindItInOrder) {
  Workers workers(1);
  std::string order;
  EXPECT_FALSE(Workers::is_inline());
  workers.run_inline([&] {
    EXPECT_TRUE(Workers::is_inline());
    workers.post([&] {
      workers.post([&] { order += 'c'; });
      order += 'b';
    });
    order += 'a';
  });
  EXPECT_FALSE(Workers::is_inline());
  EXPECT_EQ(order, "abc");
}

}  // namespace
}  // namespace frazil::test
