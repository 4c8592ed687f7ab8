// What one tenant has stored is not there for others: sequences in all stores, their pages, and answers that come
// twice.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/redis_process.h"
#include "server/rest_asked.h"
#include "server/state/page.h"

namespace frazil::test {
namespace {

using server::Http;
using server::Reply;
using server::StateKey;
using testing::HasSubstr;

/// Adds what it is told to what it was told before.
constexpr const char* kAddToSum = "graph add(%x: f32[], %sum: f32[]) { %y = Add(%x, %sum) return y = %y }";

enum class Store : std::uint8_t { memory, folder, redis };

class Isolation : public testing::TestWithParam<Store> {
 protected:
  void SetUp() override {
    if (GetParam() == Store::redis && !RedisProcess::installed()) GTEST_SKIP() << "there is no redis-server";
    folder_.add("add", kAddToSum);
    folder_.add("talk", kTalk);
    folder_.write("again.yaml",
                  "inputs: {x: 'f32[]'}\nsteps: [{name: s, model: add, inputs: {x: x}}]\noutputs: {y: s.y}\n");
    options_ = options_of(folder_);
    options_.config.tenants = {{.name = "shop", .keys = {"shop-key"}}, {.name = "bank", .keys = {"bank-key"}}};
    options_.config.models["add"].sequences.states = {{.input = "sum", .output = "y"}};
    options_.config.models["talk"].sequences.states = {{.input = "said", .output = "all"}};
    options_.config.state.page_bytes = 64;
    if (GetParam() == Store::redis) redis_.emplace();
    if (redis_) options_.config.state.redis = redis_->address();
    if (GetParam() == Store::folder) {
      options_.config.state.folder = states_ / "s";
      options_.config.state.memory_bytes = 1;  // everything is written out between the turns
    }
    serve();
  }
  void serve() {
    service_.reset();
    service_.emplace(options_);
  }
  Reply send(const std::string& who, const std::string& model, const std::string& body, std::string_view session = "") {
    const std::string authorization = who.empty() ? "" : "Bearer " + who + "-key",
                      path = "/v2/models/" + model + "/infer";
    return reply_to(*service_,
                    {.method = "POST", .path = path, .body = body, .authorization = authorization, .session = session});
  }
  /// The sum after a turn; the text of an error.
  std::string turn(const std::string& who, const std::string& parameters, int x, const std::string& id = "",
                   std::string_view session = "", const std::string& model = "add") {
    const Reply reply =
        send(who, model,
             R"({"id":")" + id + R"(","parameters":{)" + parameters +
                 R"(},"inputs":[{"name":"x","datatype":"FP32","shape":[],"data":[)" + std::to_string(x) + "]}]}",
             session);
    const std::size_t at = reply.body.find("\"data\":[");
    return reply.status == Http::ok ? reply.body.substr(at + 8, reply.body.find(']', at) - at - 8) : reply.body;
  }

  std::size_t stored_pages() {
    if (redis_) return server::Redis(redis_->address()).run({"KEYS", "frazil:page:*"}).items.size();
    const std::filesystem::recursive_directory_iterator files(std::string(states_ / "s"));
    return static_cast<std::size_t>(
        std::ranges::count_if(files, [](const auto& file) { return file.path().extension() == ".page"; }));
  }

