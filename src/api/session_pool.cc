#include "api/session_pool.h"

#include <algorithm>
#include <utility>

#include "api/open.h"
#include "base/thread/cores.h"

namespace frazil::api {
namespace {

std::size_t most_of(const PoolOptions& options) {
  constexpr std::size_t kPerCore = 4, kLeast = 64;
  if (options.max_sessions == 0) refuse(frazil::Code::bad_input, "PoolOptions::max_sessions: expected at least 1");
  return options.max_sessions.value_or(std::max(kPerCore * usable_cores(), kLeast));
}

}  // namespace

PoolImpl::PoolImpl(Model of, const PoolOptions& options)
    : model_(std::move(of)), options_(options), most_(most_of(options)), fork_(fork_generation()) {}

/// Forgets sessions in use and waiting calls of a parent process, because nothing in this process will release them.
void PoolImpl::forget_parent() {
  if (fork_ == fork_generation()) return;
  fork_ = fork_generation();
  waiting_.clear();
  sessions_ = idle_.size();
  held_ = 0;
  for (const Idle& idle : idle_) held_ += idle.held;
}

bool PoolImpl::may_open() const {
  if (sessions_ == 0 || inside_run()) return true;
  return sessions_ < most_ && (!options_.memory_limit || held_ + largest_ <= *options_.memory_limit);
}

std::optional<PoolImpl::Place> PoolImpl::take_place() {
  if (!idle_.empty()) {
    Place place{std::move(idle_.back().session), idle_.back().held};
    idle_.pop_back();
    return place;
  }
  if (!may_open()) return std::nullopt;
  ++sessions_;
  held_ += largest_;
  return Place{nullptr, largest_};
}

/// Wakes the call that has waited longest. It wakes the next one when it has got a session.
void PoolImpl::serve_next() {
  if (!waiting_.empty()) waiting_.front()->served.notify_one();
}

std::optional<PoolImpl::Place> PoolImpl::wait_for_place(Condition::Lock& lock, Waiting waiting,
                                                        Clock::time_point time) {
  const bool is_first = waiting_.empty() || inside_run();
  if (is_first) {
    if (auto place = take_place()) return place;
  }
  if (waiting == Waiting::none) return std::nullopt;
  Waiter self;
  waiting_.push_back(&self);
  std::optional<Place> place;
  const auto served = [&] { return waiting_.front() == &self && (place = take_place()).has_value(); };
  if (waiting == Waiting::forever) {
    self.served.wait(lock, served);
  } else {
    self.served.wait_for(lock, time - Clock::now(), served);
  }
  std::erase(waiting_, &self);
  serve_next();
  return place;
}

std::optional<PoolImpl::Lease> PoolImpl::acquire(Waiting waiting, Clock::time_point time) {
  std::optional<Place> place;
  {
    Condition::Lock lock(mutex_);
    forget_parent();
    place = wait_for_place(lock, waiting, time);
  }
  if (!place) return std::nullopt;
  if (place->session == nullptr) place->session = opened(place->held);
  return lease(std::move(*place));
}

std::optional<PoolImpl::Lease> PoolImpl::acquire_idle() {
  std::optional<Place> place;
  {
    const std::scoped_lock lock(mutex_);
    forget_parent();
    if (idle_.empty() || !waiting_.empty()) return std::nullopt;
    place = take_place();
  }
  return lease(std::move(*place));
}

PoolImpl::Lease PoolImpl::lease(Place place) {
  return {shared_from_this(), std::move(place.session), place.held, fork_generation()};
}

/// Opens a session for which take_place() has made room.
std::unique_ptr<Session> PoolImpl::opened(std::uint64_t held) try {
  auto session = std::make_unique<Session>(model_.open(options_.session));
  const std::scoped_lock lock(mutex_);
  ++opened_;
  return session;
} catch (...) {
  const std::scoped_lock lock(mutex_);
  --sessions_;
  held_ -= held;
  serve_next();
  throw;
}

bool PoolImpl::has_too_many_idle() const {
  if (options_.max_idle && idle_.size() > *options_.max_idle) return true;
  return options_.memory_limit && held_ > *options_.memory_limit && idle_.size() > 1;
}

/// Takes out the idle sessions that exceed the limits, longest idle first.
std::vector<PoolImpl::Idle> PoolImpl::over_limit() {
  std::vector<Idle> dropped;
  while (has_too_many_idle()) {
    held_ -= idle_.front().held;
    --sessions_;
    dropped.push_back(std::move(idle_.front()));
    idle_.erase(idle_.begin());
  }
  return dropped;
}

void PoolImpl::give_back(std::unique_ptr<Session> session, std::uint64_t held, std::uint64_t fork) noexcept {
  if (fork != fork_generation()) return;
  const bool usable = Access::reset(*session);
  if (!usable) session.reset();  // waits for the end of a request
  const std::uint64_t now = usable ? session->counters().held_bytes : 0;
  std::vector<Idle> dropped;
  {
    const std::scoped_lock lock(mutex_);
    held_ += now - held;
    if (usable) {
      largest_ = std::max(largest_, now);
      idle_.push_back({std::move(session), now, Clock::now()});
      dropped = over_limit();
    } else {
      --sessions_;
    }
    serve_next();
  }
}

Results PoolImpl::run(std::span<const Array> inputs) {
  const auto since = Clock::now();
  const auto time = run_time_of(options_.session);
  auto lease = time ? acquire(Waiting::until, since + *time) : acquire(Waiting::forever);
  if (!lease) refuse(frazil::Code::limit, "the deadline passed while the run waited for a session of the pool");
  return Access::run_since(**lease, inputs, since);
}

std::vector<Array> PoolImpl::in_order(std::span<const Named> inputs) const { return api::in_order(model_, inputs); }

SessionPool::Counts PoolImpl::counts() {
  const std::scoped_lock lock(mutex_);
  forget_parent();
  return {sessions_, idle_.size(), waiting_.size(), held_, opened_};
}

std::size_t PoolImpl::drop_idle(std::chrono::nanoseconds time) {
  std::vector<Idle> dropped;
  const std::scoped_lock lock(mutex_);
  forget_parent();
  const auto before = Clock::now() - time;
  const auto fresh = std::ranges::find_if(idle_, [&](const Idle& idle) { return idle.since > before; });
  std::move(idle_.begin(), fresh, std::back_inserter(dropped));
  idle_.erase(idle_.begin(), fresh);
  for (const Idle& idle : dropped) held_ -= idle.held;
  sessions_ -= dropped.size();
  serve_next();
  return dropped.size();
}

// ---- the public classes ----

SessionPool::SessionPool(const Model& model, const PoolOptions& options)
    : impl_(std::make_shared<PoolImpl>(Access::without_pool(model), options)) {
  (void)mode_of(options.session);
}

SessionPool::Lease::Lease(std::shared_ptr<PoolImpl> pool, std::unique_ptr<Session> session, std::uint64_t held,
                          std::uint64_t fork)
    : pool_(std::move(pool)), session_(std::move(session)), held_(held), fork_(fork) {}

SessionPool::Lease& SessionPool::Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  pool_ = std::move(other.pool_);
  session_ = std::move(other.session_);
  held_ = other.held_;
  fork_ = other.fork_;
  return *this;
}

