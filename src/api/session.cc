#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>

#include <frazil/observer.h>
#include <frazil/session.h>

#include "api/access.h"
#include "api/model_sessions.h"
#include "api/open.h"
#include "api/profiler.h"
#include "api/request_queue.h"
#include "api/started_run.h"
#include "base/os/knobs.h"
#include "base/thread/mutex.h"
#include "base/thread/scheduler.h"
#include "ir/op/op.h"

namespace frazil::api {
namespace {

/// An observer that forwards executor events to a public Observer, if there is one, and keeps the values for a fetch.
class Adapter : public exec::Observer {
 public:
  Adapter(api::Observer* to, const Graph& model, std::vector<std::string> fetched = {})
      : to_(to), names_(to == nullptr ? std::vector<std::string>() : to->wanted()), fetched_(std::move(fetched)) {
    if (names_.empty() && fetched_.empty()) return;
    const Names known(model);
    for (const auto* names : {&names_, &fetched_}) {
      for (const std::string& name : *names) watched_.push_back(take(exec::find_value(known, model, name)));
    }
    values_.resize(fetched_.size());
  }
  const std::vector<std::string>& fetched() const { return fetched_; }
  /// Moves out the fetched values of the last run.
  std::vector<Array> take_values() { return std::exchange(values_, std::vector<Array>(fetched_.size())); }
  void run_begin(const Plan& plan, std::span<const std::int64_t>) override {
    graph_ = plan.graph.get();
    if (to_ != nullptr) to_->run_begin();
  }
  void run_end() override {
    if (to_ != nullptr) to_->run_end();
  }
  void step_begin(const Step& step, NodeId id) override {
    if (to_ != nullptr && !moves_values(id)) to_->node_begin(event(id, &step));
  }
  void step_end(const Step& step, NodeId id) override {
    if (to_ != nullptr && !moves_values(id)) to_->node_end(event(id, &step));
  }
  void branch(const Step&, NodeId id, bool taken) override {
    if (to_ != nullptr) to_->branch(event(id), taken);
  }
  void iteration(const Step&, NodeId id) override {
    if (to_ != nullptr) to_->iteration(event(id));
  }
  void shapes_changed(std::uint32_t) override {
    if (to_ != nullptr) to_->shapes_changed();
  }
  std::span<const exec::WatchedValue> watched() const override { return watched_; }
  void value(std::size_t index, const Datum& value, std::span<const std::int64_t> iterations) override {
    if (index >= names_.size()) {
      values_[index - names_.size()] = Access::array(value);
    } else {
      to_->value({names_[index], Access::array(value), iterations});
    }
  }
  bool without(std::size_t index, std::string_view why) override {
    return index < names_.size() && to_->without(names_[index], why);
  }

 private:
  /// Returns true for steps that only move values for a control-flow node, which has its own events.
  bool moves_values(NodeId id) const {
    return id.id < graph_->node_count() && std::holds_alternative<Region>(graph_->node(id).op->form);
  }

  static std::string_view kernel_name(const Step& step) {
    const auto* launch = step.as<step::Launch>();
    return launch != nullptr ? frazil::name_of(launch->kernel()) : frazil::name_of(step);
  }

