// States of sequences in Redis: replicas, outages, passwords and TLS.
#include "server/net/redis.h"

#include <atomic>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>

#include "server/certificates.h"
#include "server/config/config_yaml.h"
#include "server/redis_process.h"
#include "server/state_steps.h"

namespace frazil::test {
namespace {

using std::literals::operator""h;
using std::literals::operator""ms;
using server::Http;
using server::Redis;
using server::RedisFault;
using server::RedisReply;
using server::StateConfig;
using server::StateStore;
using server::Workers;
using testing::HasSubstr;

class RedisTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisProcess::installed()) GTEST_SKIP() << "redis-server is not installed";
    redis_.emplace();
  }
  StateConfig config() const { return {.redis = redis_->address()}; }

  std::optional<RedisProcess> redis_;
  Workers workers_{3};
};

TEST_F(RedisTest, AnswersCommandsAndPipelines) {
  Redis redis(redis_->address());
  const std::string key("k\0\r\n", 4), value("\0\xff$1\r\n", 6), large(3'000'000, 'x');
  EXPECT_EQ(redis.run({"HSET", key, "f", value, "g", ""}).integer, 2);
  const Redis::Command commands[] = {
      {"HMGET", key, "f", "none", "g"}, {"SET", "k", large}, {"INCR", key}, {"GET", "k"}};
  const std::vector<RedisReply> replies = redis.run(commands);
  ASSERT_EQ(replies.size(), 4U);
  EXPECT_EQ(text_of(replies[0]), "[\"" + value + "\" nil \"\" ]");
  EXPECT_THAT(text_of(replies[2]), HasSubstr("!WRONGTYPE"));
  EXPECT_EQ(replies[3].text, large);
  redis_->kill();
  EXPECT_THROW(redis.run({"PING"}), RedisFault);
  redis_->start();
  EXPECT_EQ(redis.run({"HGET", key, "f"}).text, value);
}

TEST_F(RedisTest, AReplicaGoesOnWhereAnotherHasEnded) {
  StateStore one(config(), workers_), other(config(), workers_);
  EXPECT_EQ(step(one, "a"), kNew);
  EXPECT_EQ(step(other, "a"), 0);
  EXPECT_EQ(step(one, "a"), 1) << "its own copy is old";
  EXPECT_EQ(step(one, "a"), 2);
  EXPECT_EQ(step(other, "a"), 3);
  EXPECT_EQ(one.counts().read_back, 1U);
  EXPECT_EQ(one.counts().written_out, 3U);
  begin(other, "a");
  other.end("a", {}, 1h);
  EXPECT_EQ(look(one, "a"), kNew);
}

TEST_F(RedisTest, ForgetsWhatIsNotUsed) {
  StateStore one(config(), workers_), other(config(), workers_);
  step(one, "a", 50ms);
  EXPECT_EQ(look(other, "a"), 0);
  std::this_thread::sleep_for(70ms);
  EXPECT_EQ(look(other, "a"), kNew);
  EXPECT_EQ(look(one, "a"), kNew);
}

TEST_F(RedisTest, MemoryIsACopy) {
  StateConfig small = config();
  small.memory_bytes = 20'000;
  small.max_sequences = 10;
  StateStore store(small, workers_);
  for (int i = 0; i < 40; ++i) step(store, std::to_string(i), 1h, 1000);
  EXPECT_LE(store.counts().bytes, 20'000U);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(step(store, std::to_string(i)), 0) << i;
  EXPECT_EQ(store.counts().sequences, 10U);
  count_on(store, 4, 50, 20, 2);
}

TEST_F(RedisTest, TheOldStateStaysWhereTheNewOneCannotBeWritten) {
  StateStore store(config(), workers_);
  step(store, "a");
  EXPECT_EQ(begin(store, "a"), 0);
  redis_->kill();
  EXPECT_EQ(refusal_of([&] { store.end("a", state_of(1), 1h); }), Http::unavailable);
  EXPECT_THAT(message_of([&] { begin(store, "a"); }),
              HasSubstr("the sequence's state cannot be read: Redis cannot be"));
  redis_->start();
  EXPECT_EQ(step(store, "a"), 0);
  EXPECT_EQ(step(store, "a"), 1);
}

TEST_F(RedisTest, TheOldStateStaysWhereTheNewOneComesLate) {
  StateStore store(config(), workers_);
  step(store, "a");
  EXPECT_EQ(begin(store, "a"), 0);
  redis_->stop();
  EXPECT_EQ(refusal_of([&] { store.end("a", state_of(5), 1h); }), Http::unavailable);
  redis_->go_on();
  std::this_thread::sleep_for(700ms);
  StateStore other(config(), workers_);
  EXPECT_EQ(look(other, "a"), 5) << "Redis has got it after all";
  EXPECT_EQ(step(store, "a"), 0) << "which its client does not know";
  EXPECT_EQ(look(other, "a"), 1);
}

TEST_F(RedisTest, AllWhoWaitForAStateThatCannotBeReadAreTold) {
  StateStore store(config(), workers_);
  step(store, "a");
  redis_->stop();
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] { refused += refusal_of([&] { begin(store, "a"); }) == Http::unavailable ? 1 : 0; });
    }
  }
  EXPECT_EQ(refused, 4);
  redis_->go_on();
  std::this_thread::sleep_for(700ms);
  EXPECT_EQ(step(store, "a"), 0);
}

