// Features from Feast's online store: its layout in Redis, look-ups, and the step of a pipeline.
#include <cstring>
#include <thread>

#include <frazil/array.h>
#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/certificates.h"
#include "server/host/feast_key.h"
#include "server/host/feature_store.h"
#include "server/redis_process.h"
#include "server/request/path_record.h"

namespace frazil::test {
namespace {

using std::literals::operator""h;
using std::literals::operator""ms;
using std::literals::operator""s;
using api::Array;
using server::Clock;
using server::FeastValue;
using server::FeatureStore;
using server::FeatureView;
using server::Redis;
using testing::ElementsAre;
using testing::HasSubstr;

std::string hex_of(std::string_view bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += {"0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]};
  return text;
}

// ---- the layout ----

TEST(FeastLayout, HasTheKeysAndFieldsOfFeast) {
  EXPECT_EQ(server::murmur3("hello"), 0x248bfa47U);
  EXPECT_EQ(hex_of(server::feast_field("driver_hourly_stats", "conv_rate")), "6160e3da");
  EXPECT_EQ(hex_of(server::feast_field("driver_hourly_stats", "acc_rate")), "fa5e58ad");
  EXPECT_EQ(hex_of(server::feast_field("driver_hourly_stats", "avg_daily_trips")), "18a5e5a3");
  EXPECT_EQ(hex_of(server::feast_key({{"driver_id", std::int64_t{1001}}}, "my_project")),
            "0100000002000000090000006472697665725f69640400000008000000e9030000000000006d795f70726f6a656374");
  const std::int32_t seven = 7;
  EXPECT_EQ(server::feast_key({{"b", "x"s}, {"a", seven}}, "p"),
            "\2\0\0\0\2\0\0\0\1\0\0\0a\2\0\0\0\1\0\0\0b\3\0\0\0\4\0\0\0\7\0\0\0\2\0\0\0\1\0\0\0xp"s);
  EXPECT_EQ(server::feast_time_field("v"), "_ts:v");
}

struct Encoded {
  std::string bytes;
  FeastValue value;
};

std::vector<Encoded> some_values() {
  using Wholes = std::vector<std::int64_t>;
  return {{"", {}},
          {"\x98\1\0"s, {}},
          {"\x12\2ab", "ab"s},
          {"\x0a\2\0\xff"s, "\0\xff"s},
          {"\x18\xfb\xff\xff\xff\xff\xff\xff\xff\xff\1", std::int64_t{-5}},
          {"\x20\xac\2", std::int64_t{300}},
          {"\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", std::int64_t{-1}},
          {"\x29\0\0\0\0\0\0\xf8\x3f"s, 1.5},
          {"\x35\0\0\0\x3f"s, 0.5},
          {"\x38\1", std::int64_t{1}},
          {"\x62\6\x0a\1a\x0a\1b"s, std::vector{"a"s, "b"s}},
          {"\x6a\x0c\x0a\x0a\xfb\xff\xff\xff\xff\xff\xff\xff\xff\1"s, Wholes{-5}},
          {"\x72\6\x0a\4\1\2\xac\2", Wholes{1, 2, 300}},
          {"\x72\4\x08\1\x08\2", Wholes{1, 2}},
          {"\x72\0"s, Wholes{}},
          {"\x7a\x0a\x0a\x08\0\0\0\0\0\0\xf8\x3f"s, std::vector{1.5}},
          {"\x82\1\6\x0a\4\0\0\0\x3f"s, std::vector{0.5}},
          {"\x8a\1\4\x0a\2\1\0"s, Wholes{1, 0}}};
}

TEST(FeastLayout, ReadsValues) {
  for (const auto& [bytes, value] : some_values()) EXPECT_EQ(server::feast_value(bytes), value) << hex_of(bytes);
  EXPECT_EQ(server::feast_time("\x08\x80\x94\xeb\xdc\3\x10\x80\xca\xb5\xee\1"), 1000000000.5);
  EXPECT_EQ(server::feast_time(""), 0);
  EXPECT_THROW(server::feast_value("\xa2\1\0"s), std::invalid_argument) << "a map";
}

TEST(FeastLayout, DamagedValuesAreRefusedOrRead) {
  for (const auto& [bytes, value] : some_values()) {
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      std::string bad = bytes;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      for (const std::string& one : {bad, bytes.substr(0, bit / 8)}) {
        try {
          server::feast_value(one);
          server::feast_time(one);
        } catch (const std::invalid_argument&) {  // NOLINT(bugprone-empty-catch): either way
        }
      }
    }
  }
  EXPECT_THROW(server::feast_value("\x20\xff"), std::invalid_argument);
  EXPECT_THROW(server::feast_value("\x22\1a"), std::invalid_argument) << "an int64 with a length";
  EXPECT_THROW(server::feast_value("\x72\2\x0d\1"s), std::invalid_argument);
  EXPECT_THROW(server::feast_value("\x7a\5\x0a\3abc"), std::invalid_argument);
}

// ---- with Redis ----

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>(value | 0x80U);
  return bytes += static_cast<char>(value);
}
std::string float_value(float value) {
  std::string bytes = "\x35....";
  std::memcpy(bytes.data() + 1, &value, sizeof value);
  return bytes;
}
std::string list_value(std::initializer_list<std::uint64_t> items) {
  std::string packed;
  for (const auto item : items) packed += varint(item);
  packed = "\x0a" + varint(packed.size()) + packed;
  return "\x72" + varint(packed.size()) + packed;
}

class FeatureTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisProcess::installed()) GTEST_SKIP() << "redis-server is not installed";
    server_.emplace();
    redis_.emplace(server_->address());
  }
  using Features = std::vector<std::pair<std::string, std::string>>;
  /// Writes an entity as Feast does, with values of `age_s` seconds.
  void put(std::int64_t user, const Features& features, int age_s = 0) {
    const std::string key = server::feast_key({{"user_id", user}}, "shop");
    std::vector<std::string> parts{"HSET", key, "_ts:user", "\x08" + varint(std::time(nullptr) - age_s)};
    for (const auto& [name, bytes] : features) {
      parts.push_back(server::feast_field("user", name));
      parts.push_back(bytes);
    }
    redis_->run(Redis::Command(parts.begin(), parts.end()));
  }
  FeatureView view(Clock::duration keep = 0s) const {
    return {.redis = server_->address(),
            .project = "shop",
            .view = "user",
            .features = {"rate", "history"},
            .time_out = 2s,
            .keep = keep};
  }
  static std::vector<std::string> keys(std::initializer_list<std::int64_t> users) {
    std::vector<std::string> all;
    for (const auto user : users) all.push_back(server::feast_key({{"user_id", user}}, "shop"));
    return all;
  }
  /// HMGET commands since the last call.
  int asked() {
    const std::string info = redis_->run({"INFO", "commandstats"}).text;
    redis_->run({"CONFIG", "RESETSTAT"});
    const std::size_t at = info.find("cmdstat_hmget:calls=");
    return at == std::string::npos ? 0 : std::atoi(info.c_str() + at + 20);
  }

  std::optional<RedisProcess> server_;
  std::optional<Redis> redis_;
};

