#include "server/state/state_store.h"

#include <algorithm>
#include <charconv>
#include <list>
#include <mutex>
#include <new>
#include <utility>

#include <frazil/error.h>

#include "server/core/heap.h"
#include "server/net/redis_stream.h"
#include "server/state/state_bytes.h"
#include "server/state/state_folder.h"
#include "server/state/state_index.h"
#include "server/state/state_pages.h"
#include "server/state/state_redis.h"

namespace frazil::server {
namespace {

using Entry = StateEntry;
using Turn = Entry::Turn;
using std::chrono::microseconds;

constexpr std::size_t kMaxStateKeyBytes = std::size_t{64} << 10U;
constexpr std::chrono::seconds kBetweenSweeps{1};
constexpr unsigned kMaxSwept = 64;  // per request
constexpr std::chrono::minutes kCopyLives{1};
constexpr std::uint64_t kMinHeapRoom = std::uint64_t{256} << 20U;

std::string state_head(const std::string& bytes) { return bytes.substr(0, kStateHead); }

Clock::time_point later(Clock::time_point now, microseconds idle) {
  const auto most = std::chrono::duration_cast<microseconds>(Clock::time_point::max() - now);
  return idle < most ? now + idle : Clock::time_point::max();
}

/// Returns a check of the connections to Redis.
MayUse connection_check(const StateConfig& config, std::shared_ptr<govern::Governor> governor) {
  const RedisAddress address = redis_address(config.redis);
  return without_tenant(
      {std::move(governor), {.kind = "redis", .host = address.host, .port = std::stoi(address.port)}});
}

std::unique_ptr<StateKeeper> keeper_of(const StateConfig& config, const NoticeSink& notify,
                                       std::shared_ptr<govern::Governor> governor) {
  if (!config.folder.empty() && !config.redis.empty()) {
    throw api::Error(api::Code::bad_input, "states of sequences are kept in a folder or in Redis, not in both: '" +
                                               config.folder + "', '" + config.redis + "'");
  }
  if (!config.folder.empty()) return std::make_unique<StateFolder>(config.folder);
  if (!config.redis.empty()) {
    return std::make_unique<StateRedis>(config.redis, config.redis_prefix,
                                        RedisOptions{.access = config.redis_access,
                                                     .tls_name = "state.redis_tls",
                                                     .may_connect = connection_check(config, std::move(governor))},
                                        notify);
  }
  return nullptr;
}

}  // namespace

struct StateStore::Impl {
  using Lock = std::unique_lock<std::mutex>;

  Impl(StateConfig config_, Workers& workers_, const NoticeSink& notify, std::shared_ptr<govern::Governor> governor)
      : config(std::move(config_)),
        workers(workers_),
        keeper(keeper_of(config, notify, std::move(governor))),
        shared(keeper && keeper->shared()),
        pages(config.page_bytes, keeper.get()) {
    if (keeper == nullptr) return;
    for (auto& [key, idle] : keeper->find_stored()) {
      StateIndex::Item& item = index.add(key);
      item.second.kept = true;
      item.second.expires = later(Clock::now(), idle);
      index.rest(item);
    }
  }

  StateConfig config;  // limits are guarded by the mutex
  Workers& workers;
  const std::unique_ptr<StateKeeper> keeper;
  const bool shared;
  StatePages pages;
  const std::shared_ptr<HeapWatch> heap = std::make_shared<HeapWatch>(std::max(config.memory_bytes / 2, kMinHeapRoom));

  mutable std::mutex mutex;
  StateIndex index;
  Counts counts;
  Clock::time_point next_sweep = Clock::now() + kBetweenSweeps;
  std::uint64_t cooled = 0;
  std::optional<std::string> cannot_write;  ///< reason of the last failure to write to the folder

  std::uint64_t bytes() const { return index.bytes() + pages.bytes(); }

  // ---- turns ----

  void begin(const std::string& key, Turn turn) {
    tidy(key);
    auto opening = keeper == nullptr ? nullptr : std::make_shared<Entry::Opening>();
    Lock lock(mutex);
    StateIndex::Item* item = index.find(key);
    if (item != nullptr && item->second.running) return queue(std::move(lock), item->second, std::move(turn));
    if (item == nullptr) {
      item = &admit(key);
    } else {
      index.wake(*item);
    }
    item->second.running = true;
    if (needs_keeper(item->second)) {
      item->second.opening = std::move(opening);
      lock.unlock();
      open(*item);
      make_room();
    } else {
      forget_expired(*item);
      lock.unlock();
    }
    turn(item->second.state);
  }