  Folder folder_;
  const TempFolder states_;
  std::optional<RedisProcess> redis_;
  server::ServiceOptions options_;
  std::optional<server::Service> service_;
};

constexpr const char *kStart = R"("sequence_id":"q","sequence_start":true)", *kGoOn = R"("sequence_id":"q")",
                     *kUnknown = "sequence 'q' of model 'add' is not known";

TEST_P(Isolation, ASequenceIsKnownToItsTenantAlone) {
  EXPECT_EQ(turn("shop", kStart, 100), "100");
  EXPECT_THAT(turn("bank", kGoOn, 1), HasSubstr(kUnknown));
  EXPECT_THAT(turn("bank", R"("sequence_id":"mine","sequence_start":true,"sequence_parent":"q")", 1),
              HasSubstr(kUnknown));
  EXPECT_THAT(turn("bank", R"("sequence_id":"q","sequence_end":true)", 1), HasSubstr(kUnknown));
  EXPECT_EQ(turn("shop", kGoOn, 20), "120") << "nobody has ended it";
  EXPECT_EQ(turn("bank", kStart, 7), "7") << "the same id is another sequence";
  EXPECT_EQ(turn("shop", kGoOn, 3), "123");
  EXPECT_EQ(turn("bank", kGoOn, 1), "8");
  EXPECT_EQ(turn("shop", R"("sequence_id":"f","sequence_start":true,"sequence_parent":"q")", 1000), "1123");
}

TEST_P(Isolation, SessionsOfHeadersAndAnswersThatComeTwiceAreTheTenants) {
  EXPECT_EQ(turn("shop", "", 500, "same", "s"), "500");
  EXPECT_EQ(turn("shop", "", 500, "same", "s"), "500") << "it comes twice";
  EXPECT_EQ(turn("bank", "", 1, "same", "s"), "1") << "and not as another tenant's answer";
  EXPECT_EQ(turn("shop", "", 4, "next", "s"), "504");
}

TEST_P(Isolation, SequencesInsideOfPipelinesToo) {
  const auto told = [&](const std::string& who, const char* parameters, int x) {
    return turn(who, parameters, x, "", "", "again");
  };
  EXPECT_EQ(told("shop", kStart, 100), "100");
  EXPECT_THAT(told("bank", kGoOn, 1), HasSubstr("is not known"));
  EXPECT_EQ(told("shop", kGoOn, 11), "111");
  EXPECT_THAT(turn("bank", kGoOn, 1), HasSubstr(kUnknown)) << "nor by the model itself";
  EXPECT_EQ(turn("shop", kGoOn, 1), "112") << "which has the tenant's own";
}

TEST_P(Isolation, OutlivesARestartWhereStatesDo) {
  EXPECT_EQ(turn("shop", kStart, 100), "100");
  serve();
  EXPECT_THAT(turn("bank", kGoOn, 1), HasSubstr(kUnknown));
  if (GetParam() == Store::memory) return;
  EXPECT_EQ(turn("shop", kGoOn, 1), "101");
}

/// Equal pages of one tenant are stored once. Those of two tenants are not: neither learns what the other has.
TEST_P(Isolation, PagesAreOfOneTenant) {
  if (GetParam() == Store::memory) GTEST_SKIP() << "the pages of memory are those of Pages.OfAnotherOwnerHaveOtherIds";
  const auto talk = [&](const std::string& who, const std::string& parameters) {
    std::string data = "0";
    for (int i = 1; i < 64; ++i) data += "," + std::to_string(i);
    const Reply reply =
        send(who, "talk",
             R"({"parameters":{)" + parameters + R"(},"inputs":[{"name":"x","datatype":"FP32","shape":[64],"data":[)" +
                 data + R"(]}],"outputs":[{"name":"sum"}]})");
    EXPECT_THAT(reply.body, HasSubstr(R"("data":[2016])"));
  };
  talk("shop", kStart);
  const std::size_t pages = stored_pages();
  EXPECT_EQ(pages, 4U);
  talk("shop", R"("sequence_id":"other","sequence_start":true)");
  EXPECT_EQ(stored_pages(), pages);
  talk("bank", kStart);
  EXPECT_EQ(stored_pages(), 2 * pages);
}

INSTANTIATE_TEST_SUITE_P(Stores, Isolation, testing::Values(Store::memory, Store::folder, Store::redis));

// ---- names ----

TEST(StateKeys, AreDifferentForDifferentNames) {
  const StateKey keys[] = {{"", "a"},   {"a", ""},   {"", "1:a"}, {"1", ":a"},
                           {"1:", "a"}, {"11", "a"}, {"1", "1a"}, {"", "0:a"}};
  std::set<std::string> texts;
  for (const StateKey& key : keys) texts.insert(key.text());
  EXPECT_EQ(texts.size(), std::size(keys));
  EXPECT_EQ(StateKey::tenant_in(StateKey("a:b\n", "c").text()), "a:b\n");
  EXPECT_EQ(StateKey::tenant_in(StateKey("name").text()), "");
  for (const char* other : {"", "a", "5:abc", "99999999999999999999:a", "-1:a", ":a", "3"}) {
    EXPECT_EQ(StateKey::tenant_in(other), "") << other;
  }
}

TEST(Pages, OfAnotherOwnerHaveOtherIds) {
  server::PagePool none;
  server::PagePool shop("shop", none), bank("bank", none);
  const auto page_in = [](server::PagePool& pool) {
    server::Page::Draft draft(3);
    std::memcpy(draft.data(), "abc", 3);
    return pool.share(std::move(draft));
  };
  const auto in_none = page_in(none), in_shop = page_in(shop), in_bank = page_in(bank), again = page_in(shop);
  EXPECT_EQ(in_shop, again);
  EXPECT_NE(in_shop, in_bank);
  const std::set<server::PageId> ids{in_none->id(), in_shop->id(), in_bank->id()};
  EXPECT_EQ(ids.size(), 3U);
  EXPECT_EQ(shop.find(in_bank->id()), nullptr);
  EXPECT_EQ(shop.unseal(in_shop->id(), std::string(in_bank->sealed())), nullptr) << "it is another page's";
  EXPECT_EQ(none.counts().pages, 3U) << "all are counted";
  EXPECT_EQ(none.counts().hits, 1U);
}

}  // namespace
}  // namespace frazil::test