TEST_F(RedisTest, AStateThatItHasLostIsNotANewSequence) {
  StateStore one(config(), workers_), other(config(), workers_);
  for (const char* key : {"a", "b", "ends", "expires"}) step(one, key, key == std::string("expires") ? 50ms : 1h);
  EXPECT_EQ(look(other, "b"), 0);
  begin(other, "ends");
  other.end("ends", {}, 1h);
  std::this_thread::sleep_for(70ms);
  EXPECT_EQ(look(one, "ends"), kNew) << "another replica has ended it";
  EXPECT_EQ(look(one, "expires"), kNew);
  Redis(redis_->address()).run({"FLUSHALL"});  // as a restart without its files
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(look(one, "a"), kLost);
    EXPECT_EQ(look(other, "b"), kLost);
  }
  EXPECT_EQ(look(other, "a"), kNew) << "this replica has never had it";
  begin(one, "a");
  one.end("a", state_of(7), 1h);
  EXPECT_EQ(look(one, "a"), 7) << "it was started anew";
  EXPECT_EQ(look(other, "a"), 7);
  EXPECT_EQ(begin(other, "b"), kLost);
  other.end("b", state_of(8), 1h);
  EXPECT_EQ(look(one, "b"), 8) << "as it was started anew";
}

TEST_F(RedisTest, MayBeOutWhenTheServerStarts) {
  std::mutex mutex;
  std::vector<std::string> told;
  const auto notify = [&](const server::Notice& notice) {
    const std::scoped_lock lock(mutex);
    told.push_back((notice.level == server::Notice::Level::warning ? "warning " : "info ") + notice.subject + ": " +
                   notice.text);
  };
  redis_->kill();
  StateStore store(config(), workers_, notify);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(refusal_of([&] { step(store, "a"); }), Http::unavailable);
  redis_->start();
  EXPECT_EQ(step(store, "a"), kNew);
  EXPECT_EQ(step(store, "a"), 0);
  redis_->kill();
  EXPECT_EQ(refusal_of([&] { step(store, "a"); }), Http::unavailable);
  EXPECT_THAT(told,
              testing::ElementsAre(HasSubstr("warning redis: requests of sequences are refused: Redis cannot be "),
                                   "info redis: answers again, after 3 requests that failed",
                                   HasSubstr("warning redis: requests of sequences are refused: ")));
}

TEST(RedisAccess, NeedsItsPassword) {
  if (!RedisProcess::installed()) GTEST_SKIP() << "redis-server is not installed";
  Workers workers{1};
  RedisProcess redis({"--requirepass", "open sesame", "--user", "frazil", "on", ">word", "~*", "+@all"},
                     {.password = "open sesame"});
  for (const server::RedisAccess& good :
       {server::RedisAccess{.password = "open sesame"}, {.user = "frazil", .password = "word"}}) {
    StateStore store({.redis = redis.address(), .redis_access = good}, workers);
    EXPECT_EQ(step(store, good.user), kNew);
    EXPECT_EQ(step(store, good.user), 0);
  }
  for (const server::RedisAccess& bad :
       {server::RedisAccess{}, {.password = "wrong"}, {.user = "frazil", .password = "open sesame"}}) {
    const std::string why = message_of([&] { StateStore({.redis = redis.address(), .redis_access = bad}, workers); });
    EXPECT_THAT(why, HasSubstr(bad.password.empty() ? "NOAUTH" : "Redis refuses the password: WRONGPASS"));
    EXPECT_THAT(why, testing::Not(HasSubstr("sesame")));
  }
}