  void end(const std::string& key, const std::optional<Values>& next, microseconds idle,
           const std::shared_ptr<const Growing>& growing) {
    StateIndex::Item& item = running(key);
    try {
      State::Ptr state = next ? pages.after(item.first, item.second.state, *next, growing) : nullptr, old;
      keep(item, state, idle);
      const Lock lock(mutex);
      item.second.kept = shared && state != nullptr;
      item.second.expires = later(Clock::now(), idle);
      old = index.set_state(item, std::move(state));
      settle(item);
    } catch (...) {
      abandon(key);
      throw;
    }
    make_room();
    sweep();
  }

  void abandon(const std::string& key) {
    StateIndex::Item& item = running(key);
    const Lock lock(mutex);
    settle(item);
  }

  /// Enqueues a turn. While the state is being read, waits for it, and throws if it cannot be read.
  void queue(Lock lock, Entry& entry, Turn turn) {
    const std::shared_ptr<Entry::Opening> opening = entry.opening;
    entry.waiting.push_back(std::move(turn));
    if (opening == nullptr) return;
    opening->ended.wait(lock, [&] { return opening->done; });
    if (opening->fault) throw Refusal(Http::unavailable, *opening->fault);
  }

  StateIndex::Item& running(const std::string& key) {
    const Lock lock(mutex);
    StateIndex::Item* const item = index.find(key);
    if (item == nullptr || !item->second.running) {
      throw api::Error(api::Code::internal, "sequence '" + key + "' has no turn that could end");
    }
    return *item;
  }

  /// Called under the lock by the owner of the sequence. Passes it to the next turn, or makes it idle.
  void settle(StateIndex::Item& item) {
    Entry& entry = item.second;
    if (!entry.waiting.empty()) {
      workers.post([turn = std::move(entry.waiting.front()), state = entry.state] { turn(state); });
      entry.waiting.pop_front();
      return;
    }
    entry.running = false;
    if (entry.state != nullptr || (entry.kept && !shared)) {
      index.rest(item);
    } else {
      (void)index.remove(item);
    }
  }

  // ---- reading ----

  bool needs_keeper(const Entry& entry) const {
    return keeper != nullptr && (shared || (entry.kept && (entry.state == nullptr || entry.expires <= Clock::now())));
  }

  void open(StateIndex::Item& item) {
    try {
      State::Ptr state = fetch(item), old;
      const Lock lock(mutex);
      item.second.kept = item.second.kept && state != nullptr;
      old = index.set_state(item, std::move(state));
      opened(item.second, {});
    } catch (const std::exception& error) {
      abort(item, error.what());
      throw;
    }
  }

  static void opened(Entry& entry, std::optional<std::string> fault) {
    entry.opening->fault = std::move(fault);
    entry.opening->done = true;
    entry.opening->ended.notify_all();
    entry.opening.reset();
  }

  void abort(StateIndex::Item& item, const char* why) {
    std::list<Turn> dropped;  // destroyed outside of the lock, as they may own much
    const Lock lock(mutex);
    dropped.swap(item.second.waiting);
    opened(item.second, why);
    settle(item);
  }

  State::Ptr fetch(StateIndex::Item& item) {
    auto& [key, entry] = item;
    if (!shared && entry.expires <= Clock::now()) return forget_file(key);
    if (shared && entry.state != nullptr) {
      const std::string head = keeper->head(key, kStateHead);
      if (head.empty()) return keeper->is_over(entry.era) ? State::lost() : nullptr;
      if (head == entry.head || head == entry.unconfirmed) return entry.state;
    }
    std::optional<std::string> bytes = keeper->load(key);
    return bytes ? loaded(item, std::move(*bytes)) : nullptr;
  }

  State::Ptr loaded(StateIndex::Item& item, std::string bytes) {
    auto& [key, entry] = item;
    State::Ptr state;
    std::string head = state_head(bytes);
    try {
      check_state(bytes);
      state = pages.read(key, std::make_shared<const std::string>(std::move(bytes)));
    } catch (const StateFault& fault) {
      throw Refusal(Http::unavailable, std::string("the sequence's state cannot be read: ") + fault.what());
    }
    if (state == nullptr) return nullptr;
    entry.head = std::move(head);
    if (shared) entry.era = keeper->era();
    if (shared) entry.expires = later(Clock::now(), kCopyLives);
    const Lock lock(mutex);
    ++counts.read_back;
    return state;
  }