  NodeEvent event(NodeId id, const Step* step = nullptr) const {
    if (id.id >= graph_->node_count()) return {{}, step != nullptr ? kernel_name(*step) : std::string_view(), ~0u};
    const Node& node = graph_->node(id);
    return {node.name, node.op->name, node.stable};
  }
  api::Observer* to_;
  std::vector<std::string> names_, fetched_;
  std::vector<exec::WatchedValue> watched_;  ///< values of names_, then of fetched_
  std::vector<Array> values_;                ///< values of fetched_
  const Graph* graph_ = nullptr;             ///< graph of the current plan
};

/// The number of runs that this thread is inside of.
thread_local int runs_here = 0;

class RunHere {
 public:
  RunHere() { ++runs_here; }
  ~RunHere() { --runs_here; }
  RunHere(const RunHere&) = delete;
  RunHere& operator=(const RunHere&) = delete;
};

/// Returns the scheduler of the options, or null if the session's thread does all the work.
std::shared_ptr<Scheduler> scheduler_of(const Options& options) {
  static_assert(Options::kMaxThreads == frazil::kMaxThreads);
  const unsigned threads = options.threads.value_or(knobs()->threads);
  if (threads > kMaxThreads) {
    refuse(frazil::Code::bad_input, "Options::threads: expected at most {}, got {}", kMaxThreads, threads);
  }
  return threads == 1 ? nullptr : scheduler(threads);
}

}  // namespace

Limits limits_of(const Options& options) {
  Limits limits = knobs()->limits;
  if (options.memory_limit) limits.memory_bytes = *options.memory_limit;
  if (options.arena_limit) limits.arena_bytes = *options.arena_limit;
  if (options.max_elements) limits.tensor_elements = *options.max_elements;
  if (options.max_steps) limits.steps = *options.max_steps;
  if (options.deadline_ms) limits.time = duration_of(*options.deadline_ms, "Options::deadline_ms");
  return limits;
}

bool inside_run() noexcept { return runs_here > 0; }

ExecutionMode mode_of(const Options& options) {
  using enum ExecutionMode;
  const std::string& tier = options.tier == "auto" ? knobs()->tier : options.tier;
  if (tier == "ref") return reference;
  const auto named = exec::tier_named(tier == "adaptive" ? "auto" : tier);
  if (!named) refuse(frazil::Code::bad_input, "Options::tier: expected auto, ref, 0, 1 or 2, got '{}'", tier);
  return static_cast<ExecutionMode>(*named);
}

std::unique_ptr<exec::Session> open_session(exec::Executable& executable, const Options& options) {
  auto session = executable.open();
  session->set_limits(limits_of(options));
  session->set_scheduler(scheduler_of(options));
  session->set_seed(options.seed);
  session->set_strict(options.strict_numerics);
  return session;
}

std::optional<std::chrono::steady_clock::duration> run_time_of(const Options& options) {
  return limits_of(options).time;
}

void check_run(const Model& model) { Access::impl(model).policies.check_run(model); }

std::vector<Array> in_order(const Model& model, std::span<const Named> named) {
  std::vector<Array> by_position(model.inputs().size());
  std::vector<bool> given(by_position.size());
  for (const Named& one : named) {
    const auto at = std::ranges::find(model.inputs(), one.name, &Port::name);
    if (at == model.inputs().end()) refuse(frazil::Code::bad_input, "the model has no input '{}'", one.name);
    const auto position = static_cast<std::size_t>(at - model.inputs().begin());
    if (given[position]) refuse(frazil::Code::bad_input, "input '{}' is given twice", one.name);
    given[position] = true;
    by_position[position] = one.value;
  }
  return by_position;
}

/// The caller's memory for one result; null if the output is not bound.
struct Bound {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  bool overlaps(const std::byte* other, std::size_t count) const {
    return data != nullptr && other < data + bytes && data < other + count;
  }
};

using Clock = std::chrono::steady_clock;

struct Session::Impl {
  explicit Impl(const Model& of) : model(Access::without_pool(of)), bound(of.outputs().size()) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  Model model;
  std::unique_ptr<ModelSessions> session;
  exec::Session* running = nullptr;  ///< the one that has the run in progress
  Limits limits;
  Limits opened_limits{};  ///< limits of the options
  api::Observer* observer = nullptr;
  std::unique_ptr<Adapter> adapter, fetcher;
  std::shared_ptr<ProfilerImpl> profiler;  ///< null: the session is not profiled
  std::optional<BothObservers> both;       ///< of an adapter and the profiler
  std::vector<Datum> inputs, outputs;
  std::vector<Bound> bound;  ///< by output

  std::atomic<bool> busy{false};  ///< a run is in progress or waits for its turn
  std::atomic<bool> stop{false};  ///< the run has been cancelled
  const std::atomic<bool>* given_stop = nullptr;
  Mutex mutex;
  Condition ended;
  std::shared_ptr<StartedRun> started;  ///< the last run of start(); guarded by `mutex`
  Done started_done;                    ///< of the run of start() in progress
  bool requested = false;               ///< the run is a request; guarded by `mutex`
  std::uint64_t generation = 0;         ///< fork_generation() of the process whose thread serves the request