TEST_F(FeatureTest, AreLookedUpTogetherAndKept) {
  put(1, {{"rate", float_value(0.5)}, {"history", list_value({7, 8})}});
  put(2, {{"rate", float_value(1)}});
  FeatureStore store(view(1s));
  const auto found = store.look_up(keys({1, 2, 3, 1}), {});
  EXPECT_EQ(asked(), 3) << "each entity once";
  EXPECT_EQ(found.rows[0]->values[0], FeastValue(0.5));
  EXPECT_EQ(found.rows[0]->values[1], FeastValue(std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(found.rows[1]->values[1], FeastValue());
  EXPECT_FALSE(found.rows[2]->found);
  EXPECT_EQ(found.rows[3], found.rows[0]);
  EXPECT_EQ(store.look_up(keys({3, 1, 2}), {}).kept, 3U);
  EXPECT_EQ(asked(), 0);
  put(1, {{"rate", float_value(2)}});
  EXPECT_EQ(store.look_up(keys({1}), {}).rows[0]->values[0], FeastValue(0.5)) << "it is kept";
  std::this_thread::sleep_for(1100ms);
  EXPECT_EQ(store.look_up(keys({1}), {}).rows[0]->values[0], FeastValue(2.0));
}

/// Also where another request has connected, or has read the record.
TEST_F(FeatureTest, ACheckOfTheAddressIsMadeForEachLookUp) {
  put(1, {{"rate", float_value(0.5)}});
  FeatureStore store(view(1h));
  std::vector<std::string> asked_for;
  const auto permits = [&](const server::PeerAddress& peer) -> std::optional<std::string> {
    asked_for.push_back(peer.address);
    return std::nullopt;
  };
  const auto rejects = [](const server::PeerAddress&) { return std::optional("not here"s); };
  EXPECT_EQ(store.look_up(keys({1}), {}, rejects).rejection, "not here") << "nothing is connected yet";
  EXPECT_EQ(asked(), 0);
  EXPECT_FALSE(store.look_up(keys({1}), {}, permits).rejection);
  EXPECT_THAT(asked_for, testing::Each("127.0.0.1"));
  EXPECT_EQ(store.look_up(keys({1}), {}, rejects).rejection, "not here") << "the record is kept";
  EXPECT_EQ(store.look_up(keys({2}), {}, rejects).rejection, "not here") << "the connection is kept";
  EXPECT_EQ(asked(), 1);
}

TEST_F(FeatureTest, ThoseUsedLastAreKept) {
  FeatureView small = view(1h);
  small.max_kept = 2;
  FeatureStore store(small);
  for (const auto& users : {keys({1}), keys({2}), keys({1}), keys({3})}) store.look_up(users, {});
  EXPECT_EQ(asked(), 3);
  EXPECT_EQ(store.look_up(keys({1, 3}), {}).kept, 2U);
  EXPECT_EQ(store.look_up(keys({2}), {}).kept, 0U);
}

TEST_F(FeatureTest, ManyWhoWantOneEntityAskOnce) {
  put(1, {{"rate", float_value(0.5)}});
  FeatureStore store(view());
  store.look_up(keys({9}), {});
  asked();
  server_->stop();
  std::vector<std::jthread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { good += store.look_up(keys({1}), {}).rows[0] != nullptr ? 1 : 0; });
  }
  std::this_thread::sleep_for(100ms);
  server_->go_on();
  threads.clear();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(asked(), 1);
}

