#include "server/host/feature_store.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <list>
#include <mutex>
#include <set>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <frazil/error.h>

#include "server/access/governed.h"
#include "server/config/peer_yaml.h"
#include "server/host/host_node.h"
#include "server/net/redis.h"
#include "server/net/redis_stream.h"

namespace frazil::server {
namespace {

using Record = std::shared_ptr<const FeatureRecord>;

constexpr std::size_t kMaxFailures = 5;
constexpr std::chrono::seconds kPauseAfterFault{1};

/// An LRU cache of records by key.
class Kept {
 public:
  explicit Kept(std::size_t most) : most_(most) {}

  Record find(const std::string& key, Clock::time_point not_before) {
    const auto at = by_key_.find(key);
    if (at == by_key_.end() || at->second->second->read < not_before) return nullptr;
    by_use_.splice(by_use_.begin(), by_use_, at->second);
    return at->second->second;
  }

  void keep(const std::string& key, Record record) {
    if (most_ == 0) return;
    if (const auto at = by_key_.find(key); at != by_key_.end()) {
      at->second->second = std::move(record);
      return by_use_.splice(by_use_.begin(), by_use_, at->second);
    }
    by_use_.emplace_front(key, std::move(record));
    by_key_.emplace(by_use_.front().first, by_use_.begin());
    if (by_use_.size() <= most_) return;
    by_key_.erase(by_use_.back().first);
    by_use_.pop_back();
  }

 private:
  using Use = std::list<std::pair<std::string, Record>>;
  std::size_t most_;
  Use by_use_;
  std::unordered_map<std::string_view, Use::iterator> by_key_;  // views of the keys in by_use_
};

/// A pending look-up of one key.
struct Flight {
  std::string key;
  bool ended = false;
  Record record;  ///< null: failed
  std::string why, redis_error;
  std::optional<std::string> rejection;
};
using Flights = std::vector<std::shared_ptr<Flight>>;

}  // namespace

struct FeatureStore::Impl {
  explicit Impl(const FeatureView& view_)
      : view(view_),
        redis(view_.redis,
              {.connect = std::chrono::seconds(10), .answer = std::chrono::seconds(10), .access = view_.access}),
        kept(view_.keep > Clock::duration::zero() ? view_.max_kept : 0) {
    for (const std::string& feature : view.features) fields.push_back(feast_field(view.view, feature));
    fields.push_back(feast_time_field(view.view));
  }

  // ---- Redis ----

  /// Returns a record per key; null for an error or a damaged answer, with the reason in `why` and Redis's text in
  /// `redis_error`. Throws RedisFault.
  std::vector<Record> ask(const Flights& flights, Clock::time_point until, const MayUse& may_use, std::string& why,
                          std::string& redis_error) {
    std::vector<Redis::Command> commands;
    for (const auto& flight : flights) {
      Redis::Command& command = commands.emplace_back(Redis::Command{"HMGET", flight->key});
      command.insert(command.end(), fields.begin(), fields.end());
    }
    std::vector<Record> records;
    for (const RedisReply& reply : redis.run(commands, until, may_use)) {
      if (reply.kind == RedisReply::Kind::error) {
        why = "Redis answers with an error";
        redis_error = reply.text;
        records.push_back(nullptr);
        continue;
      }
      try {
        records.push_back(record_of(reply));
      } catch (const std::invalid_argument& error) {
        why = std::string("Redis has ") + error.what();
        records.push_back(nullptr);
      }
    }
    return records;
  }

  Record record_of(const RedisReply& reply) const {
    if (reply.items.size() != fields.size()) throw std::invalid_argument("another number of fields");
    FeatureRecord record{.read = Clock::now()};
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const RedisReply& item = reply.items[i];
      const bool given = item.kind == RedisReply::Kind::text, is_time = i + 1 == fields.size();
      record.found |= given;
      if (given) record.hash = record.hash * 31 + murmur3(item.text);
      if (!is_time) record.values.push_back(given ? feast_value(item.text) : FeastValue());
      if (is_time && given) record.written = feast_time(item.text);
    }
    return std::make_shared<const FeatureRecord>(std::move(record));
  }

  // ---- the circuit breaker ----