  // ---- writing ----

  /// Updates the keeper before a turn ends: writes the new state to Redis, or removes the old one from the folder.
  void keep(StateIndex::Item& item, const State::Ptr& state, microseconds idle) {
    auto& [key, entry] = item;
    if (!shared) {
      if (entry.kept) keeper->erase(key);
      entry.kept = false;
      return;
    }
    if (state == nullptr) return keeper->erase(key);
    const auto bytes = state->kept_bytes();
    entry.unconfirmed = state_head(*bytes);
    keeper->save(key, *bytes, state->pages(), idle);
    entry.head = std::exchange(entry.unconfirmed, {});
    entry.era = keeper->era();
    const Lock lock(mutex);
    ++counts.written_out;
  }

  // ---- memory limit ----

  void tidy(const std::string& key) {
    if (key.size() > kMaxStateKeyBytes) {
      throw Refusal(Http::bad_request, "the id of a sequence has " + std::to_string(key.size()) + " bytes; at most " +
                                           std::to_string(kMaxStateKeyBytes) + " are possible");
    }
    bool full = false, failing = false;
    {
      const Lock lock(mutex);
      full = index.count() >= config.max_sequences || bytes() >= config.memory_bytes;
      failing = cannot_write.has_value();
      if (full) next_sweep = {};
    }
    sweep();
    if (failing) make_room();
  }

  StateIndex::Item& admit(const std::string& key) {
    if (shared && index.count() >= config.max_sequences && index.oldest() != nullptr) {
      (void)index.remove(*index.oldest());
    }
    if (index.count() >= config.max_sequences) {
      throw Refusal(Http::too_many,
                    "there are " + std::to_string(index.count()) + " sequences, as many as most_sequences allows");
    }
    if (bytes() >= config.memory_bytes && keeper == nullptr) {
      throw Refusal(Http::too_many, "the states of sequences have reached the limit memory_bytes, " +
                                        std::to_string(config.memory_bytes));
    }
    if (bytes() >= config.memory_bytes && cannot_write) throw Refusal(Http::unavailable, *cannot_write);
    return index.add(key);
  }

  void make_room() {
    std::uint64_t freed = 0, used = 0;
    {
      State::Ptr old;  // declared before the lock, so that the last state is freed after unlocking
      Lock lock(mutex);
      while (bytes() > config.memory_bytes) {
        old = free_one(lock);
        if (old == nullptr) break;
        freed += old->memory();
      }
      used = bytes();
    }
    if (freed > 0) heap->freed(freed, used, workers);
  }

  /// Frees memory. Hot states are converted to pages first, which is cheaper than writing and reading them. Returns the
  /// state that was dropped, or null if nothing can be freed.
  State::Ptr free_one(Lock& lock) {
    if (StateIndex::Item* const hot = index.oldest_hot()) return cool(lock, *hot);
    StateIndex::Item* const item = keeper == nullptr ? nullptr : index.oldest();
    if (item == nullptr) return nullptr;
    if (shared) return index.remove(*item);
    State::Ptr old = item->second.state;
    index.wake(*item);
    if (!item->second.kept && !write_out(lock, *item)) return nullptr;
    if (item->second.waiting.empty()) (void)index.set_state(*item, nullptr);
    settle(*item);
    return old;
  }

  /// Converts a hot state to pages. Returns the hot state, or null if there is not enough memory.
  State::Ptr cool(Lock& lock, StateIndex::Item& item) {
    index.wake(item);
    item.second.running = true;
    State::Ptr hot = item.second.state, cold;
    lock.unlock();
    try {
      cold = pages.cold(item.first, hot);
    } catch (const std::bad_alloc&) {
      hot = nullptr;
    }
    lock.lock();
    if (cold != nullptr) (void)index.set_state(item, std::move(cold));
    settle(item);
    return hot;
  }

  /// Returns true if the state was written.
  bool write_out(Lock& lock, StateIndex::Item& item) {
    item.second.running = true;
    lock.unlock();
    std::optional<std::string> fault;
    try {
      const auto left = std::chrono::duration_cast<microseconds>(item.second.expires - Clock::now());
      pages.save(item.first, item.second.state, left);
    } catch (const std::exception& error) {
      fault = error.what();
    }
    lock.lock();
    cannot_write = std::move(fault);
    item.second.kept = !cannot_write;
    if (item.second.kept) {
      ++counts.written_out;
    } else {
      settle(item);
    }
    return item.second.kept;
  }