TEST_F(FeatureTest, AStoreThatDoesNotAnswerIsLeftAloneForAWhile) {
  put(1, {{"rate", float_value(0.5)}});
  FeatureView quick = view();
  quick.time_out = 50ms;
  FeatureStore store(quick);
  server_->stop();
  for (int i = 0; i < 10; ++i) {
    const auto found = store.look_up(keys({1}), Clock::now() + 2ms);
    EXPECT_EQ(found.rows[0], nullptr);
    EXPECT_EQ(found.why, "Redis does not answer in time") << "short requests do not count";
  }
  const auto began = Clock::now();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(store.look_up(keys({1}), {}).why, "Redis does not answer in time");
  EXPECT_LT(Clock::now() - began, 1s);
  const auto at_once = Clock::now();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(store.look_up(keys({1}), {}).why, "Redis did not answer a moment ago");
  EXPECT_LT(Clock::now() - at_once, 500ms);
  server_->go_on();
  std::this_thread::sleep_for(1050ms);
  EXPECT_NE(store.look_up(keys({1}), {}).rows[0], nullptr);
}

TEST_F(FeatureTest, ErrorsOfOneEntityAreItsOwn) {
  put(1, {{"rate", float_value(0.5)}});
  redis_->run({"SET", keys({2})[0], "no hash"});
  put(3, {{"rate", "\x20\xff"}});
  FeatureStore store(view(1h));
  const auto found = store.look_up(keys({1, 2, 3}), {});
  EXPECT_NE(found.rows[0], nullptr);
  EXPECT_EQ(found.rows[1], nullptr);
  EXPECT_EQ(found.rows[2], nullptr);
  EXPECT_THAT(found.why, HasSubstr("damaged"));
  const auto error = store.look_up(keys({2}), {});
  EXPECT_EQ(error.why, "Redis answers with an error") << "for callers";
  EXPECT_THAT(error.redis_error, HasSubstr("WRONGTYPE")) << "for the log";
}

// ---- the step ----

class FeatureSteps : public FeatureTest {
 protected:
  void serve(const std::string& more = "", const std::string& redis = "") {
    write(more, redis);
    service_.emplace(options_of(folder_));
  }
  void write(const std::string& more, const std::string& redis = "") const {
    folder_.write("p.yaml", "inputs: {users: 'i64[N]'}\nsteps:\n  - name: user\n    features:\n      redis: " +
                                (redis.empty() ? server_->address() : redis) +
                                "\n      project: shop\n      view: user\n      entity: {user_id: users}\n" + more +
                                "      get:\n        rate: {type: f32, default: -1}\n"
                                "        history: {type: i64, list: 3, default: 9}\n"
                                "outputs: {rate: user.rate, history: user.history, length: user.history_length, "
                                "status: user.status}\n");
  }
  void run(std::initializer_list<std::int64_t> users) {
    path_ = std::make_shared<server::PathRecord>(Clock::now());
    const Array ids = Array::of<std::int64_t>({static_cast<std::int64_t>(users.size())}, users);
    outcome_ = ask(*service_, {.model = "p", .inputs = {{"users", ids}}, .path = path_}).get();
    ASSERT_TRUE(outcome_) << outcome_->error().what();
  }
  std::string text(std::size_t output) const { return (*outcome_)->outputs.at(output).second.str(); }

