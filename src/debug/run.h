#pragma once

#include <mutex>
#include <thread>

#include "base/thread/mutex.h"
#include "debug/debugger.h"

namespace frazil::debug {

/// One run on a thread of its own, which waits wherever the debugger wants it to stop. While it waits, and once it has
/// ended, the debugger's thread may read and write what the run refers to.
class Debugger::Run : public exec::Observer {
 public:
  /// `target`: a site, and which time of those that it is made; the run stops there first, whatever else is wanted.
  Run(Debugger& of, std::optional<std::pair<std::size_t, std::uint64_t>> target);
  /// Ends the run.
  ~Run() override;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Lets it go on, and returns where it stops or ends.
  Stop go(Until until);
  void cancel() noexcept { session_->cancel(); }
  std::vector<Datum>& results() { return results_; }

  void run_begin(const Plan&, std::span<const std::int64_t>) override;
  std::span<const exec::WatchedValue> watched() const override { return watched_; }
  void value(std::size_t index, const Datum& value, std::span<const std::int64_t> iterations) override;
  bool without(std::size_t index, std::string_view why) override;

 private:
  void work();
  void record(std::size_t index, const Datum& value, std::span<const std::int64_t> iterations);
  std::optional<Stop> wanted(std::size_t index);
  bool ends_step(std::size_t index) const;
  bool reaches(std::size_t index) const;
  bool is_named(std::size_t index) const;
  void pause(Stop stop);

  Debugger& of_;
  const std::shared_ptr<exec::Executable> executable_;
  std::unique_ptr<exec::Session> session_;
  std::vector<exec::WatchedValue> watched_;  // per site
  std::vector<Datum> results_;
  std::optional<std::pair<std::size_t, std::uint64_t>> target_;
  Until until_ = Until::next_value;
  Path from_;               ///< around the place where the run stopped last
  std::size_t plans_ = 0;   ///< that have begun
  bool guard_ = false;      ///< one did not hold since the last value
  bool abandoned_ = false;  ///< the run is to end

  Mutex mutex_;
  Condition changed_;
  enum class State : std::uint8_t { waits, runs, over } state_ = State::waits;
  Stop stop_;
  const std::uint64_t generation_ = fork_generation();  ///< of the process that has the thread
  std::thread thread_;
};

}  // namespace frazil::debug
