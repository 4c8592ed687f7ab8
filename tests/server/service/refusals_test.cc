// Answers with an error, as operators see them.
#include "server/service/refusals.h"

#include <vector>

#include <gmock/gmock.h>

#include "server/http_test_client.h"
#include "server/running.h"

namespace frazil::test {
namespace {

using std::literals::operator""h;
using std::literals::operator""s;
using server::Refusals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(RefusalsTest, AreToldOfEachKindFromTimeToTime) {
  std::vector<std::string> told;
  Refusals refusals([&](const server::Notice& notice) { told.push_back(notice.subject + ": " + notice.text); });
  const server::Clock::time_point begin{1h};
  refusals.note("http", 404, "no model 'a'", begin);
  refusals.note("http", 429, "too many", begin);
  for (int i = 1; i <= 5; ++i) refusals.note("http", 404, "no model 'b'", begin + i * 1s);
  refusals.note("grpc", 5, "no model 'c'", begin + 6s);
  EXPECT_THAT(told, ElementsAre("refused: http 404: no model 'a'", "refused: http 429: too many",
                                "refused: grpc 5: no model 'c'"));
  told.clear();
  refusals.note("http", 404, "no model 'd'", begin + 10s);
  refusals.note("http", 429, "still too many", begin + 25s);
  refusals.note("http", 404, "no model 'e'", begin + 19s);
  EXPECT_THAT(told, ElementsAre("refused: http 404, 6 times in 10 s, the last: no model 'd'",
                                "refused: http 429: still too many"));
  EXPECT_THAT(refusals.counts(),
              ElementsAre(Pair(Pair("grpc", 5), 1), Pair(Pair("http", 404), 8), Pair(Pair("http", 429), 2)));
}

TEST(RefusalsTest, AreCountedWhateverRefuses) {
  const Folder folder;
  folder.add("double", kDouble);
  RunningServer server(folder);
  HttpClient client(server.port);
  for (const char* path : {"/v2/models/none", "/nothing"}) {
    client.get(path);
    EXPECT_EQ(client.receive().status, 404U);
  }
  client.post("/v2/models/double/infer", "{");
  EXPECT_EQ(client.receive().status, 400U);
  client.post("/v2/models/double/infer", kOne);
  EXPECT_EQ(client.receive().status, 200U);
  EXPECT_THAT(server.service.metrics().body,
              testing::AllOf(HasSubstr("frazil_refusals_total{protocol=\"http\",status=\"404\"} 2\n"),
                             HasSubstr("frazil_refusals_total{protocol=\"http\",status=\"400\"} 1\n")));
}

}  // namespace
}  // namespace frazil::test