SessionPool::Lease::~Lease() { give_back(); }

void SessionPool::Lease::give_back() noexcept {
  if (session_ != nullptr) pool_->give_back(std::move(session_), held_, fork_);
}

SessionPool::Lease SessionPool::acquire() const { return std::move(*impl_->acquire(PoolImpl::Waiting::forever)); }
std::optional<SessionPool::Lease> SessionPool::acquire_until(std::chrono::steady_clock::time_point time) const {
  return impl_->acquire(PoolImpl::Waiting::until, time);
}
std::optional<SessionPool::Lease> SessionPool::try_acquire() const { return impl_->acquire(PoolImpl::Waiting::none); }
std::optional<SessionPool::Lease> SessionPool::try_acquire_idle() const { return impl_->acquire_idle(); }

Results SessionPool::run(std::initializer_list<Named> inputs) const {
  return run(std::span<const Named>(inputs.begin(), inputs.size()));
}
Results SessionPool::run(std::span<const Named> inputs) const { return impl_->run(impl_->in_order(inputs)); }
Results SessionPool::run(std::span<const Array> inputs) const { return impl_->run(inputs); }

SessionPool::Counts SessionPool::counts() const { return impl_->counts(); }
std::size_t SessionPool::drop_idle(std::chrono::nanoseconds time) const { return impl_->drop_idle(time); }

Model::Model(std::shared_ptr<Impl> impl)
    : impl_(std::move(impl)),
      pool_(std::make_shared<PoolImpl>(Model(impl_, std::shared_ptr<PoolImpl>()), PoolOptions{})) {}
Model::Model(std::shared_ptr<Impl> impl, std::shared_ptr<PoolImpl> pool)
    : impl_(std::move(impl)), pool_(std::move(pool)) {}

SessionPool Model::pool() const { return pool_ == nullptr ? SessionPool(*this) : SessionPool(pool_); }
Model Model::with_pool(const PoolOptions& options) const { return {impl_, SessionPool(*this, options).impl_}; }

Results Model::run(std::initializer_list<Named> inputs) const { return pool().run(inputs); }
Results Model::run(std::span<const Named> inputs) const { return pool().run(inputs); }
Results Model::run(std::span<const Array> inputs) const { return pool().run(inputs); }

}  // namespace frazil::api