  Folder folder_;
  std::optional<server::Service> service_;
  std::shared_ptr<server::PathRecord> path_;
  std::optional<server::Outcome> outcome_;
};

TEST_F(FeatureSteps, GiveValuesAndTellWhatTheyAre) {
  put(1, {{"rate", float_value(0.5)}, {"history", list_value({5, 6})}});
  put(2, {{"rate", float_value(0.25)}});
  put(4, {{"rate", float_value(0.75)}, {"history", list_value({1, 2, 3, 4})}}, 100);
  put(5, {{"rate", "\x20\3"}, {"history", list_value({1, 2, 3, 4})}});
  serve("      max_age_s: 50\n      timeout_ms: 2000\n");
  run({1, 2, 3, 4, 5});
  ASSERT_TRUE(*outcome_) << outcome_->error().what();
  EXPECT_EQ(text(0), "f32[5] [0.5, 0.25, -1, -1, 3]");
  EXPECT_THAT((*outcome_)->outputs[1].second.values<std::int64_t>(),
              ElementsAre(5, 6, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 2, 3, 4));
  EXPECT_EQ(text(2), "i64[5] [2, 0, 0, 0, 3]");
  EXPECT_EQ(text(3), "i64[5] [0, 1, 2, 3, 0]");
  const auto step = path_->steps().at(0);
  EXPECT_EQ(step.node + ":" + step.kind, "user:features");
  EXPECT_EQ(step.taken, "5 rows: 0 from memory, 0 failed");
  EXPECT_THAT(step.why, testing::MatchesRegex("oldest value: 10[0-9.]* s; hash of the values: [0-9]+"));
  run({3});
  EXPECT_EQ(text(1), "i64[1,1] [[9]]");
  run({});
  EXPECT_EQ(text(1), "i64[0,1] []");
}

TEST_F(FeatureSteps, ARefusedStoreFailsTheRequest) {
  write("");
  server::ServiceOptions options = options_of(folder_);
  options.governor = std::make_shared<govern::Governor>(govern::GovernorOptions{
      .policy = govern::Policy::read(
          "policy \"p\" serial 1;\npermit all on file, load, run, dispatch, external when true reason \"\";\n"
          "forbid redis on external when kind == \"redis\" && address == \"127.0.0.1\" && model == \"p\" reason "
          "\"no\";",
          "p")});
  service_.emplace(std::move(options));
  const Array ids = Array::of<std::int64_t>({1}, {1});
  const auto outcome = ask(*service_, {.model = "p", .inputs = {{"users", ids}}}).get();
  ASSERT_FALSE(outcome) << "no defaults";
  EXPECT_EQ(outcome.error().status(), server::Http::forbidden);
  EXPECT_THAT(outcome.error().what(), HasSubstr("rule 'redis': no"));
}

TEST_F(FeatureSteps, GiveDefaultsWhereTheStoreDoesNotAnswer) {
  put(1, {{"rate", float_value(0.5)}});
  serve("      timeout_ms: 300\n      cache_s: 3600\n");
  run({1});
  server_->stop();
  run({1});
  EXPECT_EQ(text(0) + text(3), "f32[1] [0.5]i64[1] [1]");
  EXPECT_THAT(path_->steps().at(0).why, HasSubstr("oldest copy: "));
  run({2});
  EXPECT_EQ(text(0) + text(3), "f32[1] [-1]i64[1] [4]");
  EXPECT_THAT(path_->steps().at(0).why, HasSubstr("Redis does not answer in time"));
  server_->go_on();
  serve("", "127.0.0.1:1");
  run({1});
  EXPECT_EQ(text(3), "i64[1] [4]");
  EXPECT_THAT(path_->steps().at(0).why, HasSubstr("Redis cannot be reached"));
}

