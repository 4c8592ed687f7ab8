#include "govern/audit/audit_log.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "govern/audit/blobs.h"
#include "govern/audit/history.h"
#include "govern/audit/holds.h"
#include "govern/audit/payloads.h"
#include "govern/audit/prune.h"
#include "govern/audit/subject_keys.h"
#include "govern/base/error.h"
#include "govern/base/file.h"

namespace frazil::govern {
namespace {

using AuditClock = std::chrono::steady_clock;

constexpr auto kRetryAfter = std::chrono::milliseconds(200);
constexpr std::size_t kMostLate = 4096;  // entries; with more, the caller makes its own, which slows it down
constexpr const char* kTooManyWait = "too many entries wait";

}  // namespace

std::chrono::seconds parse_keep(std::string_view text, std::string_view what) {
  constexpr std::pair<char, std::int64_t> kUnits[] = {{'h', 3600}, {'d', 86400}, {'y', 365 * 86400}};
  const auto number = text.empty() ? std::nullopt : parse_decimal(text.substr(0, text.size() - 1));
  for (const auto& [unit, seconds] : kUnits) {
    if (number && *number <= 1000000 && text.back() == unit) {
      return std::chrono::seconds(static_cast<std::int64_t>(*number) * seconds);
    }
  }
  fail(Code::bad_input, "{}: expected a number with h, d or y, such as 190d, got '{}'", what, text);
}

/// The state of a log. Callers add to `queue`; the writer's thread takes it. Another thread asks witnesses.
struct AuditLog::Impl {
  explicit Impl(AuditOptions given);

  std::uint64_t append(Json event);
  std::optional<std::uint64_t> append_request(PendingEntry request);
  std::int64_t time_stamp();
  std::string reason_against(std::size_t bytes, std::size_t payload, std::size_t max_bytes) const;
  std::uint64_t add(PendingEntry entry);
  bool much_waits() const;
  void write();
  void write_batch(std::unique_lock<std::mutex>& lock);
  void checkpoint(std::unique_lock<std::mutex>& lock);
  void add_gap();
  bool checkpoint_due() const;
  void witness();
  void ask_witnesses(const SignedCheckpoint& checkpoint);
  void note_witnesses(const Cosigner::Result& result, const Checkpoint& checkpoint);
  void append_witness_event(const std::string& name, std::string_view state, const std::string& text);
  std::string refusal() const;
  void close();

