// States that grow in their store: as pages, which sequences share.
#include <csignal>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include <frazil/session.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/os/sanitizers.h"
#include "error/tool.h"
#include "server/net/redis.h"
#include "server/redis_process.h"
#include "server/same_arrays.h"
#include "server/state/growth.h"
#include "server/state/state_bytes.h"
#include "server/state/state_store.h"

namespace frazil::test {
namespace {

using std::literals::operator""h;
using std::literals::operator""ms;
using std::literals::operator""s;
using api::Array;
using server::Growing;
using server::Http;
using server::PagePool;
using server::PagePtr;
using server::Redis;
using server::Refusal;
using server::State;
using server::StateConfig;
using server::StateStore;
using server::Workers;
using testing::ElementsAre;
using testing::HasSubstr;
using Values = State::Values;

// ---- a cache ----

/// A model that keeps keys of what it was told: the next turn's state is this one's, and something behind it.
constexpr const char* kCache = R"(
graph cache(%keys: f32[1,2,P,8], %told: i64[P], %new_keys: f32[1,2,S,8], %new_told: i64[S]) {
  %k = Concat(%keys, %new_keys) {axis = 2}
  %t = Concat(%told, %new_told) {axis = 0}
  return k = %k, t = %t
})";
using Told = std::vector<std::int64_t>;

const std::shared_ptr<const Growing> kGrowing = std::make_shared<const Growing>(Growing{{0, 2, 0}, {1, 0, 0}});

Array keys_of(const Told& told) {
  Array keys(api::Dtype::f32, {1, 2, static_cast<std::int64_t>(told.size()), 8});
  float* to = told.empty() ? nullptr : keys.mutable_values<float>().data();
  for (int head = 0; head < 2; ++head) {
    for (const std::int64_t what : told) {
      for (int i = 0; i < 8; ++i) *to++ = static_cast<float>(what * 16 + head * 8 + i);
    }
  }
  return keys;
}

Array told_array(const Told& told) {
  return Array::of<std::int64_t>({static_cast<std::int64_t>(told.size())}, std::span<const std::int64_t>(told));
}

/// What was told, after a look at whether the keys are of that.
Told told_in(const State& state) {
  const Array told = *state.value("told");
  const auto all = told.values<std::int64_t>();
  Told list(all.begin(), all.end());
  EXPECT_TRUE(same(*state.value("keys"), keys_of(list))) << "of " << list.size() << " positions";
  EXPECT_EQ(state.value("count")->item<std::int64_t>(), std::ssize(list));
  return list;
}

/// Sessions as servers have them: results continue the memory of what they were made of, where they can.
class Teller {
 public:
  Values tell(const State::Ptr& state, const Told& more) {
    const Told none;
    const Array keys = state == nullptr ? keys_of(none) : *state->value("keys");
    const Array told = state == nullptr ? told_array(none) : *state->value("told");
    const api::Results results = session_.run(std::vector<Array>{keys, told, keys_of(more), told_array(more)});
    return {{"keys", results[0]}, {"told", results[1]}, {"count", Array::scalar(results[1].count())}};
  }