  std::size_t output(std::string_view name) const {
    const auto at = std::ranges::find(model.outputs(), name, &Port::name);
    if (at == model.outputs().end()) refuse(frazil::Code::bad_input, "the model has no output '{}'", name);
    return static_cast<std::size_t>(at - model.outputs().begin());
  }
  void occupy() {
    if (busy.exchange(true)) refuse(frazil::Code::bad_input, "a run of this session is in progress");
    stop.store(false);
    if (given_stop != nullptr && *given_stop)
      stop.store(true);  // the caller sets it before it calls cancel(), which sets `stop`
  }
  void stop_run() noexcept {
    stop.exchange(true);  // see exec::Session::run
    session->cancel();
  }
  void cancel() noexcept {
    stop_run();
    std::shared_ptr<StartedRun> run;
    {
      const std::scoped_lock lock(mutex);
      run = started;
    }
    if (run != nullptr) run->cancel();
  }
  void end_request() {
    const std::scoped_lock lock(mutex);
    requested = false;
    busy = false;
    ended.notify_all();
  }

  /// Makes runs report to `chosen`, which may be null, and to the profiler.
  void observe(exec::Observer* chosen) {
    both.reset();
    if (profiler != nullptr && chosen != nullptr) both.emplace(*chosen, profiler->recorder);
    exec::Observer* const timing = profiler == nullptr ? nullptr : &profiler->recorder;
    session->set_observer(both ? &*both : chosen != nullptr ? chosen : timing);
  }
  void stop_profile() {
    if (profiler == nullptr) return;
    profiler->used = false;
    profiler = nullptr;
    observe(adapter.get());
  }

  /// Precondition: the session is occupied.
  void run(std::span<const Array> given, std::vector<Array>& values);
  /// Passes the inputs and the memory of results to the executor.
  void pass(std::span<const Array> given, std::vector<Array>& values);
  /// Takes the results from the executor.
  void take_results(std::vector<Array>& values);
  void end_started(std::exception_ptr error);
  void run_request(std::span<const Array> given, std::vector<Array>& values, Clock::time_point since);
  Datum lend(std::size_t k) const;
  void fill_bound(std::size_t k);
};

namespace {

/// A scope that occupies a session for one call on the calling thread.
class Occupied {
 public:
  explicit Occupied(std::atomic<bool>& busy) : busy_(busy) {}
  Occupied(const Occupied&) = delete;
  Occupied& operator=(const Occupied&) = delete;
  ~Occupied() { busy_ = false; }

