#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "govern/audit/cosigner.h"
#include "govern/audit/event.h"
#include "govern/audit/log_store.h"
#include "govern/audit/pending_entry.h"
#include "govern/base/key.h"

namespace frazil::govern {

/// The treatment of requests while entries cannot be written, or while too many wait.
enum class PressureMode : std::uint8_t {
  refuse,  ///< append() throws
  gap,     ///< requests are counted, and an event `gap` states their number when it works again
};
/// The effect of a time `witness_patience` in which no quorum of witnesses has cosigned a new checkpoint.
enum class WitnessMode : std::uint8_t {
  proceed,  ///< nothing; an event `witness` states it
  refuse,   ///< append() throws until a quorum cosigns again
};

struct AuditOptions {
  std::string folder;  ///< created if it is missing
  std::string origin;  ///< name of the log; see is_key_name()
  SigningKey key;      ///< Ed25519
  PressureMode pressure = PressureMode::refuse;
  std::chrono::milliseconds commit_every{100};                ///< unless wait_durable() asks for it earlier
  std::chrono::milliseconds checkpoint_every{1000};           ///< if there are new entries
  std::uint64_t checkpoint_entries = 16384;                   ///< or after this number of entries
  std::size_t max_pending_bytes = std::size_t{16} << 20;      ///< of requests that wait to be written
  std::size_t max_pending_payloads = std::size_t{256} << 20;  ///< bytes of payloads that wait to be written
  WitnessPolicy witnesses = {};                               ///< empty: none is asked. Its `log` lines are not used.
  WitnessClient witness_client = {};
  WitnessMode witness_mode = WitnessMode::proceed;
  std::chrono::milliseconds witness_patience{60000};
};

/// The times for which entries are kept, by retention class or kind: {"request", 190 days}. A kind overrides its class.
/// Kinds that are not listed are kept for ever, and so are kinds of class `always`.
using KeepTimes = std::map<std::string, std::chrono::seconds, std::less<>>;
/// Parses "190d", "6h" or "10y" (of 365 days). Throws Code::bad_input with `what`.
std::chrono::seconds parse_keep(std::string_view text, std::string_view what);

struct PruneResult {
  std::uint64_t from = 0, to = 0;                ///< range of indexes that was looked at
  std::map<std::string, std::uint64_t> dropped;  ///< entries that were removed, by kind
};

struct EraseResult {
  std::string subject;      ///< identifier of the subject
  std::uint64_t event = 0;  ///< index of the event `erase`
  std::uint64_t blobs = 0;  ///< blobs that were removed
};

struct HoldRequest {
  std::string case_name;
  std::string subject;  ///< identifier; empty: all subjects
  std::optional<std::uint64_t> from, to;
  std::string actor;  ///< may be empty
};

class Holds;
class SubjectKeys;

/// The audit log of a process: takes events from all threads, and writes and signs them from one. Thread-safe.
class AuditLog {
 public:
  /// Opens or creates a log. Appends an event `repair` if it was not closed in order. Throws Code::bad_input: see
  /// LogStore, and if a witness has cosigned a later state of the log, which makes this folder an old copy.
  explicit AuditLog(AuditOptions options);
  /// Closes the log and ignores errors.
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  /// Appends an event and returns its index. Sets `at` unless it is there. Throws Code::bad_input for an event that the
  /// table does not allow or that has more than 65,535 bytes, and Code::limit if it cannot be written at present. The
  /// entry is not durable yet.
  std::uint64_t append(Json event);
  /// Appends an event `request`, at little cost for the caller: the writer's thread calls `make` once, before it writes
  /// the entry. While thousands of entries wait, the caller's thread does, so that requests do not outrun the writer.
  /// `bytes`: how many bytes `make` holds; those of a payload are counted apart. Returns nullopt for a request that is
  /// counted as lost (PressureMode::gap). Throws Code::limit if it cannot be written at present.
  ///
  /// `make` must not hold the log. If it throws, or makes what append() would not take, an event `gap` of reason
  /// "fault" is in its place.
  std::optional<std::uint64_t> append_request(std::function<RequestEntry()> make, std::size_t bytes,
                                              std::size_t payload_bytes = 0);
  /// Waits until the entry at this index survives a crash. Throws Code::limit if writing fails meanwhile.
  void wait_durable(std::uint64_t index);
  /// Appends an event and waits until it is durable: for events that must precede their effect.
  std::uint64_t append_durable(Json event);

  /// Stores bytes as a blob and returns their digest.
  std::string put_blob(std::string_view bytes);
  /// Removes entries whose time is over, as whole bundles: those that remain move to "tile/kept". An event `prune`
  /// states the range first. Blobs that only removed entries named are removed. Do not call it twice at a time.
  PruneResult prune(const KeepTimes& keep, std::int64_t now_ms = now_milliseconds());
  /// Erases a subject: an event `erase` by `actor` (may be empty), then its key is destroyed, then blobs that only its
  /// entries name are removed. Calls of commit() and seal() for the subject that run meanwhile fail. Throws
  /// Code::bad_input, before anything changes, for a subject without a key and for one that is held.
  EraseResult erase(SubjectKeys& keys, std::string_view subject, const std::string& actor = {});
  /// Holds entries against erase() and prune() under the name of a case. Throws Code::bad_input if the case has a hold.
  std::uint64_t hold(const HoldRequest& request);
  /// Ends a hold. Throws Code::bad_input if the case has none.
  std::uint64_t release(const std::string& case_name, const std::string& actor = {});
  /// Signs a checkpoint of all entries so far, asks the witnesses and returns the note.
  std::string publish_checkpoint();
  /// Writes everything, signs a last checkpoint and asks the witnesses once more. Throws if that fails. Later calls of
  /// append() throw.
  void close();

  struct Status {
    std::uint64_t size = 0, durable = 0;  ///< entries: taken, and synced
    std::uint64_t signed_size = 0, witnessed_size = 0;
    std::uint64_t lost = 0;       ///< requests that are counted for the next `gap`
    std::string failure;          ///< why nothing can be written; empty if it can
    std::string witness_failure;  ///< why no quorum cosigns; empty if it does
  };
  Status status() const;
  const Recovery& recovery() const;

 private:
  struct Impl;
  Holds holds();
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::govern