  // ---- expiry ----

  void sweep() {
    Lock lock(mutex);
    const Clock::time_point now = Clock::now();
    if (now < next_sweep) return;
    for (unsigned i = 0; i < kMaxSwept; ++i) {
      StateIndex::Item* const item = index.expired(now);
      if (item == nullptr) {
        next_sweep = now + kBetweenSweeps;
        lock.unlock();
        if (keeper != nullptr) keeper->collect_garbage();
        return;
      }
      expire(lock, *item);
    }
  }

  void expire(Lock& lock, StateIndex::Item& item) {
    index.wake(item);
    if (!shared && item.second.kept) {
      item.second.running = true;
      lock.unlock();
      (void)forget_file(item.first);
      lock.lock();
    } else {
      ++counts.expired;
    }
    item.second.kept = false;
    (void)index.set_state(item, nullptr);
    settle(item);
  }

  /// For use without a keeper, or with a folder that does not contain the state.
  void forget_expired(StateIndex::Item& item) {
    if (item.second.state == nullptr || item.second.expires > Clock::now()) return;
    ++counts.expired;
    (void)index.set_state(item, nullptr);
  }

  /// Removes a file. If that fails, the file is ignored and expires for the next process, too.
  State::Ptr forget_file(const std::string& key) {
    try {
      keeper->erase(key);
    } catch (const Refusal&) {  // NOLINT(bugprone-empty-catch): see above
    }
    const Lock lock(mutex);
    ++counts.expired;
    return nullptr;
  }

  void write_all() {
    if (keeper == nullptr || shared) return;
    for (auto& [key, entry] : index.all()) {
      const auto left = std::chrono::duration_cast<microseconds>(entry.expires - Clock::now());
      if (entry.state == nullptr || entry.kept || left <= microseconds(0)) continue;
      try {
        pages.save(key, entry.state, left);
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the sequence is not known later on
      }
    }
  }
};

std::string_view StateKey::tenant_in(std::string_view text) {
  std::size_t size = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), size);
  const auto at = static_cast<std::size_t>(parsed.ptr - text.data());
  const bool good = parsed.ec == std::errc() && at < text.size() && text[at] == ':' && size < text.size() - at;
  return good ? text.substr(at + 1, size) : std::string_view();
}

StateStore::StateStore(StateConfig config, Workers& workers, const NoticeSink& notify,
                       std::shared_ptr<govern::Governor> governor)
    : impl_(std::make_unique<Impl>(std::move(config), workers, notify, std::move(governor))) {}

StateStore::~StateStore() { impl_->write_all(); }

void StateStore::begin(const StateKey& key, std::function<void(State::Ptr)> turn) {
  impl_->begin(key.text(), std::move(turn));
}

void StateStore::look(const StateKey& key, std::function<void(State::Ptr)> then) {
  impl_->begin(key.text(), [this, key, then = std::move(then)](State::Ptr state) {
    abandon(key);
    then(std::move(state));
  });
}

void StateStore::end(const StateKey& key, const std::optional<Values>& next, std::chrono::microseconds idle,
                     const std::shared_ptr<const Growing>& growing) {
  impl_->end(key.text(), next, idle, growing);
}

void StateStore::set_limits(std::uint64_t memory_bytes, std::uint64_t max_sequences) {
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->config.memory_bytes = memory_bytes;
    impl_->config.max_sequences = max_sequences;
  }
  impl_->make_room();
}

void StateStore::abandon(const StateKey& key) { impl_->abandon(key.text()); }

StateStore::Counts StateStore::counts() const {
  const std::scoped_lock lock(impl_->mutex);
  Counts counts = impl_->counts;
  counts.sequences = impl_->index.count();
  counts.bytes = impl_->bytes();
  const PagePool::Counts pages = impl_->pages.counts();
  counts.pages = pages.pages;
  counts.page_bytes = pages.bytes;
  counts.page_hits = pages.hits;
  counts.shared_pages = impl_->index.pages().shared();
  counts.saved_bytes = impl_->index.pages().saved_bytes();
  return counts;
}

}  // namespace frazil::server
