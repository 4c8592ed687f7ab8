#include "server/service/path_log.h"

#include <algorithm>
#include <cctype>
#include <random>

#include "server/service/privacy.h"

namespace frazil::server {
namespace {

constexpr std::size_t kMaxLogBytes = 64U << 20U;

std::size_t tensor_bytes_of(const RequestRecord& record) {
  std::size_t bytes = 0;
  for (const auto* list : {&record.inputs, &record.outputs}) {
    for (const auto& [name, value] : *list) bytes += value.is_tensor() ? value.bytes() : 0;
  }
  for (const Happening& happening : record.happenings) {
    for (const auto& [name, value] : happening.values) bytes += value.is_tensor() ? value.bytes() : 0;
  }
  return bytes;
}

bool matches(const RequestRecord& record, const PathLog::Query& query) {
  const bool slow = !query.slower_us || record.time >= std::chrono::microseconds(*query.slower_us);
  const bool taken = query.taken.empty() || std::ranges::any_of(record.steps, [&](const PathRecord::Step& step) {
                       return step.taken.find(query.taken) != std::string::npos;
                     });
  const bool ran =
      query.node.empty() || std::ranges::find(record.steps, query.node, &PathRecord::Step::node) != record.steps.end();
  return query.identity.sees(record.tenant) && slow && taken && ran && record.number > query.after &&
         (query.model.empty() || record.model == query.model) && (query.id.empty() || record.id == query.id) &&
         record.error.find(query.error) != std::string::npos;
}

void write_text(JsonText& json, std::string_view key, std::string_view text) {
  if (!text.empty()) json.member(key, text);
}

void write_us(JsonText& json, std::string_view key, Clock::duration time) {
  json.member(key, std::chrono::duration<double, std::micro>(time).count());
}

void write_step(JsonText& json, const PathRecord::Step& step) {
  json.begin_object();
  json.member("kind", step.kind);
  write_text(json, "node", step.node);
  write_text(json, "model", step.model);
  write_text(json, "version", step.version);
  write_text(json, "taken", step.taken);
  write_text(json, "why", step.why);
  write_us(json, "begin_us", step.begin);
  if (step.kind == "run") {
    write_us(json, "queue_us", step.queue);
    write_us(json, "time_us", step.time);
    json.member("requests", step.requests);
    json.member("padding", step.padding);
  }
  json.end_object();
}

void write_arrays(JsonText& json, std::string_view key, const RequestRecord& record,
                  const std::vector<NamedArray>& arrays) {
  if (arrays.empty()) return;
  json.key(key);
  json.begin_object();
  for (const NamedArray& named : arrays) json.member(named.first, shown_value(record, named));
  json.end_object();
}

/// Returns the branches that a request took, "NODE: BRANCH", each once with its count if that is above 1.
std::vector<std::string> branches_of(const RequestRecord& record) {
  constexpr std::size_t kMost = 16;
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  for (const PathRecord::Step& step : record.steps) {
    if (step.taken.empty()) continue;
    std::string branch = step.node + ": " + step.taken;
    const auto at = std::ranges::find(counts, branch, [](const auto& one) { return one.first; });
    if (at != counts.end())
      ++at->second;
    else if (counts.size() < kMost)
      counts.emplace_back(std::move(branch), 1);
  }
  std::vector<std::string> branches;
  for (const auto& [branch, count] : counts) {
    branches.push_back(count == 1 ? branch : branch + " (" + std::to_string(count) + " times)");
  }
  if (counts.size() == kMost) branches.emplace_back("...");
  return branches;
}

bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Returns true if the text contains the name as a whole word.
bool names(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !is_part_of_name(text[at - 1]);
    if (begins && (end == text.size() || !is_part_of_name(text[end]))) return true;
  }
  return false;
}

}  // namespace

/// The reason of a split with a key is always hidden: the key may be a tensor's value, and the reason does not name the
/// tensor.
void redact(RequestRecord& record, const std::vector<std::string>& list) {
  if (list.empty()) return;
  for (const std::string& name : list) {
    if (std::ranges::find(record.redacted, name) == record.redacted.end()) record.redacted.push_back(name);
  }
  for (PathRecord::Step& step : record.steps) {
    const bool named = std::ranges::any_of(list, [&](const auto& name) { return names(step.why, name); });
    if (!step.key && !named) continue;
    step.why = kRedacted;
    step.key.reset();
  }
}

void hide_personal(RequestRecord& record) {
  if (record.labels == nullptr || !record.labels->any) return;
  record.redacted.insert(record.redacted.end(), record.labels->values.begin(), record.labels->values.end());
  hide_values(record.steps, *record.labels);
}