  void expect_answers() {
    const std::scoped_lock lock(mutex);
    if (Clock::now() < paused_until) throw RedisFault(RedisFault::Kind::late, "Redis did not answer a moment ago");
  }

  /// Counts the result of a look-up. A look-up that the request's own limit cut short is no evidence of a Redis
  /// failure.
  void count(bool answered, bool cut_short) {
    const std::scoped_lock lock(mutex);
    if (answered) {
      failures = 0;
    } else if (!cut_short && ++failures >= kMaxFailures) {
      paused_until = Clock::now() + kPauseAfterFault;
    }
  }

  // ---- look-ups ----

  /// Performs the look-ups and completes the flights, even on failure.
  void read(const Flights& flights, std::optional<Clock::time_point> limit, const MayUse& may_use) {
    std::vector<Record> records;
    std::string why, redis_error;
    std::optional<std::string> rejection;
    const Clock::time_point own = Clock::now() + view.time_out;
    const bool shorter = limit && *limit < own;
    try {
      expect_answers();
      try {
        records = ask(flights, shorter ? *limit : own, may_use, why, redis_error);
        count(true, false);
      } catch (const RedisFault& fault) {
        if (fault.kind() == RedisFault::Kind::forbidden) {
          rejection = fault.what();
          throw;
        }
        count(false, shorter && fault.kind() == RedisFault::Kind::late);
        if (fault.kind() == RedisFault::Kind::wrong) redis_error = fault.what();
        throw;
      }
    } catch (const std::exception& error) {
      why = error.what();
    }
    records.resize(flights.size());
    const std::scoped_lock lock(mutex);
    for (std::size_t i = 0; i < flights.size(); ++i) {
      Flight& flight = *flights[i];
      flight.ended = true;
      flight.record = records[i];
      flight.why = why;
      flight.redis_error = redis_error;
      flight.rejection = rejection;
      if (flight.record != nullptr) kept.keep(flight.key, flight.record);
      under_way.erase(flight.key);
    }
    come.notify_all();
  }

  const FeatureView view;
  std::vector<std::string> fields;
  Redis redis;

  std::mutex mutex;  // guards the members below
  std::condition_variable come;
  Kept kept;
  std::unordered_map<std::string, std::shared_ptr<Flight>> under_way;
  std::size_t failures = 0;
  Clock::time_point paused_until;
};

FeatureStore::FeatureStore(const FeatureView& view) : impl_(std::make_unique<Impl>(view)) {}
FeatureStore::~FeatureStore() = default;

FeatureStore::Found FeatureStore::look_up(std::span<const std::string> keys, std::optional<Clock::time_point> until,
                                          const MayUse& may_use) {
  const auto before = impl_->redis.peer();
  if (before) {
    if (auto why = rejection_by(may_use, *before)) return {.rejection = std::move(why)};
  }
  Found found = looked_up(keys, until, may_use);
  if (const auto peer = impl_->redis.peer(); !before && peer && !found.rejection) {
    found.rejection = rejection_by(may_use, *peer);
  }
  return found;
}

FeatureStore::Found FeatureStore::looked_up(std::span<const std::string> keys, std::optional<Clock::time_point> until,
                                            const MayUse& may_use) {
  Impl& impl = *impl_;
  const Clock::time_point now = Clock::now();
  Found found;
  found.rows.resize(keys.size());
  Flights own;
  std::vector<std::pair<std::size_t, std::shared_ptr<Flight>>> awaited;
  std::unique_lock lock(impl.mutex);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    found.rows[i] = impl.kept.find(keys[i], now - impl.view.keep);
    if (found.rows[i] != nullptr) {
      ++found.kept;
      found.oldest = std::max(found.oldest, now - found.rows[i]->read);
      continue;
    }
    auto& flight = impl.under_way[keys[i]];
    if (flight == nullptr) own.push_back(flight = std::make_shared<Flight>(Flight{.key = keys[i]}));
    awaited.emplace_back(i, flight);
  }
  if (awaited.empty()) return found;
  lock.unlock();
  if (!own.empty()) impl.read(own, until, may_use);
  lock.lock();
  const Clock::time_point limit = std::min(until.value_or(Clock::time_point::max()), now + impl.view.time_out);
  for (const auto& [i, flight] : awaited) {
    impl.come.wait_until(lock, limit, [&] { return flight->ended; });
    found.rows[i] = flight->record;
    if (flight->record != nullptr) continue;
    found.why = flight->ended ? flight->why : "Redis does not answer in time";
    found.redis_error = flight->ended ? flight->redis_error : "";
    if (flight->ended && flight->rejection) found.rejection = flight->rejection;
  }
  return found;
}