  AuditOptions options;
  LogStore store;  ///< of the writer's thread; its checkpoint and the file are guarded by `files`
  Cosigner cosigner;
  mutable std::mutex mutex;
  std::mutex files;
  std::condition_variable work, done, signed_more;
  std::vector<PendingEntry> queue;
  std::vector<std::string> batch, batch_payloads;  ///< being written, or failed to be
  std::size_t queue_bytes = 0, payload_bytes = 0;
  bool new_payload_file = false;  ///< the next commit begins one
  std::uint64_t size = 0, durable = 0, signed_size = 0, witnessed_size = 0;
  std::uint64_t lost = 0;
  std::int64_t lost_since_ms = 0;
  std::string lost_reason, failure, conflict, witness_failure;
  std::map<std::string, std::string> witness_states;
  std::int64_t last_ms = 0;
  bool urgent = false, checkpoint_asked = false, closing = false, closed = false, stop_witness = false;
  bool torn_checkpoint = false;  ///< entries are durable, and the checkpoint could not be written
  AuditClock::time_point last_checkpoint = AuditClock::now(), last_quorum = AuditClock::now();
  std::optional<SignedCheckpoint> newest;  ///< for the witnesses
  std::thread writer, asker;
};

AuditLog::Impl::Impl(AuditOptions given)
    : options(std::move(given)),
      store(options.folder, options.origin, options.key),
      cosigner(options.folder, options.witnesses, options.witness_client) {
  if (!options.witnesses.witnesses().empty() && !options.witness_client) {
    fail(Code::bad_input, "audit log '{}': there are witnesses, and no client to ask them", options.folder);
  }
  const VerifierKey own = {options.origin, SignatureType::ed25519, options.key.public_key()};
  write_file(fmt::format("{}/{}", options.folder, kOwnPolicyFile), options.witnesses.with_logs({own}).text());
  size = durable = store.size();
  signed_size = store.checkpoint().checkpoint.size;
  last_ms = parse_time(store.recovery().last_time).value_or(0);
  if (const auto old = read_history(options.folder); !old.empty()) {
    const Checkpoint& seen = old.back().checkpoint;
    TileReader tiles(options.folder, signed_size);
    if (seen.size > signed_size || root_of(seen.size, tiles.subtrees()) != seen.root) {
      fail(Code::bad_input, "audit log '{}': its checkpoint contradicts the cosigned one of size {}", options.folder,
           seen.size);
    }
    witnessed_size = seen.size;
  }
  if (!options.witnesses.witnesses().empty()) ask_witnesses(store.checkpoint());
  if (!conflict.empty()) fail(Code::bad_input, "audit log '{}': {}", options.folder, conflict);
  if (!store.recovery().text.empty()) {
    append({{"kind", "repair"}, {"reason", store.recovery().text}, {"torn", store.recovery().torn}});
  }
  writer = std::thread([this] { write(); });
  if (!options.witnesses.witnesses().empty()) asker = std::thread([this] { witness(); });
}

/// Returns why no event can be taken at present; empty if it can.
std::string AuditLog::Impl::refusal() const {
  if (closing) return "it is closed";
  if (!conflict.empty()) return conflict;
  if (!failure.empty()) return failure;
  const bool late = options.witness_mode == WitnessMode::refuse && !witness_failure.empty() &&
                    AuditClock::now() - last_quorum > options.witness_patience;
  return late ? witness_failure : "";
}

/// Returns a time that is not before those it returned earlier. Requires the lock.
std::int64_t AuditLog::Impl::time_stamp() { return last_ms = std::max(last_ms, now_milliseconds()); }

std::uint64_t AuditLog::Impl::append(Json event) {
  if (event.is_object() && !event.contains("at")) {
    const std::lock_guard lock(mutex);
    event["at"] = format_time(time_stamp());
  }
  std::string entry = entry_of(event);
  const std::lock_guard lock(mutex);
  const std::string reason = reason_against(entry.size(), 0, 2 * options.max_pending_bytes);
  if (!reason.empty()) fail(Code::limit, "audit log '{}': {}", options.folder, reason);
  const std::size_t bytes = entry.size();
  return add({.text = std::move(entry), .bytes = bytes});
}

std::optional<std::uint64_t> AuditLog::Impl::append_request(PendingEntry request) {
  std::unique_lock lock(mutex);
  request.at_ms = time_stamp();
  if (queue.size() >= kMostLate) {
    lock.unlock();
    make_entry(request);
    lock.lock();
  }
  const std::string reason = reason_against(request.bytes, request.payload_bytes, options.max_pending_bytes);
  if (reason.empty()) return add(std::move(request));
  if (options.pressure != PressureMode::gap || closing || !conflict.empty()) {
    fail(Code::limit, "audit log '{}': {}", options.folder, reason);
  }
  if (lost++ == 0) {
    lost_since_ms = request.at_ms;
    lost_reason = reason == kTooManyWait ? "pressure" : "storage";
  }
  return std::nullopt;
}

/// Returns why an entry cannot be taken at present; empty if it can. Requires the lock.
std::string AuditLog::Impl::reason_against(std::size_t bytes, std::size_t payload, std::size_t max_bytes) const {
  if (std::string reason = refusal(); !reason.empty()) return reason;
  const bool full = queue_bytes + bytes > max_bytes || payload_bytes + payload > options.max_pending_payloads;
  return full ? kTooManyWait : "";
}

/// Requires the lock.
std::uint64_t AuditLog::Impl::add(PendingEntry entry) {
  queue_bytes += entry.bytes;
  payload_bytes += entry.payload_bytes;
  queue.push_back(std::move(entry));
  if (queue.size() == 1 || much_waits()) work.notify_one();
  return size++;
}

bool AuditLog::Impl::much_waits() const {
  return queue_bytes > options.max_pending_bytes / 2 || payload_bytes > options.max_pending_payloads / 4;
}

/// Adds an event with the number of requests that were lost. Requires the lock.
void AuditLog::Impl::add_gap() {
  if (lost == 0 || !failure.empty()) return;
  std::string gap = gap_entry(time_stamp(), lost, lost_since_ms, lost_reason);
  const std::size_t bytes = gap.size();
  add({.text = std::move(gap), .bytes = bytes});
  lost = 0;
}

bool AuditLog::Impl::checkpoint_due() const {
  if (durable == signed_size && !torn_checkpoint) return false;
  return checkpoint_asked || closing || durable - signed_size >= options.checkpoint_entries ||
         AuditClock::now() - last_checkpoint >= options.checkpoint_every;
}

void AuditLog::Impl::write_batch(std::unique_lock<std::mutex>& lock) {
  std::vector<PendingEntry> taken;
  if (batch.empty()) {
    taken.swap(queue);
    queue_bytes = payload_bytes = 0;
  }
  if (std::exchange(new_payload_file, false)) store.begin_payload_file();
  if (batch.empty() && taken.empty()) return;
  lock.unlock();
  for (PendingEntry& entry : taken) {
    make_entry(entry);
    batch.push_back(std::move(entry.text));
    if (!entry.payload.empty()) batch_payloads.push_back(std::move(entry.payload));
    entry = {};
  }
  std::string fault;
  try {
    store.commit(batch, batch_payloads);
  } catch (const std::exception& error) {
    fault = error.what();
  }
  lock.lock();
  failure = fault;
  if (fault.empty()) {
    durable += batch.size();
    batch.clear();
    batch_payloads.clear();
  }
}

void AuditLog::Impl::checkpoint(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  std::string fault;
  std::optional<SignedCheckpoint> made;
  try {
    const std::lock_guard guard(files);
    store.sign_checkpoint();
    made = store.checkpoint();
  } catch (const std::exception& error) {
    fault = error.what();
  }
  lock.lock();
  last_checkpoint = AuditClock::now();
  torn_checkpoint = !fault.empty();
  failure = fault;
  if (!made) return;
  signed_size = made->checkpoint.size;
  checkpoint_asked = false;
  newest = std::move(made);
  signed_more.notify_all();
}

/// The writer's thread.
void AuditLog::Impl::write() {
  std::unique_lock lock(mutex);
  for (bool first = true;; first = false) {
    const auto idle = [&] { return queue.empty() && batch.empty() && lost == 0 && !checkpoint_due() && !closing; };
    if (!first && failure.empty()) work.wait_for(lock, options.checkpoint_every, [&] { return !idle(); });
    const auto now = [&] { return urgent || closing || checkpoint_asked || much_waits(); };
    if (!failure.empty()) {
      work.wait_for(lock, kRetryAfter, [&] { return closing; });
    } else if (!queue.empty()) {
      work.wait_for(lock, options.commit_every, now);
    }
    add_gap();
    urgent = false;
    write_batch(lock);
    if (batch.empty() && checkpoint_due()) checkpoint(lock);
    done.notify_all();
    if (closing && ((queue.empty() && !checkpoint_due()) || !failure.empty())) return;
  }
}

void AuditLog::Impl::append_witness_event(const std::string& name, std::string_view state, const std::string& text) {
  try {
    append({{"kind", "witness"}, {"witness", name}, {"state", state}, {"text", text}});
  } catch (const Error&) {
    return;  // the log refuses events at present; the state shows in status()
  }
}

void AuditLog::Impl::note_witnesses(const Cosigner::Result& result, const Checkpoint& checkpoint) {
  std::map<std::string, std::string> changed;
  {
    const std::lock_guard lock(mutex);
    if (!result.conflict.empty()) conflict = result.conflict;
    witness_failure.clear();
    for (const auto& [name, reason] : result.failures) {
      witness_failure = fmt::format("witness '{}': {}", name, reason);
      if (witness_states[name] != "unreachable") changed[name] = witness_states[name] = "unreachable";
    }
    for (const std::string& name : result.witnesses) {
      if (witness_states[name] == "unreachable") changed[name] = "reached";
      witness_states[name] = "reached";
    }
    if (options.witnesses.is_quorum(result.witnesses)) {
      last_quorum = AuditClock::now();
      witness_failure.clear();
    } else if (witness_failure.empty()) {
      witness_failure = "no quorum of witnesses has cosigned the checkpoint";
    }
    if (!result.witnesses.empty()) witnessed_size = checkpoint.size;
  }
  for (const auto& [name, state] : changed) {
    const auto reason = result.failures.find(name);
    append_witness_event(name, state, reason == result.failures.end() ? "" : reason->second);
  }
}

void AuditLog::Impl::ask_witnesses(const SignedCheckpoint& checkpoint) {
  const Cosigner::Result result = cosigner.ask(checkpoint);
  if (!result.witnesses.empty()) {
    const std::lock_guard guard(files);
    append_history(options.folder, {result.note, checkpoint.checkpoint});
    if (store.checkpoint().checkpoint.size == checkpoint.checkpoint.size) store.write_checkpoint(result.note);
  }
  note_witnesses(result, checkpoint.checkpoint);
}

/// The thread that asks witnesses.
void AuditLog::Impl::witness() {
  std::unique_lock lock(mutex);
  while (true) {
    signed_more.wait_for(lock, options.checkpoint_every, [&] { return newest.has_value() || stop_witness; });
    if (!newest && stop_witness) return;
    if (!newest) continue;
    const SignedCheckpoint checkpoint = *std::exchange(newest, std::nullopt);
    lock.unlock();
    std::string fault;
    try {
      ask_witnesses(checkpoint);
    } catch (const std::exception& error) {
      fault = error.what();
    }
    lock.lock();
    if (!fault.empty()) witness_failure = fault;
    const bool again = !witness_failure.empty() && conflict.empty() && !newest && !stop_witness;
    if (again) {
      newest = checkpoint;
      signed_more.wait_for(lock, options.checkpoint_every, [&] { return stop_witness; });
    }
    done.notify_all();
  }
}

void AuditLog::Impl::close() {
  {
    const std::lock_guard lock(mutex);
    if (std::exchange(closing, true)) return;
  }
  work.notify_all();
  if (writer.joinable()) writer.join();
  {
    const std::lock_guard lock(mutex);
    stop_witness = true;
  }
  signed_more.notify_all();
  if (asker.joinable()) asker.join();
  if (!failure.empty()) fail(Code::limit, "audit log '{}': {}", options.folder, failure);
  store.sync();
}

AuditLog::AuditLog(AuditOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

AuditLog::~AuditLog() {
  try {
    impl_->close();
  } catch (const std::exception&) {
    return;  // the next open finds what is missing, and says so
  }
}

std::uint64_t AuditLog::append(Json event) { return impl_->append(std::move(event)); }

std::optional<std::uint64_t> AuditLog::append_request(std::function<RequestEntry()> make, std::size_t bytes,
                                                      std::size_t payload_bytes) {
  return impl_->append_request({.text = {}, .make = std::move(make), .bytes = bytes, .payload_bytes = payload_bytes});
}

void AuditLog::wait_durable(std::uint64_t index) {
  std::unique_lock lock(impl_->mutex);
  impl_->urgent = true;
  impl_->work.notify_one();
  const auto settled = [&] { return impl_->durable > index || !impl_->failure.empty(); };
  impl_->done.wait(lock, settled);
  if (impl_->durable <= index) {
    fail(Code::limit, "audit log '{}': {}", impl_->options.folder, impl_->failure);
  }
}

std::uint64_t AuditLog::append_durable(Json event) {
  const std::uint64_t index = append(std::move(event));
  wait_durable(index);
  return index;
}

std::string AuditLog::put_blob(std::string_view bytes) { return govern::put_blob(impl_->options.folder, bytes); }

PruneResult AuditLog::prune(const KeepTimes& keep, std::int64_t now_ms) {
  publish_checkpoint();
  const PrunePlan plan(impl_->options.folder, status().signed_size, keep, now_ms);
  PruneResult result = plan.result();
  if (result.dropped.empty()) return result;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->new_payload_file = true;  // from the next commit on, the files that the plan changes are not written
  }
  append_durable({{"kind", "prune"},
                  {"from", result.from},
                  {"to", result.to},
                  {"dropped", result.dropped},
                  {"before", plan.before()}});
  plan.apply();
  return result;
}

/// Returns the holds in all entries so far.
Holds AuditLog::holds() {
  publish_checkpoint();
  return Holds::read(impl_->options.folder, status().signed_size);
}

EraseResult AuditLog::erase(SubjectKeys& keys, std::string_view subject, const std::string& actor) {
  const auto id = keys.find_id(subject);
  if (!id) fail(Code::bad_input, "the subject has no key: nothing was recorded about it, or it is erased");
  if (const auto by = holds().of_subject(*id)) fail(Code::bad_input, "the subject is held by event {}", *by);
  Json event = {{"kind", "erase"}, {"subject", *id}};
  if (!actor.empty()) event["actor"] = actor;
  EraseResult result{.subject = *id, .event = append_durable(std::move(event))};
  (void)keys.destroy_key(subject);
  publish_checkpoint();
  result.blobs = remove_blobs_of(impl_->options.folder, status().signed_size, *id);
  return result;
}

std::uint64_t AuditLog::hold(const HoldRequest& request) {
  if (request.case_name.empty()) fail(Code::bad_input, "expected the name of a case");
  if (holds().has_case(request.case_name)) fail(Code::bad_input, "case '{}' has a hold", request.case_name);
  Json event = {{"kind", "hold"}, {"case", request.case_name}};
  if (!request.subject.empty()) event["subject"] = request.subject;
  if (request.from) event["from"] = *request.from;
  if (request.to) event["to"] = *request.to;
  if (!request.actor.empty()) event["actor"] = request.actor;
  return append_durable(std::move(event));
}

std::uint64_t AuditLog::release(const std::string& case_name, const std::string& actor) {
  if (!holds().has_case(case_name)) fail(Code::bad_input, "case '{}' has no hold", case_name);
  Json event = {{"kind", "release"}, {"case", case_name}};
  if (!actor.empty()) event["actor"] = actor;
  return append_durable(std::move(event));
}

std::string AuditLog::publish_checkpoint() {
  std::unique_lock lock(impl_->mutex);
  const std::uint64_t wanted = impl_->size;
  const bool asks = !impl_->options.witnesses.witnesses().empty();
  impl_->checkpoint_asked = impl_->signed_size < wanted;
  impl_->work.notify_one();
  const auto settled = [&] {
    if (!impl_->failure.empty() || !impl_->conflict.empty()) return true;
    return impl_->signed_size >= wanted &&
           (!asks || impl_->witnessed_size >= wanted || !impl_->witness_failure.empty());
  };
  impl_->done.wait(lock, settled);
  for (const std::string* reason : {&impl_->failure, &impl_->conflict}) {
    if (!reason->empty()) fail(Code::limit, "audit log '{}': {}", impl_->options.folder, *reason);
  }
  lock.unlock();
  const std::lock_guard guard(impl_->files);
  return format_note(impl_->store.checkpoint().note);
}

void AuditLog::close() { impl_->close(); }

AuditLog::Status AuditLog::status() const {
  const std::lock_guard lock(impl_->mutex);
  return {impl_->size,
          impl_->durable,
          impl_->signed_size,
          impl_->witnessed_size,
          impl_->lost,
          impl_->failure,
          impl_->witness_failure.empty() ? impl_->conflict : impl_->witness_failure};
}

const Recovery& AuditLog::recovery() const { return impl_->store.recovery(); }

}  // namespace frazil::govern
