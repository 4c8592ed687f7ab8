// What is kept of sequences between their requests.
#include <atomic>
#include <csignal>
#include <future>
#include <latch>
#include <mutex>
#include <span>
#include <thread>

#include <arpa/inet.h>
#include <frazil/array.h>
#include <frazil/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "error/tool.h"
#include "server/net/redis.h"
#include "server/redis_process.h"
#include "server/same_arrays.h"
#include "server/state/state_bytes.h"
#include "server/state/state_folder.h"
#include "server/state/state_redis.h"
#include "server/state/state_store.h"
#include "server/state_steps.h"

namespace frazil::test {
namespace {

using std::literals::operator""h;
using std::literals::operator""ms;
using std::literals::operator""s;
using api::Array;
using server::Http;
using server::Redis;
using server::RedisFault;
using server::RedisReader;
using server::RedisReply;
using server::Refusal;
using server::State;
using server::StateConfig;
using server::StateStore;
using server::Workers;
using testing::ElementsAre;
using testing::HasSubstr;
using Values = StateStore::Values;

// ---- bytes ----

auto shared(std::string bytes) { return std::make_shared<const std::string>(std::move(bytes)); }

Array patterned_array(api::Dtype dtype, api::Sizes sizes) {
  Array array(dtype, std::move(sizes));
  if (dtype == api::Dtype::string) {
    for (std::string& text : array.mutable_values<std::string>()) text = std::string("a\0b\xff", 4);
  } else {
    auto* const bytes = static_cast<unsigned char*>(array.mutable_data());
    for (std::size_t i = 0; i < array.bytes(); ++i) bytes[i] = static_cast<unsigned char>(i % 2);
  }
  return array;
}

std::vector<Values> some_states() {
  std::vector<Values> states{{}, {{"", Array()}}};
  for (int dtype = 0; dtype <= static_cast<int>(api::Dtype::u2); ++dtype) {
    for (const api::Sizes& sizes : {api::Sizes{}, {0}, {3}, {2, 0, 5}, {1, 2, 3}}) {
      states.push_back(
          {{"x", patterned_array(static_cast<api::Dtype>(dtype), sizes)}, {"second", Array::scalar(1.5F)}});
    }
  }
  const Array text = Array::scalar(std::string("key")), number = Array::scalar(std::int64_t{7});
  states.push_back(
      {{"list", Array::sequence({text, number, Array::sequence({number})})}, {"none", Array::sequence({})}});
  states.push_back({{"map", Array::map({{text, number}})}, {std::string("\0ü", 3), Array::map({{number, text}})}});
  return states;
}

bool same_states(const Values& a, const Values& b) {
  const auto same_values = [](const auto& x, const auto& y) { return x.first == y.first && same(x.second, y.second); };
  return std::ranges::equal(a, b, same_values);
}

TEST(StateBytes, ComeBackAsTheyWere) {
  for (const Values& state : some_states()) {
    const auto bytes = shared(server::bytes_of_state(state, 12));
    server::check_state(*bytes);
    EXPECT_EQ(server::turn_of_state(*bytes), 12U);
    EXPECT_TRUE(same_states(server::content_of_state(bytes).values, state))
        << (state.empty() ? "" : state[0].second.str());
  }
}

TEST(StateBytes, TensorsLieInThem) {
  const auto bytes = shared(server::bytes_of_state({{"x", patterned_array(api::Dtype::f32, {4})}}, 1));
  const Values values = server::content_of_state(bytes).values;
  const auto* const at = static_cast<const char*>(values[0].second.data());
  EXPECT_TRUE(at > bytes->data() && at < bytes->data() + bytes->size() && bytes.use_count() > 1);
}

TEST(StateBytes, AreRefusedWhenDamaged) {
  for (const Values& state : some_states()) {
    const std::string good = server::bytes_of_state(state, 3);
    for (std::size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
      EXPECT_THROW(server::check_state(bad), server::StateFault) << i;
      EXPECT_THROW(server::check_state(good.substr(0, i)), server::StateFault) << i;
    }
    EXPECT_THROW(server::check_state(good + '\0'), server::StateFault);
  }
  const std::string good = server::bytes_of_state({}, 3);
  EXPECT_EQ(message_of([&] { server::check_state("FZST\3" + good.substr(5)); }),
            "its bytes have form 3, this version of Frazil knows forms 1 and 2");
  Array deep = Array::sequence({});
  for (int i = 0; i < 9; ++i) deep = Array::sequence({deep});
  EXPECT_THROW(server::bytes_of_state({{"x", deep}}, 1), std::length_error);
  EXPECT_THAT(message_of([&] { server::check_state("garbage"); }), HasSubstr("they do not begin with FZST"));
  EXPECT_EQ(message_of([&] { server::check_state(good.substr(0, 34)); }),
            "its bytes are damaged: 4 are announced after the header, 2 are there");
}

/// As if somebody had made a checksum that fits.
TEST(StateBytes, AreReadInBoundsWhateverTheySay) {
  for (const Values& state : some_states()) {
    const std::string good = server::bytes_of_state(state, 3);
    for (std::size_t i = server::kStateHead; i < good.size(); ++i) {
      for (const char byte : {'\0', '\1', '\2', '\3', '\b', '\x7f', '\xff'}) {
        std::string bad = good;
        bad[i] = byte;
        try {
          (void)server::content_of_state(shared(bad));
        } catch (const server::StateFault& fault) {
          EXPECT_THAT(fault.what(), HasSubstr("damaged"));
        }
      }
      EXPECT_THROW((void)server::content_of_state(shared(good.substr(0, i))), server::StateFault);
    }
  }
}

// ---- turns ----

class StateStoreTest : public testing::Test {
 protected:
  std::string folder() const { return folder_ / "states"; }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      if (entry.path().extension() == ".state") names.push_back(entry.path());
    }
    return names;
  }