// ---- columns ----

namespace {

[[noreturn]] void refuse_value(const FeatureColumn& column) {
  throw Refusal(Http::internal, "feature '" + column.name + "' has a value in Redis that is no " +
                                    (column.list ? "list of " : "") + std::string(api::name_of(column.dtype)));
}

/// The alternative of FeastValue that values of type T are read from.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, std::string>, std::string,
                                  std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>>;

template <class T, class From>
T converted(const FeatureColumn& column, const From& from) {
  if constexpr (std::is_integral_v<T>) {
    if (from < std::int64_t{std::numeric_limits<T>::min()} || from > std::int64_t{std::numeric_limits<T>::max()}) {
      refuse_value(column);
    }
  }
  return static_cast<T>(from);
}

/// Converts a single value. Integers are accepted for floats, too.
template <class T>
T one_of(const FeatureColumn& column, const FeastValue& value) {
  if (const auto* const exact = std::get_if<Stored<T>>(&value)) return converted<T>(column, *exact);
  if constexpr (std::is_floating_point_v<T>) {
    if (const auto* const whole = std::get_if<std::int64_t>(&value)) return static_cast<T>(*whole);
  }
  refuse_value(column);
}

template <class T, class F>
void with_items(const FeatureColumn& column, const FeastValue& value, F f) {
  if (const auto* const exact = std::get_if<std::vector<Stored<T>>>(&value)) return f(*exact);
  if constexpr (std::is_floating_point_v<T>) {
    if (const auto* const whole = std::get_if<std::vector<std::int64_t>>(&value)) return f(*whole);
  }
  refuse_value(column);
}

bool has_value(const FeastValue* row) { return row != nullptr && !std::holds_alternative<std::monostate>(*row); }

template <class T>
T missing_of(const FeatureColumn& column) {
  return has_value(&column.missing) ? one_of<T>(column, column.missing) : T();
}

template <class T>
api::Array values_of(const FeatureColumn& column, std::span<const FeastValue* const> rows) {
  api::Array array(column.dtype, {static_cast<std::int64_t>(rows.size())});
  const auto to = array.mutable_values<T>();
  const T missing = missing_of<T>(column);
  for (std::size_t i = 0; i < rows.size(); ++i) to[i] = has_value(rows[i]) ? one_of<T>(column, *rows[i]) : missing;
  return array;
}

template <class T>
api::Array lists_of(const FeatureColumn& column, std::span<const FeastValue* const> rows, api::Array& lengths) {
  const auto count = static_cast<std::int64_t>(rows.size());
  lengths = api::Array(api::Dtype::i64, {count});
  const auto length = lengths.mutable_values<std::int64_t>();
  std::int64_t longest = 1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!has_value(rows[i])) continue;
    with_items<T>(column, *rows[i], [&](const auto& items) {
      length[i] = static_cast<std::int64_t>(std::min<std::uint64_t>(items.size(), *column.list));
    });
    longest = std::max(longest, length[i]);
  }
  api::Array array(column.dtype, {count, longest});
  const auto to = array.mutable_values<T>();
  std::ranges::fill(to, missing_of<T>(column));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (length[i] == 0) continue;
    with_items<T>(column, *rows[i], [&](const auto& items) {
      std::size_t at = i * static_cast<std::size_t>(longest);
      for (auto item = items.end() - length[i]; item != items.end(); ++item) to[at++] = converted<T>(column, *item);
    });
  }
  return array;
}

template <class T>
api::Array column_of_type(const FeatureColumn& column, std::span<const FeastValue* const> rows, api::Array* lengths) {
  return column.list ? lists_of<T>(column, rows, *lengths) : values_of<T>(column, rows);
}

}  // namespace

bool FeatureColumn::supports(api::Dtype dtype) {
  using enum api::Dtype;
  return dtype == boolean || dtype == i32 || dtype == i64 || dtype == f32 || dtype == f64 || dtype == string;
}

