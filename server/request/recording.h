#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/core/message.h"
#include "server/request/request.h"

namespace frazil::server {

/// How a model ran for a request: alone, or joined with others. Extents and strides decide the bits of a result, so
/// that other requests are represented by their extents.
struct RunShape {
  enum class Way : std::uint8_t {
    alone,      ///< with its own inputs
    joined,     ///< along the batch axis
    ragged,     ///< without padding
    regrouped,  ///< equal work of several requests was joined
  };
  struct Extent {
    std::int64_t count = 0, length = 0;  ///< as BatchPlan::Shape
    bool operator==(const Extent&) const = default;
  };
  Way way = Way::alone;
  std::uint64_t row = 0;        ///< the request's position in `members`
  std::vector<Extent> members;  ///< the requests of the run in their order; empty: unknown, or alone
  std::uint64_t seed = 0;       ///< of a model that draws random numbers; 0: it draws none
  std::uint64_t results = 0;    ///< checksum of the results
};

/// One event of a request that its inputs do not determine, or that a replay compares.
struct Happening {
  std::string node;  ///< path of the node; empty: the model itself
  /// "run", "repeat" (a stored answer of a sequence), "late" (the time-out had passed before the call), the kind of a
  /// host step, or the kind of a choice.
  std::string kind;
  std::string taken = {};  ///< a choice: its outcome. A host step: checksum of its inputs. A run: name/version
  std::optional<std::pair<Http, std::string>> failure = {};
  std::vector<NamedArray> values = {};  ///< a run: the sequence's state at its start. Others: the answer
  RunShape shape = {};
};

/// The events of a request: written while it runs, or forced while it is replayed. Events of one node keep their order.
/// Thread-safe.
class Recording {
 public:
  static constexpr std::size_t kMaxHappenings = 100'000;
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20U;  ///< of values

  enum class Mode : std::uint8_t {
    record,
    exact,    ///< what the record lacks is an error
    what_if,  ///< what the record lacks is run alone, and host steps fail
  };
  /// Records.
  Recording() = default;
  /// Replays events.
  Recording(Mode mode, const std::vector<Happening>& happenings);

  bool plays() const { return mode_ != Mode::record; }
  bool is_exact() const { return mode_ == Mode::exact; }

  // ---- while recording ----
  void add(Happening happening);
  /// Returns a recording for a block whose events count only if its result is used; this one during a replay.
  static std::shared_ptr<Recording> fork(const std::shared_ptr<Recording>& of);
  /// Adds the events of a block whose result is used.
  void join(Recording& block);
  /// Returns the events so far. nullopt if there were too many of them.
  std::optional<std::vector<Happening>> happenings() const;

  // ---- while replaying ----
  /// Returns the outcome of the node's next choice without taking it.
  std::optional<std::string> forced(const std::string& node, const std::string& kind) const;
  /// Records a choice, or compares it with the record.
  void took(const std::string& node, const std::string& kind, const std::string& taken);
  /// Returns the node's next event if it is of this kind, and removes it. Throws Refusal (unavailable) if there is none
  /// and the replay is exact.
  std::optional<Happening> next(const std::string& node, const std::string& kind);
  /// Returns the kind of the node's next event; empty if there is none.
  std::string next_kind(const std::string& node) const;
  /// Notes that a step differs from the record. The first note counts.
  void differ(const std::string& node, const std::string& what);
  /// Notes why equal bits cannot be expected. Each reason counts once.
  void loosen(const std::string& why);

  struct Findings {
    std::string node, what;             ///< the first difference; `what` is empty if there is none
    std::vector<std::string> loosened;  ///< why equal bits cannot be expected
    std::size_t unused = 0;             ///< events that the replay did not reach
  };
  Findings findings() const;

 private:
  std::optional<Happening> pop(const std::string& node, const std::string& kind);

  const Mode mode_ = Mode::record;
  mutable std::mutex mutex_;  // guards the members below
  std::vector<Happening> happenings_;
  std::size_t bytes_ = 0;
  bool overflowed_ = false;
  std::map<std::string, std::deque<Happening>, std::less<>> next_;  ///< by node
  Findings findings_;
};

using RecordingPtr = std::shared_ptr<Recording>;

/// Returns whether a failure depends on time, load or the machine, so that a replay takes it from the record.
inline bool is_transient(Http status) {
  return status == Http::timeout || status == Http::cancelled || status == Http::too_many ||
         status == Http::unavailable || status == Http::too_large;
}

/// Returns whether a request is a replay: it has no time-outs, and contacts nothing outside of the process.
inline bool is_replay(const RecordingPtr& recording) { return recording != nullptr && recording->plays(); }

}  // namespace frazil::server
