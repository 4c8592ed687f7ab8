// What the state of sequences costs that grow: turns with whole tensors and with pages, and the memory of equal
// prefixes.
//
//     serve_state [REDIS]
//
// REDIS is HOST:PORT of a Redis that may be filled.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <frazil/model.h>
#include <frazil/session.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/state/state_store.h"

namespace {

using namespace std::chrono_literals;
using frazil::api::Array;
using frazil::api::Dtype;
using frazil::server::Growing;
using frazil::server::State;
using frazil::server::StateConfig;
using frazil::server::StateStore;
using frazil::server::Workers;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kHeads = 12, kWidth = 64;

/// Keys and values of each layer, to which a turn adds some positions.
class Cache {
 public:
  explicit Cache(int layers) : count_(2 * layers), session_(model(count_).open({.tier = "0", .threads = 1})) {
    Growing growing;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) growing.push_back({.value = i, .axis = 2});
    growing_ = std::make_shared<const Growing>(std::move(growing));
  }

  const std::shared_ptr<const Growing>& growing() const { return growing_; }
  /// What a run gets of a state: this is where pages are put together.
  std::vector<Array> inputs(const State::Ptr& state) const {
    std::vector<Array> inputs;
    for (int i = 0; i < count_; ++i) {
      inputs.push_back(state == nullptr ? Array(Dtype::f32, {1, kHeads, 0, kWidth}) : *state->value(name(i)));
    }
    return inputs;
  }
  State::Values run(std::vector<Array> inputs, std::int64_t positions, std::uint64_t seed) {
    for (int i = 0; i < count_; ++i) inputs.push_back(noise(positions, seed * 100 + static_cast<std::uint64_t>(i)));
    const auto results = session_.run(inputs);
    State::Values values;
    for (int i = 0; i < count_; ++i) values.emplace_back(name(i), results[static_cast<std::size_t>(i)]);
    return values;
  }

 private:
  static std::string name(int i) { return "k" + std::to_string(i); }
  static frazil::api::Model model(int count) {
    const std::string dims = ": f32[1," + std::to_string(kHeads) + ",";
    std::string inputs, news, body, results;
    for (int i = 0; i < count; ++i) {
      const char* const comma = i == 0 ? "" : ", ";
      inputs += fmt::format("{}%p{}{}P,64]", comma, i, dims);
      news += fmt::format(", %n{}{}S,64]", i, dims);
      body += fmt::format("%k{0} = Concat(%p{0}, %n{0}) {{axis = 2}}\n", i);
      results += fmt::format("{}k{} = %k{}", comma, i, i);
    }
    return frazil::api::Model::from_text("graph g(" + inputs + news + ") {\n" + body + "return " + results + "\n}");
  }
  static Array noise(std::int64_t positions, std::uint64_t seed) {
    Array array(Dtype::f32, {1, kHeads, positions, kWidth});
    std::minstd_rand random(static_cast<unsigned>(seed + 1));
    for (float& value : array.mutable_values<float>()) value = static_cast<float>(random());
    return array;
  }

  int count_;
  frazil::api::Session session_;
  std::shared_ptr<const Growing> growing_;
};

State::Ptr begin(StateStore& store, const std::string& key) {
  std::promise<State::Ptr> got;
  store.begin(key, [&](State::Ptr state) { got.set_value(std::move(state)); });
  return got.get_future().get();
}

double microseconds_since(Clock::time_point begun) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
}

double median(std::vector<double>& values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

struct Cost {
  double begin, run, end;  // microseconds
};

/// Turns that add a position, from about `length` on.
Cost turns(StateStore& store, Cache& cache, std::int64_t length, int count) {
  std::vector<double> begins, runs, ends;
  for (int i = -8; i < count; ++i) {
    const auto begun = Clock::now();
    const State::Ptr state = begin(store, "a");
    std::vector<Array> inputs = cache.inputs(state);
    const double begin_us = microseconds_since(begun);
    const auto running = Clock::now();
    const State::Values next =
        cache.run(std::move(inputs), state == nullptr ? length : 1, static_cast<std::uint64_t>(i) + 8);
    const double run_us = microseconds_since(running);
    const auto ending = Clock::now();
    store.end("a", next, 1h, cache.growing());
    if (i < 0) continue;
    begins.push_back(begin_us);
    runs.push_back(run_us);
    ends.push_back(microseconds_since(ending));
  }
  begin(store, "a");
  store.end("a", {}, 1h);
  return {median(begins), median(runs), median(ends)};
}

double resident_mb() {
  std::ifstream statm("/proc/self/statm");
  double all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) * 1e-6;
}