api::Array column_of(const FeatureColumn& column, std::span<const FeastValue* const> rows, api::Array* lengths) {
  switch (column.dtype) {
    case api::Dtype::boolean: return column_of_type<bool>(column, rows, lengths);
    case api::Dtype::i32: return column_of_type<std::int32_t>(column, rows, lengths);
    case api::Dtype::i64: return column_of_type<std::int64_t>(column, rows, lengths);
    case api::Dtype::f32: return column_of_type<float>(column, rows, lengths);
    case api::Dtype::f64: return column_of_type<double>(column, rows, lengths);
    default: return column_of_type<std::string>(column, rows, lengths);
  }
}

// ---- the step ----

namespace {

using api::Array;
using api::Dtype;
using api::Port;

struct FeaturesParts {
  FeatureView view;
  std::optional<double> max_age_s;
  std::vector<Argument> entity;
  std::vector<FeatureColumn> columns;
  std::shared_ptr<FeatureStore> store;
};

class FeaturesNode : public HostNode {
 public:
  FeaturesNode(std::string name, FeaturesParts parts, const HostScope& scope, const Results& results)
      : HostNode(std::move(name), "features", scope, parts.entity, results), parts_(std::move(parts)) {
    const RedisAddress address = redis_address(parts_.view.redis);
    gate_ = {scope.governor,
             {.kind = "redis", .host = address.host, .port = std::stoi(address.port), .model = scope.pipeline}};
  }

 protected:
  std::string endpoint() const override {
    return "redis://" + parts_.view.redis + "/" + parts_.view.project + "/" + parts_.view.view;
  }
  void ask(StepCall step) const override {
    const Flow& flow = *step.flow;
    expect_time(flow);
    const Clock::time_point began = Clock::now();
    const FeatureStore::Found found =
        parts_.store->look_up(keys_of(step.inputs), flow.deadline, may_use(flow.identity));
    if (found.rejection) throw refused_by_policy("node '" + name() + "' to read features", *found.rejection);
    std::vector<Array> results;
    try {
      results = results_of(found);
    } catch (const Refusal& refusal) {
      throw named(refusal);
    }
    note_of(found, flow, began);
    step.done(std::move(results));
  }

 private:
  MayUse may_use(const Tenants::Identity& identity) const {
    if (!gate_.asks()) return nullptr;
    return [this, identity](const PeerAddress& peer) { return gate_.rejection(peer, tenant_of(identity)); };
  }

  static FeastId id_of(const Array& values, std::size_t row) {
    if (values.dtype() == Dtype::string) return values.values<std::string>()[row];
    if (values.dtype() == Dtype::i32) return values.values<std::int32_t>()[row];
    return values.values<std::int64_t>()[row];
  }

  /// `inputs`: what the entities are known by.
  std::vector<std::string> keys_of(const std::vector<Array>& inputs) const {
    const std::int64_t rows = inputs.front().count();
    std::vector<FeastEntity> entities(static_cast<std::size_t>(rows));
    for (std::size_t p = 0; p < inputs.size(); ++p) {
      const Argument& part = parts_.entity[p];
      const Array& values = inputs[p];
      const bool one_each = values.sizes().empty() || values.sizes().front() == values.count();
      if (values.count() != rows || !one_each) {
        throw Refusal(Http::bad_request, "node '" + name() + "': '" + part.name + "' needs one element in each of " +
                                             std::to_string(rows) + " rows, got " + values.str());
      }
      for (std::size_t i = 0; i < entities.size(); ++i) entities[i].emplace_back(part.name, id_of(values, i));
    }
    std::vector<std::string> keys;
    for (FeastEntity& entity : entities) keys.push_back(feast_key(std::move(entity), parts_.view.project));
    return keys;
  }

  FeatureStatus status_of(const FeatureRecord* record, double now) const {
    if (record == nullptr) return FeatureStatus::failed;
    if (!record->found) return FeatureStatus::not_found;
    if (parts_.max_age_s && now - record->written > *parts_.max_age_s) return FeatureStatus::too_old;
    const bool null = std::ranges::any_of(record->values, [](const auto& v) { return v.index() == 0; });
    return null ? FeatureStatus::null : FeatureStatus::present;
  }

  static double now_s() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }

