#include "server/state_store.h"

#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <frazil/error.h>

#include "server/state_bytes.h"
#include "server/state_folder.h"
#include "server/state_redis.h"

namespace frazil::server {
namespace {

using Values = StateStore::Values;
using Turn = std::function<void(std::optional<Values>)>;
using std::chrono::microseconds;

constexpr std::size_t kLongestKey = std::size_t{64} << 10U;
constexpr std::size_t kSequenceBytes = 512, kValueBytes = 384;  // of memory, beside keys and elements
constexpr std::chrono::seconds kBetweenSweeps{1};
constexpr unsigned kMostSwept = 64;  // in one request's time
constexpr std::chrono::minutes kCopyLives{1};

/// A state that nobody changes any more. Its tensors lie in its bytes.
struct State {
  std::shared_ptr<const std::string> bytes;
  Values values;

  std::string_view head() const { return std::string_view(*bytes).substr(0, kStateHead); }
  std::size_t memory() const {
    std::size_t sum = bytes->capacity();
    for (const auto& [name, array] : values) {
      sum += kValueBytes + name.capacity();
      if (!array.is_tensor() || array.dtype() != api::Dtype::string) continue;
      for (const std::string& text : array.values<std::string>()) sum += sizeof(std::string) + text.capacity();
    }
    return sum;
  }
};
using StatePtr = std::shared_ptr<const State>;

StatePtr state_of(std::string bytes) {
  auto shared = std::make_shared<const std::string>(std::move(bytes));
  Values values = values_of_state(shared);
  return std::make_shared<const State>(State{std::move(shared), std::move(values)});
}

std::optional<Values> values_of(const StatePtr& state) {
  return state == nullptr ? std::nullopt : std::optional(state->values);
}

/// A begin() that reads a sequence's state, for those that come meanwhile.
struct Opening {
  std::condition_variable ended;
  bool done = false;
  std::optional<std::string> fault;
};

struct Entry;
using Item = std::pair<const std::string, Entry>;

struct Entry {
  StatePtr state;  ///< in memory
  std::size_t memory = 0;
  bool kept = false;        ///< the keeper has the same state
  std::string unconfirmed;  ///< the head of a state that Redis may have got, although it did not say so
  Clock::time_point expires;
  /// A turn or something else has it for itself. Only this reads and writes what is above, without a lock.
  bool running = false;
  std::shared_ptr<Opening> opening;
  std::list<Turn> waiting;
  std::optional<std::list<Item*>::iterator> in_memory;
  std::optional<std::multimap<Clock::time_point, Item*>::iterator> in_expiry;
};

/// The sequences; those that rest by the time of their last use and of their expiry.
class Index {
 public:
  Item* find(const std::string& key) {
    const auto at = items_.find(key);
    return at == items_.end() ? nullptr : &*at;
  }
  Item& add(const std::string& key) {
    bytes_ += key.size() + kSequenceBytes;
    return *items_.try_emplace(key).first;
  }
  void remove(Item& item) {
    wake(item);
    bytes_ -= item.second.memory + item.first.size() + kSequenceBytes;
    items_.erase(items_.find(item.first));
  }
  void set_state(Item& item, StatePtr state) {
    bytes_ -= item.second.memory;
    item.second.memory = state == nullptr ? 0 : state->memory();
    bytes_ += item.second.memory;
    item.second.state = std::move(state);
  }

  void rest(Item& item) {
    if (item.second.state != nullptr) item.second.in_memory = by_use_.insert(by_use_.end(), &item);
    item.second.in_expiry = by_expiry_.emplace(item.second.expires, &item);
  }
  void wake(Item& item) {
    if (const auto at = std::exchange(item.second.in_memory, {})) by_use_.erase(*at);
    if (const auto at = std::exchange(item.second.in_expiry, {})) by_expiry_.erase(*at);
  }
  /// In memory, resting, and not used for longest.
  Item* oldest() { return by_use_.empty() ? nullptr : by_use_.front(); }
  Item* expired(Clock::time_point now) {
    const auto first = by_expiry_.begin();
    return first == by_expiry_.end() || first->first > now ? nullptr : first->second;
  }

  std::uint64_t count() const { return items_.size(); }
  std::uint64_t bytes() const { return bytes_; }
  auto& all() { return items_; }

 private:
  std::unordered_map<std::string, Entry> items_;
  std::list<Item*> by_use_;
  std::multimap<Clock::time_point, Item*> by_expiry_;
  std::uint64_t bytes_ = 0;
};

Clock::time_point later(Clock::time_point now, microseconds idle) {
  const auto most = std::chrono::duration_cast<microseconds>(Clock::time_point::max() - now);
  return idle < most ? now + idle : Clock::time_point::max();
}

std::unique_ptr<StateKeeper> keeper_of(const StateConfig& config) {
  if (!config.folder.empty() && !config.redis.empty()) {
    throw api::Error(api::Code::bad_input, "states of sequences are kept in a folder or in Redis, not in both: '" +
                                               config.folder + "', '" + config.redis + "'");
  }
  if (!config.folder.empty()) return std::make_unique<StateFolder>(config.folder);
  if (!config.redis.empty()) return std::make_unique<StateRedis>(config.redis, config.redis_prefix);
  return nullptr;
}

}  // namespace

struct StateStore::Impl {
  using Lock = std::unique_lock<std::mutex>;

