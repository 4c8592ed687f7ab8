// Requests whose bodies are being read count among those that wait, for two rounds of the event loop.
#include "server/net/requests_being_read.h"

#include <gtest/gtest.h>

#include "server/service/admission.h"

namespace frazil::test {
namespace {

TEST(RequestsBeingRead, CountsTheCurrentRoundAndTheLast) {
  boost::asio::io_context context{1};
  server::RequestsBeingRead requests(context);
  const auto first = requests.add();
  requests.add();
  context.run_one();
  const auto second = requests.add();
  EXPECT_NE(first, second);
  EXPECT_EQ(requests.count(), 3U);
  requests.remove(first);
  EXPECT_EQ(requests.count(), 2U);
  context.run_one();
  EXPECT_EQ(requests.count(), 1U) << "the other one of the first round is slow";
  requests.remove(first);
  EXPECT_EQ(requests.count(), 1U) << "what no longer counts is not removed again";
  requests.remove(second);
  EXPECT_EQ(requests.count(), 0U);
}

TEST(RequestsBeingRead, EndsItsRoundsWithoutRequests) {
  boost::asio::io_context context{1};
  server::RequestsBeingRead requests(context);
  requests.add();
  EXPECT_EQ(context.run(), 2U);
  EXPECT_EQ(requests.count(), 0U);
  context.restart();
  requests.remove(requests.add());
  requests.add();
  EXPECT_EQ(context.run(), 2U) << "one end of each round for both";
}

TEST(Admission, RefusesBehindRequestsThatGetTheLastPlaces) {
  server::Admission admission(1, 3);
  const auto place = admission.enter({});
  ASSERT_TRUE(place);
  EXPECT_FALSE(admission.refusal({.ahead = 1}));
  const auto refusal = admission.refusal({.ahead = 2});
  ASSERT_TRUE(refusal);
  EXPECT_STREQ(refusal->what(), "too many requests wait: 3");
}

}  // namespace
}  // namespace frazil::test