 private:
  api::Session session_ = api::Model::from_text(kCache).open({.tier = "0", .threads = 1});
};

State::Ptr begin_turn(StateStore& store, const std::string& key) {
  const auto got = std::make_shared<std::promise<State::Ptr>>();
  store.begin(key, [got](State::Ptr state) { got->set_value(std::move(state)); });
  std::future<State::Ptr> turn = got->get_future();
  if (turn.wait_for(60s) != std::future_status::ready) throw std::runtime_error("the turn of " + key + " never comes");
  return turn.get();
}

State::Ptr look_at(StateStore& store, const std::string& key) {
  State::Ptr state = begin_turn(store, key);
  store.abandon(key);
  return state;
}

Told what_of(StateStore& store, const std::string& key) {
  const State::Ptr state = look_at(store, key);
  return state == nullptr ? Told{-1} : told_in(*state);
}

void tell(StateStore& store, Teller& teller, const std::string& key, const Told& more,
          std::chrono::microseconds idle = 1h) {
  const State::Ptr state = begin_turn(store, key);
  if (state != nullptr) told_in(*state);
  store.end(key, teller.tell(state, more), idle, kGrowing);
}

Told range(std::int64_t first, std::int64_t count) {
  Told told;
  for (std::int64_t i = 0; i < count; ++i) told.push_back(first + i);
  return told;
}

Told operator+(Told a, const Told& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// A position has 72 bytes; a page 8 of them.
constexpr std::uint64_t kPage = 576;

class StatePagesTest : public testing::Test {
 protected:
  std::string folder() const { return folder_ / "states"; }
  StateConfig in_folder(std::uint64_t memory) const {
    return {.memory_bytes = memory, .folder = folder(), .page_bytes = kPage};
  }
  /// The files of a kind, with the numbers that tell whether they are the same ones later on.
  std::map<std::string, ino_t> files(const std::string& ending) const {
    std::map<std::string, ino_t> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      struct stat info{};
      if (entry.path().extension() == ending && ::stat(entry.path().c_str(), &info) == 0) {
        names.emplace(entry.path(), info.st_ino);
      }
    }
    return names;
  }

  TempFolder folder_;
  Workers workers_{3};
  Teller teller_;
};

TEST_F(StatePagesTest, WhileThereIsMemoryTheNextTurnGetsWhatTheLastOneLeft) {
  StateStore store({.page_bytes = kPage}, workers_);
  Told told;
  const void* at = nullptr;
  for (int turn = 0; turn < 40; ++turn) {
    tell(store, teller_, "a", range(turn, 1));
    told = told + range(turn, 1);
    ASSERT_EQ(what_of(store, "a"), told);
    const void* const now = look_at(store, "a")->value("keys")->layout().data;
    if (turn > 36) {
      EXPECT_EQ(now, at) << "it grows where it is";
    }
    at = now;
  }
  EXPECT_EQ(store.counts().pages, 0U);
}

TEST_F(StatePagesTest, SequencesShareEqualPages) {
  StateStore store(in_folder(200'000), workers_);
  const Told prefix = range(0, 200);
  const auto key = [](int i) { return "s" + std::to_string(i); };
  for (int i = 0; i < 50; ++i) tell(store, teller_, key(i), prefix);
  for (int i = 0; i < 50; ++i) tell(store, teller_, key(i), range(1000 * i, 10));
  const StateStore::Counts counts = store.counts();
  EXPECT_LE(counts.bytes, 200'000U);
  EXPECT_GT(counts.page_hits, 25U * 20U);
  EXPECT_GE(counts.shared_pages, 25U);
  EXPECT_GE(counts.saved_bytes, 25 * kPage * 20U);
  EXPECT_LE(counts.written_out, 30U) << "in memory they would take 50 times 15 KB";
  for (int i = 0; i < 50; ++i) EXPECT_EQ(what_of(store, key(i)), prefix + range(1000 * i, 10)) << i;
  for (int i = 0; i < 50; ++i) {
    begin_turn(store, key(i));
    store.end(key(i), {}, 1h);
  }
  std::this_thread::sleep_for(1100ms);
  look_at(store, "last");
  EXPECT_EQ(store.counts().pages, 0U);
  EXPECT_EQ(store.counts().shared_pages, 0U);
  EXPECT_EQ(store.counts().saved_bytes, 0U);
  EXPECT_EQ(store.counts().bytes, 0U);
  EXPECT_EQ(files(".state").size(), 0U);
  EXPECT_EQ(files(".page").size(), 0U);
}

TEST_F(StatePagesTest, AForkHasTheStateOfThatTime) {
  for (const std::uint64_t memory : {1'000'000U, 1U}) {
    StateStore store(in_folder(memory), workers_);
    tell(store, teller_, "parent", range(0, 100));
    std::promise<State::Ptr> got;
    store.look("parent", [&](State::Ptr state) { got.set_value(std::move(state)); });
    const State::Ptr parent = got.get_future().get();
    tell(store, teller_, "parent", range(500, 5));
    for (const char* child : {"one", "other"}) {
      begin_turn(store, child);
      store.end(child, teller_.tell(parent, range(child[0], 7)), 1h, kGrowing);
    }
    EXPECT_EQ(what_of(store, "parent"), range(0, 100) + range(500, 5));
    EXPECT_EQ(what_of(store, "one"), range(0, 100) + range('o', 7));
    EXPECT_EQ(what_of(store, "other"), range(0, 100) + range('o', 7));
    if (memory == 1) {
      EXPECT_EQ(files(".page").size(), 12U + 2U) << "those that all have, and one of each way";
    }
    for (const char* key : {"parent", "one", "other"}) {
      begin_turn(store, key);
      store.end(key, {}, 1h);
    }
  }
}

TEST_F(StatePagesTest, LookWaitsForTurnsAndHoldsUpNone) {
  StateStore store({.page_bytes = kPage}, workers_);
  tell(store, teller_, "a", {1});
  const State::Ptr state = begin_turn(store, "a");
  std::promise<Told> seen;
  store.look("a", [&](const State::Ptr& found) { seen.set_value(told_in(*found)); });
  store.end("a", teller_.tell(state, {2}), 1h, kGrowing);
  EXPECT_THAT(seen.get_future().get(), ElementsAre(1, 2));
  tell(store, teller_, "a", {3});
  std::promise<bool> known;
  store.look("nobody", [&](const State::Ptr& found) { known.set_value(found != nullptr); });
  EXPECT_FALSE(known.get_future().get());
  EXPECT_EQ(store.counts().sequences, 1U);
}

// ---- the folder ----

TEST_F(StatePagesTest, OnlyNewPagesAreWritten) {
  StateStore store(in_folder(1), workers_);
  tell(store, teller_, "a", range(0, 100));
  const auto first = files(".page");
  EXPECT_EQ(first.size(), 12U);
  tell(store, teller_, "a", range(100, 8));
  const auto second = files(".page");
  EXPECT_EQ(second.size(), 13U);
  for (const auto& [name, number] : first) EXPECT_EQ(second.at(name), number) << "written again: " << name;
  tell(store, teller_, "b", range(0, 100));
  EXPECT_EQ(files(".page").size(), 13U) << "both have them";
  begin_turn(store, "a");
  store.end("a", {}, 1h);
  tell(store, teller_, "other", {1});
  EXPECT_EQ(files(".page").size(), 12U) << "b needs the others";
  EXPECT_EQ(what_of(store, "b"), range(0, 100));
}

TEST_F(StatePagesTest, GoOnAfterARestart) {
  {
    StateStore store(in_folder(1'000'000), workers_);
    for (const char* key : {"a", "b"}) tell(store, teller_, key, range(key[0], 50));
    tell(store, teller_, "short", range(7, 50), 20ms);
  }
  EXPECT_EQ(files(".page").size(), 18U);
  folder_.write("states/" + std::string(64, 'a') + ".page", "of nobody");
  folder_.write("states/" + std::string(64, 'b') + "-7.new", "half a page");
  std::this_thread::sleep_for(30ms);
  {
    StateStore store(in_folder(1'000'000), workers_);
    EXPECT_EQ(files(".page").size(), 12U);
    EXPECT_TRUE(files(".new").empty());
    EXPECT_EQ(what_of(store, "short"), Told{-1});
    EXPECT_EQ(what_of(store, "a"), range('a', 50));
    tell(store, teller_, "b", {1});
  }
  std::filesystem::remove(files(".page").begin()->first);
  StateStore store(in_folder(1'000'000), workers_);
  EXPECT_EQ(store.counts().sequences, 1U) << "of a state that lacks a page nothing is left";
}

TEST_F(StatePagesTest, DamagedPagesAreRefused) {
  StateStore store(in_folder(1), workers_);
  tell(store, teller_, "a", range(0, 20));
  const std::string file = files(".page").begin()->first, good = content_of(file);
  const auto why = [&] {
    try {
      begin_turn(store, "a");
      return "nothing"s;
    } catch (const Refusal& refusal) {
      EXPECT_EQ(refusal.status(), Http::unavailable);
      return std::string(refusal.what());
    }
  };
  std::string bad = good;
  bad[5] = static_cast<char>(bad[5] ^ 1);
  std::ofstream(file, std::ios::binary) << bad;
  EXPECT_EQ(why(), "the sequence's state cannot be read: one of its pages is damaged");
  std::ofstream(file, std::ios::binary) << good.substr(0, 100);
  EXPECT_EQ(why(), "the sequence's state cannot be read: one of its pages is damaged");
  std::filesystem::remove(file);
  EXPECT_EQ(why(), "the sequence's state cannot be read: one of its pages is not there");
  std::ofstream(file, std::ios::binary) << good;
  EXPECT_EQ(what_of(store, "a"), range(0, 20));
}

TEST_F(StatePagesTest, DamagedStatesAreRefused) {
  StateStore store(in_folder(1), workers_);
  tell(store, teller_, "a", range(0, 20));
  const std::string file = files(".state").begin()->first, good = content_of(file);
  for (std::size_t i = 0; i < good.size(); i += 3) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    std::ofstream(file, std::ios::binary) << bad;
    EXPECT_THROW(begin_turn(store, "a"), Refusal) << i;
    std::ofstream(file, std::ios::binary) << good.substr(0, i);
    EXPECT_THROW(begin_turn(store, "a"), Refusal) << i;
  }
  std::ofstream(file, std::ios::binary) << good;
  EXPECT_EQ(what_of(store, "a"), range(0, 20));
}

/// What a version without pages has written is read, and what it cannot read it tells.
TEST_F(StatePagesTest, StatesOfOtherVersionsAreRead) {
  for (const bool pages_last : {true, false}) {
    StateConfig first = in_folder(1'000'000), last = first;
    (pages_last ? first : last).page_bytes = 0;
    {
      StateStore store(first, workers_);
      tell(store, teller_, "a", range(0, 30));
    }
    EXPECT_EQ(files(".page").empty(), pages_last);
    {
      StateStore store(last, workers_);
      tell(store, teller_, "a", range(30, 10));
    }
    EXPECT_EQ(files(".page").size(), pages_last ? 5U : 0U);
    StateStore store(in_folder(1'000'000), workers_);
    EXPECT_EQ(what_of(store, "a"), range(0, 40));
    begin_turn(store, "a");
    store.end("a", {}, 1h);
  }
}

TEST(PagedState, IsReadInBoundsWhateverItSays) {
  PagePool pool;
  const Values values{{"keys", keys_of(range(0, 20))}, {"told", told_array(range(0, 20))}, {"x", Array::scalar(1.5F)}};
  const State::Options how{.pool = pool, .page_bytes = kPage, .pages_at_once = true};
  const State::Ptr state = State::after(nullptr, values, kGrowing, how);
  const std::string good = *state->kept_bytes();
  server::check_state(good);
  EXPECT_EQ(state->pages().size(), 2U);
  std::size_t refused = 0;
  for (std::size_t i = server::kStateHead; i < good.size(); ++i) {
    EXPECT_THROW(server::check_state(good.substr(0, i)), server::StateFault);
    for (const char byte : {'\0', '\1', '\2', '\3', '\b', '\x7f', '\xff'}) {
      std::string bad = good;
      bad[i] = byte;
      try {
        const auto bytes = std::make_shared<const std::string>(bad);
        const auto page = [&](const server::PageId& id) {
          PagePtr found = pool.find(id);
          return found == nullptr ? state->pages()[0] : found;
        };
        (void)State::read(bytes, server::content_of_state(bytes), page)->values();
      } catch (const server::StateFault&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 300U);
}

// ---- a server that is killed ----

/// Steps and spills until it is killed. Each turn of a sequence tells the next number.
[[noreturn]] void spill_for_ever(const StateConfig& config, unsigned seed) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Workers workers(2);
  StateStore store(config, workers);
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&store, seed, t] {
      Teller teller;
      std::mt19937 random(seed * 2 + t);
      for (;;) {
        const std::string key = "k" + std::to_string(random() % 6);
        const State::Ptr state = begin_turn(store, key);
        const auto next = state == nullptr ? 0 : static_cast<std::int64_t>(told_in(*state).size());
        store.end(key, teller.tell(state, range(next, static_cast<std::int64_t>(random() % 12))), 1h, kGrowing);
      }
    });
  }
  threads.clear();
  std::abort();
}

/// Until a file has come into a folder or has left it; at most a minute.
void wait_for_change(const std::filesystem::path& folder) {
  const auto time_of = [&] {
    std::error_code none;
    return std::filesystem::last_write_time(folder, none);
  };
  const auto before = time_of();
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (time_of() == before && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(StatePagesKilled, WhatIsLeftIsWholeOrNotThere) {
#if FRAZIL_TSAN
  GTEST_SKIP() << "the thread sanitizer has no threads behind a fork";
#endif
  const TempFolder folder;
  const StateConfig config{.memory_bytes = 4000, .folder = folder / "states", .page_bytes = kPage};
  std::mt19937 random(5);
  std::uint64_t found = 0;
  for (unsigned round = 0; round < 25; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) spill_for_ever(config, round);
    wait_for_change(config.folder);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
    ::kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    Workers workers(1);
    StateStore store(config, workers);
    found += store.counts().sequences;
    std::set<std::string> needed;
    for (int k = 0; k < 6; ++k) {
      const State::Ptr state = look_at(store, "k" + std::to_string(k));
      if (state == nullptr) continue;
      const Told told = told_in(*state);
      EXPECT_EQ(told, range(0, static_cast<std::int64_t>(told.size())));
      for (const PagePtr& page : state->pages()) needed.insert(server::hex_of(page->id()) + ".page");
    }
    for (const auto& entry : std::filesystem::directory_iterator(config.folder)) {
      const std::string name = entry.path().filename();
      EXPECT_FALSE(name.ends_with(".new")) << name;
      if (name.ends_with(".page")) {
        EXPECT_TRUE(needed.contains(name)) << name << " is of nobody";
      }
    }
  }
  EXPECT_GT(found, 25U);
}

// ---- Redis ----

class RedisPagesTest : public StatePagesTest {
 protected:
  void SetUp() override {
    if (!RedisProcess::installed()) GTEST_SKIP() << "redis-server is not installed";
    redis_.emplace();
  }
  StateConfig config() const { return {.redis = redis_->address(), .page_bytes = kPage}; }
  std::vector<std::string> pages() const {
    std::vector<std::string> keys;
    for (const auto& item : Redis(redis_->address()).run({"KEYS", "frazil:page:*"}).items) keys.push_back(item.text);
    return keys;
  }
  /// Bytes that Redis was sent.
  std::uint64_t sent() const {
    const std::string info = Redis(redis_->address()).run({"INFO", "stats"}).text;
    return std::stoull(info.substr(info.find("total_net_input_bytes:") + 22));
  }

  std::optional<RedisProcess> redis_;
};

TEST_F(RedisPagesTest, AReplicaGoesOnAndOnlyNewPagesTravel) {
  StateStore one(config(), workers_), other(config(), workers_);
  tell(one, teller_, "a", range(0, 2000));
  EXPECT_EQ(pages().size(), 250U);
  std::uint64_t before = sent();
  tell(other, teller_, "a", range(2000, 8));
  EXPECT_EQ(pages().size(), 251U);
  EXPECT_LT(sent() - before, 80'000U) << "of 144 KB: names of 250 pages, four times, and one page";
  EXPECT_EQ(what_of(one, "a"), range(0, 2008));
  before = sent();
  for (int i = 0; i < 4; ++i) tell(one, teller_, "a", range(2008 + i, 1));
  EXPECT_LT(sent() - before, 4 * 22'000U) << "names of 251 pages each time, and the last page";
  EXPECT_EQ(what_of(other, "a"), range(0, 2012));
  tell(other, teller_, "b", range(0, 2000));
  EXPECT_EQ(pages().size(), 251U) << "a fork or an equal prefix";
  EXPECT_EQ(what_of(one, "b"), range(0, 2000));
  EXPECT_EQ(one.counts().shared_pages, 250U);
}

TEST_F(RedisPagesTest, PagesLastLongerThanTheStatesThatHaveThem) {
  StateStore one(config(), workers_), other(config(), workers_);
  Redis redis(redis_->address());
  const auto least = [&] {
    std::int64_t time = std::numeric_limits<std::int64_t>::max();
    for (const std::string& key : pages()) time = std::min(time, redis.run({"PTTL", key}).integer);
    return time;
  };
  tell(one, teller_, "a", range(0, 100), 10s);
  EXPECT_GT(least(), redis.run({"PTTL", "frazil:state:0:a"}).integer + 50'000);
  tell(other, teller_, "b", range(0, 100), 1h);
  EXPECT_GT(least(), redis.run({"PTTL", "frazil:state:0:b"}).integer) << "which the other replica wrote for less time";
  tell(one, teller_, "a", range(100, 1), 10s);
  EXPECT_GT(least(), 3'600'000) << "never less";
}

TEST_F(RedisPagesTest, PagesThatRedisHasLostAreWrittenAgain) {
  StateStore one(config(), workers_), other(config(), workers_);
  tell(one, teller_, "a", range(0, 100));
  Redis redis(redis_->address());
  const std::string lost = pages().front();
  redis.run({"DEL", lost});
  tell(one, teller_, "a", range(100, 1));
  EXPECT_EQ(redis.run({"EXISTS", lost}).integer, 1);
  EXPECT_EQ(what_of(other, "a"), range(0, 101));

  redis.run({"DEL", lost});
  StateStore third(config(), workers_);
  EXPECT_EQ(what_of(third, "a"), Told{-1}) << "it is not known any more";
  EXPECT_EQ(what_of(other, "a"), range(0, 101)) << "who has it goes on";

  std::string bad = redis.run({"GET", pages().front()}).text;
  bad[7] = static_cast<char>(bad[7] ^ 1);
  redis.run({"SET", pages().front(), bad});
  tell(one, teller_, "a", {1});
  EXPECT_THROW(look_at(third, "a"), Refusal);
}

TEST_F(RedisPagesTest, TheOldStateStaysWhereThePagesCannotBeWritten) {
  StateStore store(config(), workers_);
  tell(store, teller_, "a", range(0, 100));
  const State::Ptr state = begin_turn(store, "a");
  redis_->kill();
  EXPECT_THROW(store.end("a", teller_.tell(state, range(100, 50)), 1h, kGrowing), Refusal);
  redis_->start();
  EXPECT_EQ(what_of(store, "a"), range(0, 100));
  tell(store, teller_, "a", range(100, 60));
  StateStore other(config(), workers_);
  EXPECT_EQ(what_of(other, "a"), range(0, 160));
}

// ---- everything at once ----

/// Sequences that several threads tell, fork and end at random, beside a list of what they were told.
class Anything {
 public:
  Anything(StateStore& store, unsigned threads, int turns) : store_(store) {
    {
      std::vector<std::jthread> all;
      for (unsigned t = 0; t < threads; ++t) all.emplace_back([this, t, turns] { work(t, turns); });
    }
    for (int k = 0; k < kKeys; ++k) {
      compare(name(k), begin_turn(store_, name(k)));
      store_.abandon(name(k));
    }
  }

 private:
  static constexpr int kKeys = 12;
  static constexpr std::size_t kMaxLength = 400;
  static bool is_short(const std::string& key) { return key.starts_with("short"); }
  static std::string name(unsigned k) { return (k % 4 == 3 ? "short" : "long") + std::to_string(k); }

  void work(unsigned seed, int turns) {
    Teller teller;
    std::mt19937 random(seed);
    for (int i = 0; i < turns; ++i) {
      const std::string key = name(random() % kKeys), parent = name(random() % kKeys);
      const Told more = range(static_cast<std::int64_t>(random() % 3), static_cast<std::int64_t>(random() % 40));
      try {
        step(teller, random() % 16, key, parent, more);
      } catch (const Refusal& refusal) {
        EXPECT_EQ(refusal.status(), Http::too_many) << refusal.what();
      }
    }
  }

  void step(Teller& teller, unsigned what, const std::string& key, const std::string& parent, const Told& more) {
    const State::Ptr other = what == 0 ? look_at(store_, parent) : nullptr;
    const State::Ptr state = begin_turn(store_, key);
    compare(key, state);
    if (what == 1) return store_.abandon(key);
    if (what == 2) return end(key, {}, {});
    const State::Ptr from = what == 0 ? other : what == 3 ? nullptr : state;
    const Told told = from == nullptr ? Told() : told_in(*from);
    const bool longer = told.size() < kMaxLength;
    end(key, teller.tell(longer ? from : nullptr, more), (longer ? told : Told()) + more);
  }

  /// In a turn of the sequence: no other one changes what is known of it.
  void compare(const std::string& key, const State::Ptr& state) {
    const std::scoped_lock lock(mutex_);
    const auto at = told_.find(key);
    if (state == nullptr) {
      EXPECT_TRUE(at == told_.end() || is_short(key)) << key << " is lost";
    } else {
      EXPECT_TRUE(at != told_.end() && told_in(*state) == at->second) << key;
    }
  }
  void end(const std::string& key, std::optional<Values> next, Told told) {
    {
      const std::scoped_lock lock(mutex_);
      next ? void(told_[key] = std::move(told)) : void(told_.erase(key));
    }
    store_.end(key, next, is_short(key) ? 2ms : 1h, kGrowing);
  }

  StateStore& store_;
  std::mutex mutex_;
  std::map<std::string, Told> told_;
};

TEST_F(StatePagesTest, ThreadsTellForkSpillAndForget) {
  for (const std::uint64_t page_bytes : {std::uint64_t{0}, std::uint64_t{1}, kPage, std::uint64_t{1} << 20U}) {
    StateStore memory({.memory_bytes = 400'000, .page_bytes = page_bytes}, workers_);
    Anything(memory, 4, 400);
    const std::string name = folder_ / ("states" + std::to_string(page_bytes));
    StateStore small({.memory_bytes = 100'000, .folder = name, .page_bytes = page_bytes}, workers_);
    Anything(small, 4, 250);
    if (page_bytes == 1) continue;  // all share most of their positions, and nothing needs to be written
    EXPECT_GT(small.counts().written_out, 0U) << page_bytes;
    EXPECT_GT(small.counts().read_back, 0U) << page_bytes;
    if (page_bytes == kPage) {
      EXPECT_GT(small.counts().page_hits, 0U);
    }
  }
}

TEST_F(RedisPagesTest, ThreadsTellForkAndForget) {
  for (const std::uint64_t page_bytes : {std::uint64_t{0}, kPage}) {
    StateConfig small = config();
    small.memory_bytes = 100'000;
    small.page_bytes = page_bytes;
    small.redis_prefix = std::to_string(page_bytes) + ":";
    StateStore store(small, workers_);
    Anything(store, 4, 150);
    EXPECT_GT(store.counts().read_back, 10U);
  }
}

}  // namespace
}  // namespace frazil::test
