// A small request that the thread which reads it may run itself.
#include <deque>
#include <thread>

#include <gmock/gmock.h>

#include "server/folder.h"
#include "server/rest_asked.h"
#include "server/workers.h"

namespace frazil::test {
namespace {

using server::Http;
using server::Reply;
using server::Spot;
using server::Workers;

/// What came of a request, and on which thread.
struct Told {
  Reply reply;
  std::thread::id where;
};

class SpotTest : public testing::Test {
 protected:
  SpotTest() {
    folder_.add("count", kCount);
    service_.emplace(options_of(folder_));
  }
  Told ask(std::string_view n, bool with_spot = true) {
    const std::string body =
        R"({"inputs":[{"name":"n","datatype":"INT64","shape":[],"data":[)" + std::string(n) + "]}]}";
    std::promise<Told> told;
    server::Rest(*service_).answer(
        {.method = "POST", .path = "/v2/models/count/infer", .body = body, .spot = with_spot ? &spot_ : nullptr},
        std::make_shared<server::Caller>(), server::Clock::now(),
        [&](Reply reply) { told.set_value({std::move(reply), std::this_thread::get_id()}); });
    return told.get_future().get();
  }
  /// Until it is known to take little time; a machine may be slow for a while.
  void learn() {
    for (int i = 0; i < 1000 && !service_->find("count", "")->is_quick(); ++i) ask("1", false);
    ASSERT_TRUE(service_->find("count", "")->is_quick());
  }

  std::deque<std::function<void()>> later_;
  Spot spot_{[this](std::function<void()> work) { later_.push_back(std::move(work)); }};
  Folder folder_;
  std::optional<server::Service> service_;
};

TEST_F(SpotTest, IsTakenOnceUntilWhatCameHasBeenLookedAt) {
  EXPECT_TRUE(spot_.take());
  EXPECT_FALSE(spot_.take());
  later_.front()();
  EXPECT_TRUE(spot_.take());
}

TEST_F(SpotTest, WhatIsNotKnownToBeQuickIsForWorkers) {
  EXPECT_NE(ask("1").where, std::this_thread::get_id());
  EXPECT_TRUE(later_.empty()) << "and the spot stays free";
}

TEST_F(SpotTest, AQuickModelRunsWhereItsRequestIsRead) {
  learn();
  EXPECT_EQ(ask("2").where, std::this_thread::get_id());
  EXPECT_NE(ask("2").where, std::this_thread::get_id()) << "the second of what came together";
  later_.front()();
  const Told third = ask("3");
  EXPECT_EQ(third.where, std::this_thread::get_id());
  EXPECT_EQ(third.reply.body, ask("3", false).reply.body);
  EXPECT_NE(ask("3", false).where, std::this_thread::get_id());
}

TEST_F(SpotTest, BesideOthersItIsForWorkers) {
  learn();
  const auto place = service_->enter({}).value();
  EXPECT_NE(ask("2").where, std::this_thread::get_id());
}

TEST_F(SpotTest, ARunThatTakesLongIsDoneByAWorker) {
  learn();
  const Told told = ask("3000000");
  EXPECT_NE(told.where, std::this_thread::get_id());
  EXPECT_EQ(told.reply.status, Http::ok);
  EXPECT_FALSE(service_->find("count", "")->is_quick()) << "and it counts";
}

TEST_F(SpotTest, AnErrorIsAnsweredThere) {
  learn();
  const Told told = ask(R"("x")");
  EXPECT_EQ(told.reply.status, Http::bad_request);
}

TEST(WorkersHere, WhatIsPostedMeanwhileRunsBehindItInOrder) {
  Workers workers(1);
  std::string order;
  EXPECT_FALSE(Workers::here());
  workers.run_here([&] {
    EXPECT_TRUE(Workers::here());
    workers.post([&] {
      workers.post([&] { order += 'c'; });
      order += 'b';
    });
    order += 'a';
  });
  EXPECT_FALSE(Workers::here());
  EXPECT_EQ(order, "abc");
}

}  // namespace
}  // namespace frazil::test