void print_turns(const char* way, const StateConfig& config, Workers& workers, int layers) {
  Cache cache(layers);
  StateStore store(config, workers);
  for (const std::int64_t length : {16, 64, 256, 1024}) {
    const Cost cost = turns(store, cache, length, length * layers > 3000 ? 30 : 100);
    std::printf("turn  %-22s page %6llu  layers %2d  length %4lld  begin %9.1f  run %9.1f  end %9.1f us\n", way,
                static_cast<unsigned long long>(config.page_bytes), layers, static_cast<long long>(length), cost.begin,
                cost.run, cost.end);
    std::fflush(stdout);
  }
}

/// Sessions whose first positions are equal.
void print_memory(std::uint64_t page_bytes, std::uint64_t limit) {
  constexpr int sessions = 1000;
  Workers workers(1);
  const double before = resident_mb();
  Cache cache(1);
  StateStore store({.memory_bytes = limit, .page_bytes = page_bytes}, workers);
  const auto prefix = cache.run(cache.inputs(nullptr), 512, 0);
  std::vector<double> all;
  int done = 0;
  try {
    for (; done < sessions; ++done) {
      const std::string key = "s" + std::to_string(done);
      const auto begun = Clock::now();
      begin(store, key);
      store.end(key, prefix, 1h, cache.growing());
      const State::Ptr state = begin(store, key);
      store.end(key, cache.run(cache.inputs(state), 64, static_cast<std::uint64_t>(done) + 1), 1h, cache.growing());
      all.push_back(microseconds_since(begun));
    }
  } catch (const std::exception& error) {
    std::printf("refused: %s\n", error.what());
  }
  const StateStore::Counts counts = store.counts();
  std::printf(
      "memory  page %6llu  sessions %4d  bytes %7.1f MB  resident %7.1f MB  pages %llu  shared %llu  saved %7.1f MB"
      "  us a session %.0f\n",
      static_cast<unsigned long long>(page_bytes), done, static_cast<double>(counts.bytes) * 1e-6,
      resident_mb() - before, static_cast<unsigned long long>(counts.pages),
      static_cast<unsigned long long>(counts.shared_pages), static_cast<double>(counts.saved_bytes) * 1e-6,
      median(all));
}

/// In a process of its own, whose heap nobody has used.
void print_memory_apart(std::uint64_t page_bytes, std::uint64_t limit) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    print_memory(page_bytes, limit);
    std::fflush(stdout);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

void print_all_turns(Workers& workers, int layers, const std::string& folder, const char* redis) {
  constexpr std::uint64_t kMuch = 1ULL << 40U;
  print_turns("memory whole", {.memory_bytes = kMuch, .page_bytes = 0}, workers, layers);
  print_turns("memory hot", {.memory_bytes = kMuch}, workers, layers);
  print_turns("folder whole", {.memory_bytes = 1, .folder = folder + "/whole", .page_bytes = 0}, workers, layers);
  if (redis != nullptr) {
    print_turns("redis whole", {.memory_bytes = kMuch, .redis = redis, .page_bytes = 0}, workers, layers);
    print_turns("redis whole cold", {.memory_bytes = 1, .redis = redis, .page_bytes = 0}, workers, layers);
  }
  for (const std::uint64_t kib : {16U, 32U, 64U, 128U}) {
    const std::uint64_t bytes = kib << 10U;
    print_turns("memory cold", {.memory_bytes = 1, .page_bytes = bytes}, workers, layers);
    print_turns("folder", {.memory_bytes = 1, .folder = folder + "/pages", .page_bytes = bytes}, workers, layers);
    if (redis == nullptr) continue;
    print_turns("redis hot", {.memory_bytes = kMuch, .redis = redis, .page_bytes = bytes}, workers, layers);
    print_turns("redis cold", {.memory_bytes = 1, .redis = redis, .page_bytes = bytes}, workers, layers);
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::uint64_t kib : {16U, 32U, 64U}) print_memory_apart(kib << 10U, 405'000'000);
  for (const std::uint64_t limit : {405'000'000ULL, 1ULL << 40U}) print_memory_apart(0, limit);
  Workers workers(1);
  const std::string folder =
      std::filesystem::temp_directory_path() / ("frazil_serve_state." + std::to_string(::getpid()));
  for (const int layers : {1, 12}) print_all_turns(workers, layers, folder, argc > 1 ? argv[1] : nullptr);
  std::filesystem::remove_all(folder);
}