  Impl(StateConfig config_, Workers& workers_)
      : config(std::move(config_)), workers(workers_), keeper(keeper_of(config)), shared(keeper && keeper->shared()) {
    if (keeper == nullptr) return;
    for (auto& [key, idle] : keeper->find_left()) {
      Item& item = index.add(key);
      item.second.kept = true;
      item.second.expires = later(Clock::now(), idle);
      index.rest(item);
    }
  }

  const StateConfig config;
  Workers& workers;
  const std::unique_ptr<StateKeeper> keeper;
  const bool shared;

  mutable std::mutex mutex;
  Index index;
  Counts counts;
  Clock::time_point next_sweep = Clock::now() + kBetweenSweeps;
  std::optional<std::string> cannot_write;  ///< why the last state could not be written to the folder

  // ---- turns ----

  void begin(const std::string& key, Turn turn) {
    tidy(key);
    auto opening = keeper == nullptr ? nullptr : std::make_shared<Opening>();
    Lock lock(mutex);
    Item* item = index.find(key);
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
    turn(values_of(item->second.state));
  }

  void end(const std::string& key, const std::optional<Values>& next, microseconds idle) {
    Item& item = running(key);
    try {
      StatePtr state = next ? next_state(item.second, *next) : nullptr;
      keep(item, state, idle);
      const Lock lock(mutex);
      item.second.kept = shared && state != nullptr;
      item.second.expires = later(Clock::now(), idle);
      index.set_state(item, std::move(state));
      settle(item);
    } catch (...) {
      abandon(key);
      throw;
    }
    make_room();
    sweep();
  }

  void abandon(const std::string& key) {
    Item& item = running(key);
    const Lock lock(mutex);
    settle(item);
  }

  /// Waits while the state is read; a state that cannot be read is no one's.
  void queue(Lock lock, Entry& entry, Turn turn) {
    const std::shared_ptr<Opening> opening = entry.opening;
    entry.waiting.push_back(std::move(turn));
    if (opening == nullptr) return;
    opening->ended.wait(lock, [&] { return opening->done; });
    if (opening->fault) throw Refusal(Http::unavailable, *opening->fault);
  }

  Item& running(const std::string& key) {
    const Lock lock(mutex);
    Item* const item = index.find(key);
    if (item == nullptr || !item->second.running) {
      throw api::Error(api::Code::internal, "sequence '" + key + "' has no turn that could end");
    }
    return *item;
  }

  /// Under the lock, by what had the sequence for itself: the next turn has it, or it rests.
  void settle(Item& item) {
    Entry& entry = item.second;
    if (!entry.waiting.empty()) {
      workers.post([turn = std::move(entry.waiting.front()), state = entry.state] { turn(values_of(state)); });
      entry.waiting.pop_front();
      return;
    }
    entry.running = false;
    if (entry.state != nullptr || (entry.kept && !shared)) {
      index.rest(item);
    } else {
      index.remove(item);
    }
  }

  // ---- reading ----

  bool needs_keeper(const Entry& entry) const {
    return keeper != nullptr && (shared || (entry.kept && (entry.state == nullptr || entry.expires <= Clock::now())));
  }

  void open(Item& item) {
    try {
      StatePtr state = fetch(item);
      const Lock lock(mutex);
      item.second.kept = item.second.kept && state != nullptr;
      index.set_state(item, std::move(state));
      opened(item.second, {});
    } catch (const std::exception& error) {
      give_up(item, error.what());
      throw;
    }
  }

  static void opened(Entry& entry, std::optional<std::string> fault) {
    entry.opening->fault = std::move(fault);
    entry.opening->done = true;
    entry.opening->ended.notify_all();
    entry.opening.reset();
  }

  void give_up(Item& item, const char* why) {
    std::list<Turn> dropped;  // they may own much, and go outside the lock
    const Lock lock(mutex);
    dropped.swap(item.second.waiting);
    opened(item.second, why);
    settle(item);
  }

  StatePtr fetch(Item& item) {
    auto& [key, entry] = item;
    if (!shared && entry.expires <= Clock::now()) return forget_file(key);
    if (shared && entry.state != nullptr) {
      const std::string head = keeper->head(key, kStateHead);
      if (head.empty()) return nullptr;
      if (head == entry.state->head() || head == entry.unconfirmed) return entry.state;
    }
    std::optional<std::string> bytes = keeper->load(key);
    return bytes ? loaded(entry, std::move(*bytes)) : nullptr;
  }