TEST(RedisAccess, ByTls) {
  if (!RedisProcess::installed()) GTEST_SKIP() << "redis-server is not installed";
  Workers workers{1};
  const Authority ours("ours"), theirs("theirs");
  const auto server = ours.issue("redis", "IP:127.0.0.1"), client = ours.issue("client");
  const auto access = [&](const Authority& authority, const Authority::Files& files) {
    return server::RedisAccess{
        .tls = server::TlsFiles{.ca = authority.certificate(), .certificate = files.certificate, .key = files.key}};
  };
  const auto options = [&](const Authority::Files& files) {
    return std::vector<std::string>{"--tls-cert-file", files.certificate,    "--tls-key-file",
                                    files.key,         "--tls-ca-cert-file", ours.certificate()};
  };
  RedisProcess redis(options(server), access(ours, client));
  StateStore store({.redis = redis.address(), .redis_access = access(ours, client)}, workers);
  EXPECT_EQ(step(store, "a", 1h, 300'000), kNew);
  EXPECT_EQ(step(store, "a"), 0);
  EXPECT_EQ(step(store, "a"), 1);
  const auto why = [&](const std::string& at, const server::RedisAccess& how) {
    return message_of([&] { StateStore({.redis = at, .redis_access = how}, workers); });
  };
  EXPECT_THAT(why(redis.address(), access(theirs, client)),
              HasSubstr("TLS with Redis cannot be set up: its certificate: "));
  const std::string by_name = "localhost" + redis.address().substr(redis.address().find(':'));
  EXPECT_THAT(why(by_name, access(ours, client)), HasSubstr("its certificate: hostname mismatch"));
  server::RedisAccess none = access(ours, client);
  none.tls->ca = "/no/such/file";
  EXPECT_THAT(why(redis.address(), none), HasSubstr("state.redis_tls.ca /no/such/file: "));
}

TEST(RedisAccess, AsTheConfigurationSays) {
  if (!RedisProcess::installed()) GTEST_SKIP() << "redis-server is not installed";
  Workers workers{1};
  const Authority ours("ours");
  const auto server = ours.issue("redis", "IP:127.0.0.1");
  const TempFolder folder;
  const std::string password = folder / "password";
  RedisProcess redis(
      {"--tls-cert-file", server.certificate, "--tls-key-file", server.key, "--tls-ca-cert-file", ours.certificate(),
       "--tls-auth-clients", "no", "--requirepass", "main", "--user", "frazil", "on", ">open sesame", "~*", "+@all"},
      {.password = "main", .tls = server::TlsFiles{.ca = ours.certificate()}});
  const auto store = [&](const std::string& url) {
    const std::string text = "state: {redis: '" + url + redis.address() + "/2', redis_password: {file: '" + password +
                             "'}, redis_tls: {ca: '" + ours.certificate() + "'}}";
    return std::make_unique<StateStore>(server::read_server_config_text(text, "f").state, workers);
  };
  std::ofstream(password) << "open sesame\n";
  const auto by_user = store("rediss://frazil@");
  EXPECT_EQ(step(*by_user, "a"), kNew);
  EXPECT_EQ(step(*by_user, "a"), 0);
  const auto keys = [&](std::uint64_t database) {
    const server::RedisAccess access{
        .password = "main", .database = database, .tls = server::TlsFiles{.ca = ours.certificate()}};
    return Redis(redis.address(), {.access = access}).run({"DBSIZE"}).integer;
  };
  EXPECT_EQ(keys(0), 0);
  EXPECT_EQ(keys(2), 2) << "the state and the era";
  EXPECT_THAT(message_of([&] { store("rediss://"); }),
              testing::AllOf(HasSubstr("cannot keep states in Redis at " + redis.address()),
                             HasSubstr("Redis refuses the password: WRONGPASS"), testing::Not(HasSubstr("sesame"))));
  EXPECT_THAT(message_of([&] { keys(99); }), "Redis refuses database 99: ERR DB index is out of range");
}

TEST_F(RedisTest, WhatIsNoStateIsRefused) {
  std::string logged;
  StateStore store(config(), workers_, [&](const server::Notice& notice) { logged += notice.text + "\n"; });
  step(store, "a");
  Redis redis(redis_->address());
  std::string bytes = redis.run({"GET", "frazil:state:0:a"}).text;
  EXPECT_GT(redis.run({"PTTL", "frazil:state:0:a"}).integer, 3'500'000);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  bytes[25] = static_cast<char>(bytes[25] ^ 1);
  redis.run({"SET", "frazil:state:0:a", bytes});
  EXPECT_EQ(message_of([&] { begin(store, "a"); }),
            "the sequence's state cannot be read: its bytes are damaged: their checksum differs");
  redis.run({"DEL", "frazil:state:0:a"});
  redis.run({"LPUSH", "frazil:state:0:a", "x"});
  EXPECT_THAT(message_of([&] { begin(store, "a"); }), HasSubstr("read: Redis answers with an error"));
  EXPECT_THAT(logged, HasSubstr("it answers WRONGTYPE")) << "for the operator alone";
}

}  // namespace
}  // namespace frazil::test