  std::vector<Array> results_of(const FeatureStore::Found& found) const {
    const double now = now_s();
    Array status(Dtype::i64, {static_cast<std::int64_t>(found.rows.size())});
    std::vector<bool> usable;
    for (std::size_t i = 0; i < found.rows.size(); ++i) {
      const FeatureStatus one = status_of(found.rows[i].get(), now);
      status.mutable_values<std::int64_t>()[i] = static_cast<std::int64_t>(one);
      usable.push_back(one == FeatureStatus::present || one == FeatureStatus::null);
    }
    std::vector<Array> results;
    std::vector<const FeastValue*> rows(found.rows.size());
    for (std::size_t c = 0; c < parts_.columns.size(); ++c) {
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = usable[i] ? &found.rows[i]->values[c] : nullptr;
      Array lengths;
      results.push_back(column_of(parts_.columns[c], rows, &lengths));
      if (parts_.columns[c].list) results.push_back(std::move(lengths));
    }
    results.push_back(std::move(status));
    return results;
  }

  void note_of(const FeatureStore::Found& found, const Flow& flow, Clock::time_point began) const {
    if (!found.redis_error.empty()) {
      log(found.why == found.redis_error ? found.why : found.why + ": " + found.redis_error);
    }
    PathRecord::Step step;
    if (flow.path != nullptr) {
      std::size_t failed = 0;
      double oldest = -1;
      std::uint32_t hash = 0;
      for (const auto& record : found.rows) {
        failed += record == nullptr ? 1 : 0;
        hash = hash * 31 + (record != nullptr ? record->hash : 0);
        if (record != nullptr && record->found) oldest = std::max(oldest, now_s() - record->written);
      }
      step.taken = std::to_string(found.rows.size()) + " rows: " + std::to_string(found.kept) + " from memory, " +
                   std::to_string(failed) + " failed";
      if (oldest >= 0) step.why = "oldest value: " + number_text(std::round(oldest * 10) / 10) + " s; ";
      if (found.kept > 0) {
        const double copy_s = std::chrono::duration<double>(found.oldest).count();
        step.why += "oldest copy: " + number_text(std::round(copy_s * 1000) / 1000) + " s; ";
      }
      step.why += "hash of the values: " + std::to_string(hash);
      if (failed > 0) step.why += "; " + found.why;
    }
    note(flow, std::move(step), began);
  }

  const FeaturesParts parts_;
  ExternalGate gate_;
};

/// Returns a text with everything that a store's records depend on.
std::string declaration_of_view(const std::string& step, const FeatureView& view) {
  std::string text = step;
  const RedisAccess& access = view.access;
  const TlsFiles tls = access.tls.value_or(TlsFiles());
  for (const std::string& part :
       {view.redis, view.project, view.view, access.user, access.password, std::to_string(access.database),
        std::string(access.tls ? "tls" : ""), tls.ca, tls.certificate, tls.key}) {
    (text += '\n') += part;
  }
  for (const std::string& feature : view.features) (text += '\n') += feature;
  return text + '\n' + std::to_string(view.time_out.count()) + ' ' + std::to_string(view.keep.count()) + ' ' +
         std::to_string(view.max_kept);
}

FeastValue default_of(const YamlNode& node, Dtype dtype) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max(), kMax32 = std::numeric_limits<int>::max();
  switch (dtype) {
    case Dtype::string: return node.text();
    case Dtype::boolean: return std::int64_t{node.boolean()};
    case Dtype::i32: return node.integer(-kMax32 - 1, kMax32);
    case Dtype::i64: return node.integer(-kMax - 1, kMax);
    default: return node.number(-kInfinity, kInfinity);
  }
}

FeatureColumn read_column(const std::string& name, const YamlNode& node) {
  FeatureColumn column{.name = name};
  const YamlNode type = node.at("type");
  const auto port = tensor_port(name, type.name() + "[]");
  if (!port || !FeatureColumn::supports(port->dtype)) type.expected("one of bool, i32, i64, f32, f64 and string");
  column.dtype = port->dtype;
  constexpr std::uint64_t kMaxLength = 1'000'000;
  node.fields({{"type", kReadElsewhere},
               {"default", [&](const YamlNode& n) { column.missing = default_of(n, column.dtype); }},
               {"list", [&](const YamlNode& n) { column.list = n.whole(1, kMaxLength); }}});
  return column;
}