  StatePtr loaded(Entry& entry, std::string bytes) {
    StatePtr state;
    try {
      check_state(bytes);
      state = state_of(std::move(bytes));
    } catch (const StateFault& fault) {
      throw Refusal(Http::unavailable, std::string("the sequence's state cannot be read: ") + fault.what());
    }
    if (shared) entry.expires = later(Clock::now(), kCopyLives);
    const Lock lock(mutex);
    ++counts.read_back;
    return state;
  }

  // ---- writing ----

  static StatePtr next_state(const Entry& entry, const Values& values) {
    const std::uint64_t turn = entry.state == nullptr ? 0 : turn_of_state(*entry.state->bytes);
    try {
      return state_of(bytes_of_state(values, turn + 1));
    } catch (const std::length_error& error) {
      throw Refusal(Http::unavailable, std::string("the sequence's state cannot be kept: ") + error.what());
    }
  }

  /// Before a turn has ended: in Redis there is the new state, in the folder no old one.
  void keep(Item& item, const StatePtr& state, microseconds idle) {
    auto& [key, entry] = item;
    if (!shared) {
      if (entry.kept) keeper->erase(key);
      entry.kept = false;
      return;
    }
    if (state == nullptr) return keeper->erase(key);
    entry.unconfirmed = state->head();
    keeper->save(key, *state->bytes, idle);
    entry.unconfirmed.clear();
    const Lock lock(mutex);
    ++counts.written_out;
  }

  // ---- room ----

  void tidy(const std::string& key) {
    if (key.size() > kLongestKey) {
      throw Refusal(Http::bad_request, "the id of a sequence has " + std::to_string(key.size()) + " bytes; at most " +
                                           std::to_string(kLongestKey) + " are possible");
    }
    bool full = false, failing = false;
    {
      const Lock lock(mutex);
      full = index.count() >= config.most_sequences || index.bytes() >= config.memory_bytes;
      failing = cannot_write.has_value();
      if (full) next_sweep = {};
    }
    sweep();
    if (failing) make_room();
  }

  Item& admit(const std::string& key) {
    if (shared && index.count() >= config.most_sequences && index.oldest() != nullptr) index.remove(*index.oldest());
    if (index.count() >= config.most_sequences) {
      throw Refusal(Http::too_many,
                    "there are " + std::to_string(index.count()) + " sequences, as many as most_sequences allows");
    }
    if (index.bytes() >= config.memory_bytes && keeper == nullptr) {
      throw Refusal(Http::too_many, "the states of sequences have reached the limit memory_bytes, " +
                                        std::to_string(config.memory_bytes));
    }
    if (index.bytes() >= config.memory_bytes && cannot_write) throw Refusal(Http::unavailable, *cannot_write);
    return index.add(key);
  }

  void make_room() {
    for (Lock lock(mutex); keeper != nullptr && index.bytes() > config.memory_bytes;) {
      Item* const item = index.oldest();
      if (item == nullptr) return;
      if (shared) {
        index.remove(*item);
      } else {
        index.wake(*item);
        if (!item->second.kept && !write_out(lock, *item)) return;
        if (item->second.waiting.empty()) index.set_state(*item, nullptr);
        settle(*item);
      }
    }
  }

  /// Returns whether it did.
  bool write_out(Lock& lock, Item& item) {
    item.second.running = true;
    lock.unlock();
    std::optional<std::string> fault;
    try {
      const auto left = std::chrono::duration_cast<microseconds>(item.second.expires - Clock::now());
      keeper->save(item.first, *item.second.state->bytes, left);
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
    for (unsigned i = 0; i < kMostSwept; ++i) {
      Item* const item = index.expired(now);
      if (item == nullptr) {
        next_sweep = now + kBetweenSweeps;
        return;
      }
      expire(lock, *item);
    }
  }

  void expire(Lock& lock, Item& item) {
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
    index.set_state(item, nullptr);
    settle(item);
  }

  /// Without a keeper, or with a folder that does not have it.
  void forget_expired(Item& item) {
    if (item.second.state == nullptr || item.second.expires > Clock::now()) return;
    ++counts.expired;
    index.set_state(item, nullptr);
  }

  /// A file that cannot be removed is not looked at again, and has expired for the next process, too.
  StatePtr forget_file(const std::string& key) {
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
        keeper->save(key, *entry.state->bytes, left);
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the sequence is not known later on
      }
    }
  }
};

StateStore::StateStore(StateConfig config, Workers& workers)
    : impl_(std::make_unique<Impl>(std::move(config), workers)) {}

StateStore::~StateStore() { impl_->write_all(); }

void StateStore::begin(const std::string& key, std::function<void(std::optional<Values>)> turn) {
  impl_->begin(key, std::move(turn));
}

void StateStore::end(const std::string& key, const std::optional<Values>& next, std::chrono::microseconds idle) {
  impl_->end(key, next, idle);
}

void StateStore::abandon(const std::string& key) { impl_->abandon(key); }

StateStore::Counts StateStore::counts() const {
  const std::scoped_lock lock(impl_->mutex);
  Counts counts = impl_->counts;
  counts.sequences = impl_->index.count();
  counts.bytes = impl_->index.bytes();
  return counts;
}

}  // namespace frazil::server