TEST_F(FeatureSteps, KeepTheirRecordsWhenThePipelineIsMadeAnew) {
  put(1, {{"rate", float_value(0.5)}});
  const auto taken = [&] {
    run({1});
    return path_->steps().at(0).taken;
  };
  serve("      timeout_ms: 2000\n      cache_s: 3600\n");
  EXPECT_EQ(taken(), "1 rows: 0 from memory, 0 failed");
  service_->models().load("p");
  EXPECT_EQ(taken(), "1 rows: 1 from memory, 0 failed");
  write("      timeout_ms: 2000\n      cache_s: 1800\n");
  service_->models().load("p");
  EXPECT_EQ(taken(), "1 rows: 0 from memory, 0 failed") << "records of another declaration";
}

TEST_F(FeatureSteps, RefuseAValueOfAnotherType) {
  put(1, {{"rate", "\x12\1a"}});
  serve("      timeout_ms: 2000\n");
  const auto outcome = ask(*service_, {.model = "p", .inputs = {{"users", Array::of<std::int64_t>({1}, {1})}}}).get();
  ASSERT_FALSE(outcome);
  EXPECT_STREQ(outcome.error().what(), "node 'user': feature 'rate' has a value in Redis that is no f32");
}

TEST_F(FeatureSteps, ReadFromAStoreWithTlsAndAUser) {
  const Authority authority("ours");
  const auto files = authority.issue("redis", "IP:127.0.0.1");
  const server::RedisAccess access{.password = "main", .tls = server::TlsFiles{.ca = authority.certificate()}};
  server_.emplace(
      std::vector<std::string>{"--tls-cert-file", files.certificate, "--tls-key-file", files.key, "--tls-ca-cert-file",
                               authority.certificate(), "--tls-auth-clients", "no", "--requirepass", "main", "--user",
                               "reader", "on", ">word", "~*", "+@read", "+@connection"},
      access);
  redis_.emplace(server_->address(), server::RedisOptions{.access = access});
  put(1, {{"rate", float_value(0.5)}});
  folder_.write("password", "word");
  const std::string url = "rediss://reader@" + server_->address(),
                    tls = "      redis_tls: {ca: " + authority.certificate() + "}\n      timeout_ms: 2000\n";
  serve(tls + "      redis_password: {file: password}\n", url);
  run({1});
  EXPECT_EQ(text(0) + text(3), "f32[1] [0.5]i64[1] [1]");
  serve(tls + "      redis_password: wrong\n", url);
  run({1});
  EXPECT_EQ(text(0) + text(3), "f32[1] [-1]i64[1] [4]");
  EXPECT_THAT(path_->steps().at(0).why, HasSubstr("Redis refuses the password: WRONGPASS"));
}

TEST(FeatureFiles, AreRefusedWithThePlace) {
  const struct {
    const char *step, *why;
  } cases[] = {{"{redis: 'h:1', redis_tls: {ca: none}, project: a, view: b, entity: {i: x}, get: {f: {type: f32}}}",
                "/none: No such file"},
               {"{project: a, view: b, entity: {i: x}, get: {f: {type: f32}}}", "expected the key 'redis'"},
               {"{redis: here, project: a, view: b, entity: {i: x}, get: {f: {type: f32}}}", "p.yaml:3: field"},
               {"{redis: 'h:1', project: a, view: b, entity: {i: z}, get: {f: {type: f32}}}", "no value 'z' here"},
               {"{redis: 'h:1', project: a, view: b, entity: {i: f}, get: {f: {type: f32}}}", "known by i32, i64"},
               {"{redis: 'h:1', project: a, view: b, entity: {i: x}, get: {f: {type: f16}}}", "expected one of bool"},
               {"{redis: 'h:1', project: a, view: b, entity: {i: x}, get: {}}", "at least one feature"},
               {"{redis: 'h:1', project: a, view: b, entity: {i: x}, get: {status: {type: f32}}}", "'status'"},
               {"{redis: 'h:1', project: a, view: b, entity: {i: x}, get: {f: {type: i64, default: 0.5}}}", "default"},
               {"{redis: 'h:1', project: a, view: b, entity: {i: x}, get: {f: {type: f32}}, max_age: 1}", "max_age"}};
  for (const auto& [step, why] : cases) {
    const Folder folder;
    folder.write("p.yaml", "inputs: {x: 'i64[N]', f: 'f32[N]'}\nsteps:\n  - {name: s, features: " + std::string(step) +
                               "}\noutputs: {y: x}\n");
    try {
      server::Service service(options_of(folder));
      ADD_FAILURE() << step;
    } catch (const api::Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  }
}

}  // namespace
}  // namespace frazil::test
