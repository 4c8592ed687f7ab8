#pragma once

#include <mutex>
#include <thread>

#include "base/thread/mutex.h"
#include "debug/debugger.h"

namespace frazil::debug {

/// A run on its own thread, which waits where the debugger stops it. While it waits, and after it has ended, the
/// debugger's thread may access the data that the run refers to.
class Debugger::Run : public exec::Observer {
 public:
  /// `target`: a site and a count. The run first stops when the site is made for that time, whatever other reasons to
  /// stop there are.
  Run(Debugger& of, std::optional<std::pair<std::size_t, std::uint64_t>> target);
  /// Ends the run.
  ~Run() override;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Continues the run. Returns where it stops or ends.
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
  Path from_;               ///< the path of the last stop
  std::size_t plans_ = 0;   ///< plans that have begun
  bool guard_ = false;      ///< a guard missed since the last value
  bool abandoned_ = false;  ///< the run must end

  Mutex mutex_;
  Condition changed_;
  enum class State : std::uint8_t { waits, runs, over } state_ = State::waits;
  Stop stop_;
  const std::uint64_t generation_ = fork_generation();  ///< of the process that owns the thread
  std::thread thread_;
};

}  // namespace frazil::debug