/// Returns the number of rows as an extent of the results' types.
std::string row_extent(const YamlNode& entity, const std::vector<Argument>& parts) {
  for (const Argument& part : parts) {
    const Dtype dtype = part.value.type.dtype;
    if (dtype == Dtype::i32 || dtype == Dtype::i64 || dtype == Dtype::string) continue;
    entity.at(part.name).fail("an entity is known by i32, i64 or string, '" + part.value.type.name + "' is " +
                              part.value.type.type);
  }
  if (parts.empty()) entity.expected("what an entity is known by");
  const Port& first = parts.front().value.type;
  if (!first.ranked) return "N";
  return first.dims.empty() ? "1" : first.dims.front();
}

TypedSlot result_of(const std::string& name, Dtype dtype, const std::vector<std::string>& dims,
                    const HostScope& scope) {
  std::string type = std::string(api::name_of(dtype)) + "[";
  for (const std::string& dim : dims) type += (type.back() == '[' ? "" : ",") + dim;
  return {.slot = scope.new_slot(dtype), .type = {.name = name, .type = type + "]", .dtype = dtype, .dims = dims}};
}

/// Adds the results of a column.
void add_column(FeatureColumn column, const std::string& rows, const HostScope& scope, FeaturesParts& parts,
                Results& results) {
  std::vector<std::string> dims{rows};
  if (column.list) dims.push_back(column.name + "_items");
  results.emplace_back(column.name, result_of(column.name, column.dtype, dims, scope));
  if (column.list) {
    const std::string length = column.name + "_length";
    results.emplace_back(length, result_of(length, Dtype::i64, {rows}, scope));
  }
  parts.view.features.push_back(column.name);
  parts.columns.push_back(std::move(column));
}

}  // namespace

HostStep read_features_step(const YamlNode& node, const std::string& name, const HostScope& scope) {
  FeaturesParts parts{.view = {.project = node.at("project").name(), .view = node.at("view").name()}};
  (void)node.at("redis");
  if (!scope.kept) {
    RedisPlace place = read_redis(node, scope.folder);
    parts.view.redis = std::move(place.address);
    parts.view.access = std::move(place.access);
  }
  constexpr double kMinMs = 0.001, kSecond = 1000;
  node.fields({{"redis", kReadElsewhere},
               {"redis_user", kReadElsewhere},
               {"redis_password", kReadElsewhere},
               {"redis_database", kReadElsewhere},
               {"redis_tls", kReadElsewhere},
               {"project", kReadElsewhere},
               {"view", kReadElsewhere},
               {"get", kReadElsewhere},
               {"entity", [&](const YamlNode& n) { parts.entity = arguments_of(n, scope); }},
               {"timeout_ms",
                [&](const YamlNode& n) {
                  parts.view.time_out = std::chrono::duration_cast<std::chrono::microseconds>(time_of(n, kMinMs));
                }},
               {"max_age_s", [&](const YamlNode& n) { parts.max_age_s = n.number(0, 1e12); }},
               {"cache_s", [&](const YamlNode& n) { parts.view.keep = time_of(n, 0, kSecond); }},
               {"cache_entries", [&](const YamlNode& n) { parts.view.max_kept = n.whole(0, 1'000'000'000); }}});
  const std::string rows = row_extent(node.at("entity"), parts.entity);
  HostStep step;
  for (const auto& [feature, column] : node.at("get").entries()) {
    add_column(read_column(feature, column), rows, scope, parts, step.results);
  }
  if (parts.columns.empty()) node.at("get").expected("at least one feature");
  step.results.emplace_back("status", result_of("status", Dtype::i64, {rows}, scope));
  std::set<std::string> names;
  for (const auto& result : step.results) {
    if (!names.insert(result.first).second) node.at("get").fail("two results have the name '" + result.first + "'");
  }
  if (!scope.kept) try {
      parts.store = scope.holdings.get<FeatureStore>(declaration_of_view(name, parts.view),
                                                     [&] { return std::make_shared<FeatureStore>(parts.view); });
    } catch (const api::Error& error) {
      node.at("redis").fail(error.what());
    }
  step.node = std::make_unique<FeaturesNode>(name, std::move(parts), scope, step.results);
  return step;
}

}  // namespace frazil::server