  TempFolder folder_;
  Workers workers_{3};
};

TEST_F(StateStoreTest, KeepsStateUntilTheSequenceEnds) {
  StateStore store({}, workers_);
  EXPECT_EQ(step(store, "a"), kNew);
  EXPECT_EQ(step(store, "a"), 0);
  EXPECT_EQ(step(store, "b"), kNew);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(look(store, "a"), 1) << "a failed turn changes nothing";
  EXPECT_EQ(store.counts().sequences, 2U);
  begin(store, "a");
  store.end("a", {}, 1h);
  EXPECT_EQ(look(store, "a"), kNew);
  EXPECT_EQ(store.counts().sequences, 1U);
  EXPECT_THROW(store.abandon("a"), api::Error);
  EXPECT_EQ(refusal_of([&] { begin(store, std::string(70'000, 'k')); }), Http::bad_request);
}

TEST_F(StateStoreTest, CopiesWhatItKeeps) {
  StateStore store({}, workers_);
  Values next = state_of(1);
  begin(store, "a");
  store.end("a", next, 1h);
  next[0].second.mutable_values<float>()[0] = 5;
  EXPECT_EQ(look(store, "a"), 1);
  std::vector<float> batch(1000, 3);
  begin(store, "a");
  store.end("a", Values{{"h", Array::borrow(api::Dtype::f32, {1}, std::as_bytes(std::span(batch)))}}, 1h);
  batch.assign(1000, 4);
  EXPECT_EQ(look(store, "a"), 3);
}

TEST_F(StateStoreTest, TurnsComeInOrder) {
  StateStore store({}, workers_);
  std::vector<int> order;
  std::vector<float> found;
  std::latch done(20);
  begin(store, "a");
  for (int i = 0; i < 20; ++i) {
    store.begin("a", [&, i](const State::Ptr& state) {  // one at a time: no lock
      order.push_back(i);
      found.push_back(value_of(state));
      i % 5 == 4 ? store.abandon("a") : store.end("a", state_of(static_cast<float>(i)), 1h);
      done.count_down();
    });
  }
  EXPECT_TRUE(order.empty());
  store.end("a", {}, 1h);
  done.wait();
  EXPECT_EQ(look(store, "a"), 18);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(found[0], kNew);
  EXPECT_EQ(found[4], 3);
  EXPECT_EQ(found[5], 3) << "as turn 4 failed";
}

TEST_F(StateStoreTest, ThreadsLoseNoTurn) {
  StateStore memory({}, workers_);
  count_on(memory, 4, 500, 3, 2);
  StateStore small({.memory_bytes = 20'000, .folder = folder()}, workers_);
  count_on(small, 4, 150, 20, 500);
  EXPECT_GT(small.counts().written_out, 10U);
  EXPECT_GT(small.counts().read_back, 10U);
}

TEST_F(StateStoreTest, ForgetsWhatIsNotUsed) {
  StateStore store({}, workers_);
  step(store, "short", 20ms);
  step(store, "long", 1h);
  step(store, "never", std::chrono::microseconds::max());
  EXPECT_EQ(look(store, "short"), 0);
  std::this_thread::sleep_for(30ms);
  EXPECT_EQ(look(store, "short"), kNew);
  EXPECT_EQ(look(store, "long"), 0);
  EXPECT_EQ(look(store, "never"), 0);
  EXPECT_EQ(store.counts().expired, 1U);
}

TEST_F(StateStoreTest, SweepsWithoutBeingAskedForThem) {
  for (const std::string& where : {std::string(), folder()}) {
    StateStore store({.memory_bytes = where.empty() ? 1'000'000U : 1U, .folder = where}, workers_);
    for (int i = 0; i < 100; ++i) step(store, std::to_string(i), 500ms);
    EXPECT_EQ(store.counts().sequences, 100U);
    EXPECT_EQ(where.empty() ? 100U : files().size(), 100U);
    std::this_thread::sleep_for(1100ms);
    for (int i = 0; i < 3; ++i) look(store, "other");
    EXPECT_EQ(store.counts().sequences, 0U);
    EXPECT_EQ(store.counts().expired, 100U);
    EXPECT_EQ(store.counts().bytes, 0U);
    EXPECT_TRUE(where.empty() || files().empty());
  }
}

TEST_F(StateStoreTest, RefusesNewSequencesBeyondItsLimits) {
  StateStore few({.max_sequences = 2}, workers_);
  step(few, "a", 20ms);
  step(few, "b");
  EXPECT_EQ(message_of([&] { step(few, "c"); }), "there are 2 sequences, as many as most_sequences allows");
  EXPECT_EQ(step(few, "b"), 0);
  std::this_thread::sleep_for(30ms);
  EXPECT_EQ(step(few, "c"), kNew) << "in the place of one that has expired";

  StateStore small({.memory_bytes = 10'000}, workers_);
  step(small, "a", 1h, 3000);
  EXPECT_EQ(refusal_of([&] { step(small, "b"); }), Http::too_many);
  EXPECT_EQ(message_of([&] { step(small, "b"); }),
            "the states of sequences have reached the limit memory_bytes, 10000");
  EXPECT_EQ(step(small, "a"), 0);
  EXPECT_EQ(step(small, "b"), kNew);
}

TEST_F(StateStoreTest, WritesOutWhatWasNotUsedForLongest) {
  StateStore store({.memory_bytes = 50'000, .folder = folder()}, workers_);
  for (int i = 0; i < 40; ++i) step(store, std::to_string(i), 1h, 1000);
  EXPECT_LE(store.counts().bytes, 50'000U);
  EXPECT_EQ(store.counts().sequences, 40U);
  EXPECT_GT(store.counts().written_out, 25U);
  const std::uint64_t read = store.counts().read_back;
  EXPECT_EQ(look(store, "39"), 0);
  EXPECT_EQ(store.counts().read_back, read) << "it is in memory";
  for (int i = 0; i < 40; ++i) EXPECT_EQ(step(store, std::to_string(i), 1h, 1000), 0) << i;
  for (int i = 0; i < 40; ++i) EXPECT_EQ(look(store, std::to_string(i)), 1) << i;
}

TEST_F(StateStoreTest, FilesArePrivateAndNeverOld) {
  StateStore store({.memory_bytes = 1, .folder = folder()}, workers_);
  step(store, "a");
  ASSERT_EQ(files().size(), 1U);
  struct stat info{};
  EXPECT_EQ(stat(folder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  EXPECT_EQ(stat(files()[0].c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);

  StateStore wide({.memory_bytes = 4000, .folder = folder_ / "wide"}, workers_);
  step(wide, "a");
  step(wide, "b", 1h, 1000);
  EXPECT_EQ(wide.counts().written_out, 2U);
  EXPECT_EQ(step(wide, "a"), 0);
  EXPECT_FALSE(exists(folder_ / "wide" / "9df3c5fab8ef8fe78a408912e52e76477b5bd838eec3cbf48191a848ec8563d3.state"))
      << "the next process must not go on with a state that has been used";
}

TEST_F(StateStoreTest, GoesOnAfterARestart) {
  {
    StateStore store({.memory_bytes = 4000, .folder = folder()}, workers_);
    for (const char* key : {"a", "b", "c"}) step(store, key, 1h, 500);
    step(store, "short", 20ms);
    EXPECT_EQ(message_of([&] { StateStore({.folder = folder()}, workers_); }),
              "cannot keep states in the folder '" + folder() + "': another server uses it");
  }
  EXPECT_EQ(files().size(), 4U);
  folder_.write("states/" + std::string(64, 'a') + ".new", "half a");
  folder_.write("states/" + std::string(64, 'b') + ".state", "FZS");
  std::filesystem::copy(files()[0], folder() + "/" + std::string(64, 'c') + ".state");
  folder_.write("states/notes.txt", "not a state");
  std::this_thread::sleep_for(30ms);
  StateStore store({.folder = folder()}, workers_);
  EXPECT_EQ(files().size(), 3U);
  EXPECT_FALSE(exists(folder_ / ("states/" + std::string(64, 'a') + ".new")));
  EXPECT_TRUE(exists(folder_ / "states/notes.txt"));
  EXPECT_EQ(store.counts().sequences, 3U);
  EXPECT_EQ(look(store, "short"), kNew);
  for (const char* key : {"a", "b", "c"}) EXPECT_EQ(step(store, key), 0) << key;
  EXPECT_TRUE(files().empty());
}

TEST_F(StateStoreTest, DamagedFilesAreRefused) {
  StateStore store({.memory_bytes = 1, .folder = folder()}, workers_);
  step(store, "a");
  const std::string file = files().at(0), good = content_of(file);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    std::ofstream(file, std::ios::binary) << bad;
    EXPECT_THAT(message_of([&] { begin(store, "a"); }), HasSubstr("the sequence's state cannot be read: its ")) << i;
    std::ofstream(file, std::ios::binary) << good.substr(0, i);
    EXPECT_EQ(refusal_of([&] { begin(store, "a"); }), Http::unavailable) << i;
  }
  std::ofstream(file, std::ios::binary) << good;
  EXPECT_EQ(step(store, "a"), 0);
}

TEST_F(StateStoreTest, AFolderThatCannotBeWrittenIsTold) {
  StateStore store({.memory_bytes = 1, .folder = folder()}, workers_);
  step(store, "a");
  // Where a file goes there is a folder, which also root cannot write.
  const std::string name = "states/e02192fd813f38fd4ce376d30d7e2e888d6fdf56f25505e3152304418b90871e";
  std::filesystem::create_directory(folder_ / (name + ".new"));
  step(store, "b");
  EXPECT_EQ(store.counts().written_out, 1U);
  EXPECT_EQ(look(store, "b"), 0) << "it stays in memory";
  EXPECT_EQ(refusal_of([&] { begin(store, "c"); }), Http::unavailable);
  EXPECT_THAT(message_of([&] { begin(store, "c"); }), HasSubstr("cannot be written: Is a directory"));
  std::filesystem::remove(folder_ / (name + ".new"));
  EXPECT_EQ(step(store, "c"), kNew);
  EXPECT_EQ(store.counts().written_out, 3U);
}

TEST_F(StateStoreTest, FoldersThatCannotBeUsedAreNamed) {
  const std::string file = folder_.write("file", "");
  for (const std::string& name : {file, file + "/states", "/dev/null/x"s}) {
    EXPECT_EQ(message_of([&] { StateStore({.folder = name}, workers_); }),
              "cannot keep states in the folder '" + name + "': Not a directory");
  }
  std::filesystem::create_directory(folder());
  std::filesystem::permissions(folder(), std::filesystem::perms::all);
  EXPECT_THAT(message_of([&] { StateStore({.folder = folder()}, workers_); }), HasSubstr("others may write to it"));
  EXPECT_THAT(message_of([&] { StateStore({.folder = folder(), .redis = "localhost:1"}, workers_); }),
              HasSubstr("not in both"));
  StateStore made({.folder = folder_ / "a/b/c/"}, workers_);
  EXPECT_TRUE(exists(folder_ / "a/b/c"));
}

// ---- replies of Redis ----

/// Reads one reply from bytes that come `step` at a time.
RedisReply reply_of(std::string_view bytes, std::size_t step, std::size_t most = 1 << 20) {
  const auto source = [&](char* to, std::size_t space) {
    if (bytes.empty()) throw RedisFault(RedisFault::Kind::broken, "the end");
    const std::size_t count = bytes.copy(to, std::min(step, space));
    bytes.remove_prefix(count);
    return count;
  };
  return RedisReader(source, most, 8).read();
}

TEST(RedisReader, ReadsWhatRedisSends) {
  const std::pair<std::string, std::string> cases[] = {
      {"+OK\r\n", "\"OK\""},
      {"-ERR no\r\n", "!ERR no"},
      {":-12\r\n", "-12"},
      {"$-1\r\n", "nil"},
      {"*-1\r\n", "nil"},
      {"$0\r\n\r\n", "\"\""},
      {"$4\r\n\r\n\r\n\r\n", "\"\r\n\r\n\""},
      {"*0\r\n", "[]"},
      {"*3\r\n:1\r\n*1\r\n$1\r\nx\r\n$-1\r\n", "[1 [\"x\" ] nil ]"},
      {"$200000\r\n" + std::string(200'000, 'y') + "\r\n", '"' + std::string(200'000, 'y') + '"'},
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(text_of(reply_of(bytes, 1)), text);
    EXPECT_EQ(text_of(reply_of(bytes, 1 << 20)), text);
    EXPECT_THROW(reply_of(bytes.substr(0, bytes.size() - 1), 7), RedisFault);
  }
}

TEST(RedisReader, RefusesWhatIsNoReply) {
  const std::string list = "*1\r\n", lists = list + list + list, deep = lists + lists + lists;
  for (const std::string& bytes :
       {"HTTP/1.1 400 Bad Request\r\n"s, "\r\n"s, "%1\r\n"s, ":\r\n"s, ":1x\r\n"s, ":99999999999999999999\r\n"s,
        "$-2\r\n"s, "*-2\r\n"s, "$1\r\nab\r\n"s, "$2\r\nab\rx"s, "+a\rb\r\n"s, deep, "+" + std::string(100'000, 'a'),
        "$1048577\r\n"s, "$9000000000000000000\r\n"s, "*2000000000\r\n" + std::string(100'000, '*')}) {
    try {
      reply_of(bytes, 1 << 20);
      ADD_FAILURE() << bytes.substr(0, 40);
    } catch (const RedisFault& fault) {
      EXPECT_EQ(fault.kind(), RedisFault::Kind::wrong) << fault.what();
    }
  }
}

TEST(RedisReader, TakesNoMemoryForWhatIsOnlyAnnounced) {
  EXPECT_THROW(reply_of("$500000000\r\nabc", 100, 1 << 29), RedisFault);
  EXPECT_THROW(reply_of("*500000000\r\n:1\r\n", 100, 1 << 29), RedisFault);
  std::string many = "*100000\r\n";
  for (int i = 0; i < 100'000; ++i) many += ":1\r\n";
  EXPECT_THAT(message_of([&] { reply_of(many, 1 << 20); }), HasSubstr("too large"))
      << "small items count as they are held";
}

TEST(RedisClient, WantsAnAddress) {
  for (const char* address : {"", "host", "host:", ":1", "host:0", "host:65536", "host:1x", "host:-1"}) {
    EXPECT_THROW(Redis{address}, api::Error) << address;
  }
  for (const char* address : {"host:1", "127.0.0.1:65535", "[::1]:6379"}) EXPECT_NO_THROW(Redis{address}) << address;
}

// ---- a server that is none ----

/// Answers the n-th request of all its connections with the n-th text, and more with the last one; an empty text:
/// closes the connection; "wait": does not answer.
class FakeRedis {
 public:
  explicit FakeRedis(std::vector<std::string> answers) : answers_(std::move(answers)) {
    listener_ = listen_at_any(port_);
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  ~FakeRedis() {
    thread_.request_stop();
    thread_.join();
    ::close(listener_);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int connections() const { return connections_; }

 private:
  void serve(const std::stop_token& stop) {
    std::vector<pollfd> all{{.fd = listener_, .events = POLLIN, .revents = 0}};
    while (!stop.stop_requested()) {
      ::poll(all.data(), all.size(), 10);
      if (all[0].revents != 0) {
        all.push_back({.fd = ::accept(listener_, nullptr, nullptr), .events = POLLIN, .revents = 0});
        ++connections_;
      }
      for (std::size_t i = 1; i < all.size(); ++i) {
        if (all[i].revents != 0 && !answer(all[i].fd)) all[i].fd = -1;
      }
    }
    for (std::size_t i = 1; i < all.size(); ++i) ::close(all[i].fd);
  }

  bool answer(int fd) {
    char request[4096];
    const ssize_t got = ::recv(fd, request, sizeof request, 0);
    const std::string& text = answers_[std::min(asked_, answers_.size() - 1)];
    if (got > 0) ++asked_;
    if (got > 0 && text == "wait") return true;
    if (got > 0 && !text.empty() && ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) > 0) return true;
    ::close(fd);
    return false;
  }

  std::vector<std::string> answers_;
  std::size_t asked_ = 0;
  std::atomic<int> connections_ = 0;
  unsigned short port_ = 0;
  int listener_ = -1;
  std::jthread thread_;
};

TEST(RedisClient, ConnectsAgainOnce) {
  FakeRedis ends_once({"+1\r\n", "", "+2\r\n"});
  Redis redis(ends_once.address());
  EXPECT_EQ(redis.run({"A"}).text, "1");
  EXPECT_EQ(redis.run({"B"}).text, "2");
  EXPECT_EQ(ends_once.connections(), 2);

  FakeRedis ends_always({""});
  Redis no(ends_always.address());
  EXPECT_EQ(message_of([&] { no.run({"A"}); }), "Redis has closed the connection");
  EXPECT_EQ(ends_always.connections(), 2);
}

TEST(RedisClient, WaitsNoLongerThanItMay) {
  FakeRedis silent({"wait"});
  Redis redis(silent.address(), {.answer = 50ms, .pause = 100ms});
  EXPECT_EQ(message_of([&] { redis.run({"A"}); }), "Redis does not answer in time");
  EXPECT_EQ(message_of([&] { redis.run({"A"}); }), "Redis did not answer in time a moment ago");
  std::this_thread::sleep_for(110ms);
  EXPECT_EQ(message_of([&] { redis.run({"A"}); }), "Redis does not answer in time");

  FakeRedis half({"$5\r\nab"});
  EXPECT_EQ(message_of([&] { Redis(half.address(), {.answer = 50ms}).run({"A"}); }), "Redis does not answer in time");
}

TEST(RedisClient, DropsAConnectionThatSaysTooMuch) {
  FakeRedis talks({"+1\r\n+2\r\n", "+3\r\n"});
  Redis redis(talks.address());
  EXPECT_EQ(message_of([&] { redis.run({"A"}); }), "Redis sent more replies than requested");
  EXPECT_EQ(redis.run({"A"}).text, "3");
  EXPECT_EQ(talks.connections(), 2);
}

TEST_F(StateStoreTest, GarbageFromRedisIsRefused) {
  for (const char* garbage : {"SSH-2.0-OpenSSH_9.2\r\n", ":7\r\n", "*1\r\n:1\r\n", "-LOADING a while\r\n",
                              "$7\r\ngarbage\r\n", "$999999999999\r\n", ""}) {
    FakeRedis fake({"+PONG\r\n", garbage});
    StateStore store({.redis = fake.address()}, workers_);
    EXPECT_EQ(refusal_of([&] { begin(store, "a"); }), Http::unavailable) << garbage;
    EXPECT_THAT(message_of([&] { begin(store, "a"); }), HasSubstr("the sequence's state cannot be read: ")) << garbage;
    EXPECT_EQ(store.counts().sequences, 0U);

    FakeRedis other({"+PONG\r\n", "$-1\r\n", garbage});
    StateStore writes({.redis = other.address()}, workers_);
    EXPECT_EQ(refusal_of([&] { step(writes, "a"); }), Http::unavailable) << garbage;

    FakeRedis none({garbage});
    const bool passes = std::string_view(garbage).empty() || std::string_view(garbage).starts_with("-LOADING");
    EXPECT_THAT(message_of([&] { StateStore({.redis = none.address()}, workers_); }),
                HasSubstr(passes ? "" : "cannot keep states in Redis at " + none.address() + ": "));
    if (passes) EXPECT_NO_THROW(StateStore({.redis = none.address()}, workers_)) << garbage;
  }
}

}  // namespace
}  // namespace frazil::test