bool is_hidden(const RequestRecord& record, std::string_view name) {
  return std::ranges::find(record.redacted, name) != record.redacted.end();
}

std::string shown_value(const RequestRecord& record, const NamedArray& named) {
  return is_hidden(record, named.first) ? std::string(kRedacted) : named.second.str();
}

void PathLog::replace(const PathConfig& config) {
  const std::scoped_lock lock(mutex_);
  most_ = config.ring;
  configured_ = config.sample;
  on_ = config.sample > 0 && config.ring > 0;
  share_ = config.sample > 0 ? config.sample : 1;
  inputs_ = config.inputs;
  redact_ = config.redact;
  drop_oldest_locked();
  for (auto& record : ring_) {
    auto hidden = std::make_shared<RequestRecord>(*record);
    redact(*hidden, redact_);
    record = std::move(hidden);
  }
}

PathLog::Sampling PathLog::configured_sampling() const {
  const std::scoped_lock lock(mutex_);
  return {.on = configured_ > 0 && keeps_any(), .share = configured_ > 0 ? configured_ : 1};
}

void PathLog::set_sampling(const Sampling& sampling) {
  on_ = sampling.on && keeps_any();
  share_ = sampling.share;
}

std::shared_ptr<PathRecord> PathLog::begin(Clock::time_point arrived) const {
  if (!on_.load(std::memory_order_relaxed)) return nullptr;
  const double sample = share_.load(std::memory_order_relaxed);
  if (sample < 1) {
    thread_local std::minstd_rand random(std::random_device{}());
    if (std::uniform_real_distribution<double>()(random) >= sample) return nullptr;
  }
  return std::make_shared<PathRecord>(arrived);
}

std::shared_ptr<const RequestRecord> PathLog::end(std::shared_ptr<RequestRecord> record) {
  const std::size_t bytes = tensor_bytes_of(*record);
  const std::scoped_lock lock(mutex_);
  redact(*record, redact_);
  record->number = next_++;
  ring_.push_back(record);
  bytes_ += bytes;
  drop_oldest_locked();
  return record;
}

void PathLog::drop_oldest_locked() {
  while (!ring_.empty() && (ring_.size() > most_ || (bytes_ > kMaxLogBytes && ring_.size() > 1))) {
    bytes_ -= tensor_bytes_of(*ring_.front());
    ring_.pop_front();
  }
}

std::vector<std::shared_ptr<const RequestRecord>> PathLog::find(const Query& query) const {
  std::vector<std::shared_ptr<const RequestRecord>> found;
  const std::scoped_lock lock(mutex_);
  for (auto at = ring_.rbegin(); at != ring_.rend() && found.size() < query.most; ++at) {
    if (matches(**at, query)) found.push_back(*at);
  }
  return found;
}

std::shared_ptr<const RequestRecord> PathLog::find(std::uint64_t number, const Tenants::Identity& identity) const {
  const std::scoped_lock lock(mutex_);
  if (ring_.empty() || number < ring_.front()->number || number >= next_) return nullptr;
  const auto& record = ring_[number - ring_.front()->number];
  return identity.sees(record->tenant) ? record : nullptr;
}

void write_brief_record(JsonText& json, const RequestRecord& record) {
  json.begin_object();
  json.member("number", record.number);
  json.member("model", record.model);
  json.member("version", record.version);
  write_us(json, "time_us", record.time);
  json.member("status", static_cast<unsigned>(record.status));
  json.key("taken");
  json.array(branches_of(record));
  json.end_object();
}

void write_record(JsonText& json, const RequestRecord& record, bool tensors) {
  json.begin_object();
  json.member("number", record.number);
  json.member("began_ns", record.began_ns);
  write_us(json, "time_us", record.time);
  if (record.parts > 0) {
    json.member("parts", record.parts);
    write_us(json, "first_part_us", record.first_part);
  }
  write_text(json, "id", record.id);
  write_text(json, "tenant", record.tenant);
  write_text(json, "model", record.model);
  write_text(json, "version", record.version);
  write_text(json, "digest", record.digest);
  write_text(json, "traceparent", record.trace);
  json.member("status", static_cast<unsigned>(record.status));
  write_text(json, "error", record.error);
  json.key("steps");
  json.array(record.steps, [&](const PathRecord::Step& step) { write_step(json, step); });
  json.member("replayable", !record.inputs.empty());
  if (tensors) {
    write_arrays(json, "inputs", record, record.inputs);
    write_arrays(json, "outputs", record, record.outputs);
  }
  json.end_object();
}

}  // namespace frazil::server