 private:
  std::atomic<bool>& busy_;
};

}  // namespace

Session::Impl::~Impl() {
  if (profiler != nullptr) profiler->used = false;
  if (session == nullptr) return;
  if (started != nullptr) {
    cancel();
    if (started->abandon())
      end_started(std::make_exception_ptr(Error(api::Code::cancelled, "the session was destroyed")));
  }
  if (requested && generation != fork_generation()) {  // the thread that serves the request is the parent's
    [[maybe_unused]] auto* const leaked = session.release();
    return;
  }
  std::unique_lock lock(mutex);
  if (requested) stop_run();
  ended.wait(lock, [&] { return !requested; });
}

Session Model::open(const Options& options) const {
  auto impl = std::make_unique<Session::Impl>(*this);
  impl->session = std::make_unique<ModelSessions>(impl->model, options, &impl->stop);
  impl->limits = impl->opened_limits = limits_of(options);
  return Session(std::move(impl));
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Session::Impl& Session::impl() const {
  if (!impl_) refuse(frazil::Code::bad_input, "the session was moved from");
  return *impl_;
}

const Array& Results::operator[](std::size_t i) const {
  if (i >= values_.size()) refuse(frazil::Code::bad_input, "result {} of {}", i, values_.size());
  return values_[i];
}

const Array& Results::operator[](std::string_view name) const {
  const auto names = names_ ? std::span(*names_) : std::span<const std::string>();
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) refuse(frazil::Code::bad_input, "there is no result '{}'", name);
  return (*this)[static_cast<std::size_t>(at - names.begin())];
}

Array Results::take(std::size_t i) {
  (void)(*this)[i];
  return std::move(values_[i]);
}

Results Session::run(std::initializer_list<Named> inputs) {
  return run(std::span<const Named>(inputs.begin(), inputs.size()));
}

Results Session::run(std::span<const Named> inputs) { return run(in_order(impl().model, inputs)); }

Results Session::run(std::span<const Array> inputs) {
  Results results;
  run(inputs, results);
  return results;
}

void Session::run(std::span<const Array> inputs, Results& results) {
  impl().occupy();
  const Occupied occupied(impl().busy);
  impl().run(inputs, results.values_);
  results.names_ = Access::impl(impl().model).output_names;
}

/// Returns the bound memory for the executor, or an empty Datum if an input overlaps it.
Datum Session::Impl::lend(std::size_t k) const {
  const Bound& to = bound[k];
  for (const Datum& input : inputs) {
    if (input.is_tensor() && to.overlaps(input.tensor().data(), input.tensor().buffer().size())) return {};
  }
  Buffer memory = Buffer::borrow({to.data, to.bytes}, std::make_shared<char>(), true);
  return Datum(take(Tensor::over(Elem::u8, {static_cast<std::int64_t>(to.bytes)}, std::move(memory))));
}

/// Copies the result to the bound memory unless it was computed there.
void Session::Impl::fill_bound(std::size_t k) {
  const Bound& to = bound[k];
  const Tensor made = outputs[k].tensor();
  if (made.bytes() > to.bytes) {
    refuse(frazil::Code::bad_input, "output '{}': {} takes {} bytes, its memory has {}", model.outputs()[k].name,
           made.type_str(), made.bytes(), to.bytes);
  }
  if (made.bytes() != 0 && (made.data() != to.data || !made.contiguous())) {
    const Tensor packed = take(made.packed());
    std::memcpy(to.data, packed.data(), packed.bytes());
  }
  Buffer memory = Buffer::borrow({to.data, made.bytes()}, nullptr);
  outputs[k] = Datum(take(Tensor::over(made.elem(), made.sizes(), std::move(memory))));
}

void Session::Impl::run(std::span<const Array> given, std::vector<Array>& values) {
  const RunHere here;
  check_run(model);
  const logging::SinkScope log(Access::impl(model).bounds.log);
  pass(given, values);
  const Status status = running->run(inputs, outputs);
  inputs.clear();
  check(status);
  take_results(values);
}

void Session::Impl::pass(std::span<const Array> given, std::vector<Array>& values) {
  inputs.resize(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) inputs[i] = Access::datum(given[i]);
  outputs.resize(values.size());
  for (std::size_t k = 0; k < values.size(); ++k) outputs[k] = Access::release(values[k]);
  outputs.resize(bound.size());
  for (std::size_t k = 0; k < bound.size(); ++k) {
    if (bound[k].data != nullptr) outputs[k] = lend(k);
  }
  running = &session->of(inputs);
  if (profiler != nullptr) profiler->keep_alive(running->executable().shared_from_this());
}

void Session::Impl::take_results(std::vector<Array>& values) {
  for (std::size_t k = 0; k < bound.size(); ++k) {
    if (bound[k].data != nullptr) fill_bound(k);
  }
  values.resize(outputs.size());
  for (std::size_t k = 0; k < values.size(); ++k) Access::assign(values[k], std::move(outputs[k]));
}

Results Session::fetch(std::initializer_list<Named> inputs, const std::vector<std::string>& values) {
  return fetch(std::span<const Named>(inputs.begin(), inputs.size()), values);
}

Results Session::fetch(std::span<const Named> inputs, const std::vector<std::string>& values) {
  Impl& s = impl();
  const std::vector<Array> by_position = in_order(s.model, inputs);
  s.occupy();
  const Occupied occupied(s.busy);
  if (!s.fetcher || s.fetcher->fetched() != values) {
    s.fetcher = std::make_unique<Adapter>(s.observer, s.session->executable().graph(), values);
  }
  struct Observed {
    Impl& s;
    ~Observed() { s.observe(s.adapter.get()); }
  } const observed{s};
  s.observe(s.fetcher.get());
  (void)s.fetcher->take_values();
  Results results;
  s.run(by_position, results.values_);
  auto names = std::make_shared<std::vector<std::string>>(*Access::impl(s.model).output_names);
  names->insert(names->end(), values.begin(), values.end());
  for (Array& value : s.fetcher->take_values()) results.values_.push_back(std::move(value));
  results.names_ = std::move(names);
  return results;
}

/// Runs a request. Its deadline counts from `since`, when it was made.
void Session::Impl::run_request(std::span<const Array> given, std::vector<Array>& values, Clock::time_point since) {
  if (stop) refuse(frazil::Code::cancelled, "the request was cancelled before it began");
  Limits left = limits;
  if (left.time) {
    const auto waited = Clock::now() - since;
    if (waited >= *left.time) refuse(frazil::Code::limit, "the deadline passed while the request waited for a thread");
    *left.time -= waited;
  }
  session->set_limits(left);
  run(given, values);
}

std::future<Results> Session::run_async(std::vector<Array> inputs) {
  Impl& s = impl();
  std::promise<Results> promise;
  std::future<Results> future = promise.get_future();
  s.occupy();
  {
    const std::scoped_lock lock(s.mutex);
    s.requested = true;
    s.generation = fork_generation();
  }
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the task owns what the promise moves into it
  auto task = [&s, inputs = std::move(inputs), promise = std::move(promise), since = Clock::now()]() mutable {
    Results results;
    std::exception_ptr fault;
    try {
      s.run_request(inputs, results.values_, since);
      results.names_ = Access::impl(s.model).output_names;
    } catch (...) {
      fault = std::current_exception();
    }
    s.session->set_limits(s.limits);
    inputs.clear();
    s.end_request();
    if (fault) {
      promise.set_exception(fault);
    } else {
      promise.set_value(std::move(results));
    }
  };
  try {
    post(std::move(task));
  } catch (...) {
    s.end_request();
    throw;
  }
  return future;
}

void Session::start(std::vector<Array> inputs, Post post, Done done) {
  Impl& s = impl();
  s.occupy();
  const auto part = [&s, begun = false]() mutable -> std::shared_ptr<Event> {
    const RunHere here;
    const logging::SinkScope log(Access::impl(s.model).bounds.log);
    return take(std::exchange(begun, true) ? s.running->go_on() : s.running->start(s.inputs, s.outputs));
  };
  std::shared_ptr<StartedRun> run;
  try {
    check_run(s.model);
    std::vector<Array> none;
    s.pass(inputs, none);
    run = std::make_shared<StartedRun>(part, std::move(post),
                                       [&s](std::exception_ptr error) { s.end_started(std::move(error)); });
  } catch (...) {
    s.busy = false;
    throw;
  }
  s.started_done = std::move(done);
  {
    const std::scoped_lock lock(s.mutex);
    s.started = run;
  }
  run->run_part();
}

/// Ends a run of start(). `done` may destroy this object.
void Session::Impl::end_started(std::exception_ptr error) {
  Results results;
  inputs.clear();
  if (error == nullptr) {
    try {
      take_results(results.values_);
      results.names_ = Access::impl(model).output_names;
    } catch (...) {
      error = std::current_exception();
    }
  }
  const Done done = std::exchange(started_done, nullptr);
  busy = false;
  done(std::move(results), std::move(error));
}

void Session::set_context(std::shared_ptr<void> context) {
  impl().occupy();
  const Occupied occupied(impl().busy);
  impl().session->set_context(std::move(context));
}

Results Access::run_since(Session& session, std::span<const Array> inputs, Clock::time_point since) {
  Session::Impl& s = session.impl();
  s.occupy();
  const Occupied occupied(s.busy);
  struct Limited {
    Session::Impl& s;
    ~Limited() { s.session->set_limits(s.limits); }
  } const limited{s};
  Results results;
  s.run_request(inputs, results.values_, since);
  results.names_ = Access::impl(s.model).output_names;
  return results;
}

bool Access::reset(Session& session) noexcept {
  if (session.impl_ == nullptr) return false;
  Session::Impl& s = *session.impl_;
  if (s.busy.exchange(true)) return false;
  const Occupied occupied(s.busy);
  s.given_stop = nullptr;
  s.adapter.reset();
  s.fetcher.reset();
  s.observer = nullptr;
  s.stop_profile();
  s.observe(nullptr);
  std::ranges::fill(s.bound, Bound{});
  s.limits = s.opened_limits;
  s.session->set_limits(s.limits);
  s.session->set_context(nullptr);
  return true;
}

void Session::bind_output(std::string_view name, Dtype dtype, std::span<std::byte> memory) {
  Impl& s = impl();
  const std::size_t k = s.output(name);
  const Port& port = s.model.outputs()[k];
  if (port.kind != Array::Kind::tensor || port.optional || port.dtype != dtype) {
    refuse(frazil::Code::bad_input, "output '{}' is {}, its memory holds {}", name, port.type, name_of(dtype));
  }
  if (dtype == Dtype::string) refuse(frazil::Code::bad_input, "output '{}': strings cannot be bound", name);
  static std::byte nothing;
  if (memory.data() == nullptr) memory = {&nothing, 0};
  for (std::size_t other = 0; other < s.bound.size(); ++other) {
    if (other == k || !s.bound[other].overlaps(memory.data(), memory.size())) continue;
    refuse(frazil::Code::bad_input, "output '{}': output '{}' is bound to the same memory", name,
           s.model.outputs()[other].name);
  }
  s.occupy();
  const Occupied occupied(s.busy);
  s.bound[k] = {memory.data(), memory.size()};
}

void Session::unbind_output(std::string_view name) {
  const std::size_t k = impl().output(name);
  impl().occupy();
  const Occupied occupied(impl().busy);
  impl().bound[k] = {};
}

void Session::set_deadline(std::optional<double> milliseconds) {
  std::optional<Clock::duration> time;
  if (milliseconds) time = duration_of(*milliseconds, "Options::deadline_ms");
  impl().occupy();
  const Occupied occupied(impl().busy);
  impl().limits.time = time;
  impl().session->set_limits(impl().limits);
}

void Session::trim() {
  impl().occupy();
  const Occupied occupied(impl().busy);
  impl().session->trim();
}

void Session::cancel() noexcept {
  if (impl_) impl_->cancel();
}

void Session::set_stop(const std::atomic<bool>* stop) {
  impl().occupy();
  const Occupied occupied(impl().busy);
  impl().given_stop = stop;
}

void Session::set_observer(Observer* observer) {
  Impl& s = impl();
  s.occupy();
  const Occupied occupied(s.busy);
  s.observe(nullptr);
  s.observer = nullptr;
  s.adapter.reset();
  s.fetcher.reset();
  if (observer != nullptr) s.adapter = std::make_unique<Adapter>(observer, s.session->executable().graph());
  s.observer = observer;
  s.observe(s.adapter.get());
}

void Session::start_profile(const Profiler& profiler) {
  Impl& s = impl();
  s.occupy();
  const Occupied occupied(s.busy);
  const auto& recording = profiler.impl_;
  const exec::Executable& executable = s.session->executable();
  if (s.profiler != nullptr) refuse(frazil::Code::bad_input, "the session is profiled already");
  if (executable.options().reference) {
    refuse(frazil::Code::unsupported, "the reference executor reports no steps: profile on tier auto or 0");
  }
  if (recording->used.exchange(true)) refuse(frazil::Code::bad_input, "the profiler records another session");
  recording->keep_alive(executable.shared_from_this());
  s.profiler = recording;
  s.observe(s.adapter.get());
}

void Session::stop_profile() {
  impl().occupy();
  const Occupied occupied(impl().busy);
  impl().stop_profile();
}

Counters Session::counters() const { return impl().session->counters(); }

std::string Session::explain() const { return impl().session->explain(); }

}  // namespace frazil::api
