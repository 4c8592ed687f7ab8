#include "debug/run.h"

#include <algorithm>

namespace frazil::debug {

Debugger::Run::Run(Debugger& of, std::optional<std::pair<std::size_t, std::uint64_t>> target)
    : of_(of),
      executable_(of.executable_),
      session_(of.ways_.open(*executable_)),
      watched_(of.sites_.watched()),
      target_(target) {
  for (const auto& [site, with] : of.replaced_) watched_[site] = {.name = with->name};
  session_->set_observer(this);
  thread_ = std::thread([this] { work(); });
}

Debugger::Run::~Run() {
  if (generation_ != fork_generation()) {
    thread_.detach();
    static_cast<void>(session_.release());  // leaked: the parent's thread left it in the middle of a run
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    abandoned_ = true;
    if (state_ == State::waits) state_ = State::runs;
    changed_.notify_all();
  }
  thread_.join();
}

void Debugger::Run::work() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return state_ == State::runs; });
  }
  Stop stop;
  if (!abandoned_) {
    if (Status status = session_->run(of_.inputs_, results_); !status) {
      stop.why = Stop::Why::failed;
      stop.fault = std::move(status).error();
    }
  }
  const std::scoped_lock lock(mutex_);
  stop_ = std::move(stop);
  state_ = State::over;
  changed_.notify_all();
}

Stop Debugger::Run::go(Until until) {
  if (generation_ != fork_generation()) {
    Stop stop;
    stop.why = Stop::Why::failed;
    stop.fault = Fault{Code::unsupported, "the run belongs to the process that began it, before a fork(): begin again"};
    return stop;
  }
  std::unique_lock lock(mutex_);
  until_ = until;
  state_ = State::runs;
  changed_.notify_all();
  changed_.wait(lock, [&] { return state_ != State::runs; });
  return stop_;
}

void Debugger::Run::pause(Stop stop) {
  std::unique_lock lock(mutex_);
  from_ = of_.sites_.path(stop.site);
  stop_ = std::move(stop);
  state_ = State::waits;
  changed_.notify_all();
  changed_.wait(lock, [&] { return state_ == State::runs; });
}

void Debugger::Run::run_begin(const Plan&, std::span<const std::int64_t>) { guard_ |= ++plans_ > 1; }

bool Debugger::Run::without(std::size_t index, std::string_view why) {
  of_.missing_[index] = why;
  if (plans_ == 1 && is_named(index) && !of_.is_kept(index)) of_.wanted_.push_back(index);
  return true;
}

/// Returns true if a breakpoint names the site.
bool Debugger::Run::is_named(std::size_t index) const {
  return std::ranges::any_of(of_.breakpoints_, [&](const Breakpoint& b) { return !b.sites.empty() && b.is_of(index); });
}

void Debugger::Run::value(std::size_t index, const Datum& value, std::span<const std::int64_t> iterations) {
  if (abandoned_) return session_->cancel();
  if (!of_.wanted_.empty()) return pause({.site = index});
  record(index, value, iterations);
  if (auto stop = wanted(index)) {
    stop->site = index;
    stop->iterations.assign(iterations.begin(), iterations.end());
    pause(*std::move(stop));
    if (abandoned_) session_->cancel();
  }
}

void Debugger::Run::record(std::size_t index, const Datum& value, std::span<const std::int64_t> iterations) {
  auto& made = of_.made_[index];
  ++made.count;
  made.last = value;
  made.iterations.assign(iterations.begin(), iterations.end());
}

/// Returns true for the last output of its node that the run makes. Parameters of bodies are not steps.
bool Debugger::Run::ends_step(std::size_t index) const {
  const NodeId node = of_.sites_[index].node;
  if (!node) return false;
  for (std::size_t next = index + 1; next < of_.sites_.size() && of_.sites_[next].node == node; ++next) {
    if (of_.missing_[next].empty()) return false;
  }
  return true;
}

bool Debugger::Run::reaches(std::size_t index) const {
  const Path& path = of_.sites_.path(index);
  switch (until_) {
    case Until::next_value: return true;
    case Until::step_over: return !is_inside(path, from_);
    case Until::step_into: return is_inside(path, from_) || is_inside(from_, path);
    case Until::step_out: return is_inside(from_, path);
    case Until::breakpoint: return false;
  }
  return false;
}

std::optional<Stop> Debugger::Run::wanted(std::size_t index) {
  const auto& made = of_.made_[index];
  if (target_) {
    if (*target_ != std::pair(index, made.count)) return std::nullopt;
    target_.reset();
    return Stop{.why = Stop::Why::step};
  }
  const bool guard = std::exchange(guard_, false);
  for (const Breakpoint& b : of_.breakpoints_) {
    const bool hit = b.when == Breakpoint::When::guard ? guard : b.is_of(index) && b.holds(made.last);
    if (hit) return Stop{.why = Stop::Why::breakpoint, .breakpoint = b.number};
  }
  if (ends_step(index) && reaches(index)) return Stop{.why = Stop::Why::step};
  return std::nullopt;
}

}  // namespace frazil::debug
