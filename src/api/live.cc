#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include <frazil/live.h>
#include <frazil/session_pool.h>

#include "api/access.h"
#include "api/open.h"
#include "base/thread/mutex.h"
#include "base/value/text.h"

namespace frazil::api {

struct LiveModel::Impl : std::enable_shared_from_this<LiveModel::Impl> {
  Mutex edits;                    ///< held during an edit
  mutable Mutex mutex;            ///< guards `versions`
  std::vector<Version> versions;  ///< ascending; the last one is current
  std::atomic<std::uint64_t> newest{0};
  std::uint64_t next = 1;            ///< guarded by `edits`
  std::size_t most = kMostVersions;  ///< maximal number of versions that are kept
  std::optional<Options> options;    ///< of the pools; unset: the models' own
  Check check;                       ///< guarded by `edits`

  Version current() const {
    const std::scoped_lock lock(mutex);
    return versions.back();
  }
  /// Precondition: the caller holds `mutex`.
  std::vector<Version>::iterator find(std::uint64_t number) {
    const auto at = std::ranges::find(versions, number, &Version::number);
    if (at == versions.end()) refuse(frazil::Code::bad_input, "the model has no version {}", number);
    return at;
  }
  /// Precondition: the caller holds `edits`.
  Version publish(Model model, VersionNote note, std::string change) {
    if (options) model = model.with_pool({.session = *options});
    Access::impl(model).executable(mode_of(options.value_or(Options{})));
    Version made{next++,
                 newest == 0 ? std::nullopt : std::optional(newest.load()),
                 std::move(note),
                 std::chrono::system_clock::now(),
                 std::move(change),
                 std::move(model)};
    if (check) check(LiveModel(shared_from_this()), made);
    const std::scoped_lock lock(mutex);
    if (!versions.empty() && !same_model(versions.back(), made)) versions.back().model.pool().drop_idle();
    versions.push_back(made);
    if (versions.size() > most) versions.erase(versions.begin());
    forget_old_plan();
    newest.store(made.number, std::memory_order_release);
    return made;
  }
  static bool same_model(const Version& a, const Version& b) {
    return &Access::impl(a.model) == &Access::impl(b.model);
  }
  /// Drops the plan of the version before the last kPlanned ones, with idle sessions. Precondition: the caller holds
  /// `mutex`.
  void forget_old_plan() {
    constexpr std::size_t kPlanned = 8;
    if (versions.size() <= kPlanned) return;
    const auto old = versions.end() - kPlanned - 1;
    const auto same = [&](const Version& version) { return same_model(version, *old); };
    if (std::any_of(old + 1, versions.end(), same)) return;
    old->model.pool().drop_idle();
    Access::impl(old->model).forget_plans();
  }
  /// Precondition: the caller holds `edits`, and the patch is of the current version.
  Version commit(Patch& patch, VersionNote note) {
    std::string change = Access::describe(patch);
    Model edited = Access::commit(patch, &note, next);
    return publish(std::move(edited), std::move(note), std::move(change));
  }
};

LiveModel::LiveModel(Model first, VersionNote note, std::size_t most_versions) : impl_(std::make_shared<Impl>()) {
  if (most_versions == 0) refuse(frazil::Code::bad_input, "LiveModel: most_versions: expected at least 1");
  impl_->most = most_versions;
  impl_->publish(std::move(first), std::move(note), "first");
}

LiveModel::LiveModel(const std::map<std::uint64_t, Model>& versions, const Options& options, const VersionNote& note)
    : impl_(std::make_shared<Impl>()) {
  if (versions.empty() || versions.contains(0)) {
    refuse(frazil::Code::bad_input, "LiveModel: expected versions with numbers from 1 on");
  }
  impl_->options = options;
  impl_->most = std::max(kMostVersions, versions.size());
  for (const auto& [number, model] : versions) {
    impl_->next = number;
    impl_->publish(model, note, "first");
  }
}

void LiveModel::set_check(Check check) {
  const std::scoped_lock lock(impl_->edits);
  impl_->check = std::move(check);
}

Version LiveModel::current() const { return impl_->current(); }

std::vector<Version> LiveModel::history() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->versions;
}

Version LiveModel::version(std::uint64_t number) const {
  const std::scoped_lock lock(impl_->mutex);
  return *impl_->find(number);
}

Version LiveModel::edit(VersionNote note, const std::function<void(Patch&)>& change) {
  if (!change) refuse(frazil::Code::bad_input, "LiveModel::edit: there is no function that edits");
  const std::scoped_lock lock(impl_->edits);
  Patch patch(current().model, note.reason.empty() ? "edit" : note.reason);
  change(patch);
  return impl_->commit(patch, std::move(note));
}

Version LiveModel::commit(Patch& patch, VersionNote note) {
  const std::scoped_lock lock(impl_->edits);
  const Version version = current();
  if (&Access::impl(Access::edited_by(patch)) != &Access::impl(version.model)) {
    refuse(frazil::Code::bad_input, "the patch is not of version {}, which is the current one", version.number);
  }
  return impl_->commit(patch, std::move(note));
}

Version LiveModel::publish(Model model, VersionNote note) {
  const std::scoped_lock lock(impl_->edits);
  const Model now = current().model;
  model = Access::governed(std::move(model), now);
  Access::impl(now).policies.check_change({Change::Kind::publish, now, model, &note, impl_->next});
  return impl_->publish(std::move(model), std::move(note), "published");
}

Version LiveModel::roll_back(std::uint64_t number, VersionNote note) {
  const std::scoped_lock lock(impl_->edits);
  const Model now = current().model;
  Model model = Access::governed(version(number).model, now);
  Access::impl(now).policies.check_change({Change::Kind::roll_back, now, model, &note, impl_->next});
  return impl_->publish(std::move(model), std::move(note), fmt::format("rolled back to {}", number));
}

void LiveModel::forget(std::uint64_t number) {
  const std::scoped_lock lock(impl_->mutex);
  const auto at = impl_->find(number);
  if (at + 1 == impl_->versions.end()) refuse(frazil::Code::bad_input, "version {} is the current one", number);
  impl_->versions.erase(at);
}

// ---- sessions ----

namespace {

bool fits(const Array& value, const Port& port) {
  if (value.kind() != port.kind) return value.empty() && port.optional;
  if (!value.is_tensor()) return true;
  if (value.dtype() != port.dtype) return false;
  if (!port.ranked) return true;
  const auto same = [](std::int64_t extent, const std::string& text) {
    return parse_integer(text).value_or(extent) == extent;
  };
  return std::ranges::equal(value.sizes(), port.dims, same);
}

struct Carried {
  std::string output, input;
  Array value;
  bool held = false;  ///< a value is present; it may be an absent optional
  void forget() { value = {}, held = false; }
};

const Port* find_port(const std::vector<Port>& ports, std::string_view name) {
  const auto at = std::ranges::find(ports, name, &Port::name);
  return at == ports.end() ? nullptr : &*at;
}

}  // namespace

struct LiveSession::Impl {
  std::shared_ptr<LiveModel::Impl> live;
  Options options;
  std::optional<Session> session;
  std::optional<Version> version;  ///< version of `session`
  std::uint64_t ran = 0;           ///< the number of the last run's version
  std::vector<Carried> carried;
  // cancel() takes no lock, because the thread that a signal interrupts might hold it.
  std::atomic<Session*> running{nullptr};
  std::atomic<bool> stop{false};   ///< the run is cancelled
  std::atomic<int> cancelling{0};  ///< number of cancel() calls that may use `running`

  void follow() {
    if (version && live->newest.load(std::memory_order_acquire) == version->number) return;
    Version next = live->current();
    session.emplace(next.model.open(options));
    version = std::move(next);
    for (Carried& c : carried) {
      const Port* input = find_port(version->model.inputs(), c.input);
      if (input == nullptr || !fits(c.value, *input)) c.forget();
    }
  }
  Results run(std::vector<Named> inputs);
};

namespace {

/// A scope in which cancel() can reach a session.
class Reachable {
 public:
  Reachable(std::atomic<Session*>& running, std::atomic<int>& cancelling, Session& session)
      : running_(running), cancelling_(cancelling) {
    running_ = &session;
  }
  ~Reachable() {
    running_ = nullptr;
    while (cancelling_ != 0) std::this_thread::yield();
  }
  Reachable(const Reachable&) = delete;
  Reachable& operator=(const Reachable&) = delete;

 private:
  std::atomic<Session*>& running_;
  std::atomic<int>& cancelling_;
};

}  // namespace

Results LiveSession::Impl::run(std::vector<Named> inputs) {
  const std::size_t given = inputs.size();
  for (const Carried& c : carried) {
    const auto named = std::span(inputs).first(given);
    if (c.held && std::ranges::find(named, c.input, &Named::name) == named.end()) inputs.push_back({c.input, c.value});
  }
  ran = version->number;
  const Reachable reachable(running, cancelling, *session);
  if (stop) refuse(frazil::Code::cancelled, "the run was cancelled");
  Results results = session->run(inputs);
  for (Carried& c : carried) {
    if (find_port(version->model.outputs(), c.output) == nullptr) continue;
    c.value = results[c.output];
    c.held = true;
  }
  return results;
}

LiveSession LiveModel::open(const Options& options) const {
  auto impl = std::make_unique<LiveSession::Impl>();
  impl->live = impl_;
  impl->options = options;
  impl->follow();
  return LiveSession(std::move(impl));
}

LiveSession::LiveSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LiveSession::LiveSession(LiveSession&&) noexcept = default;
LiveSession& LiveSession::operator=(LiveSession&&) noexcept = default;
LiveSession::~LiveSession() = default;

LiveSession::Impl& LiveSession::impl() const {
  if (!impl_) refuse(frazil::Code::bad_input, "the session was moved from");
  return *impl_;
}

Results LiveSession::run(std::initializer_list<Named> inputs) {
  return run(std::span<const Named>(inputs.begin(), inputs.size()));
}

Results LiveSession::run(std::span<const Named> inputs) {
  Impl& s = impl();
  s.stop = false;
  s.follow();
  return s.run({inputs.begin(), inputs.end()});
}

Results LiveSession::run_with(const std::function<std::vector<Named>(const Version&)>& inputs) {
  Impl& s = impl();
  if (!inputs) refuse(frazil::Code::bad_input, "LiveSession::run_with: there is no function that makes inputs");
  s.stop = false;
  s.follow();
  return s.run(inputs(*s.version));
}

void LiveSession::carry(std::string_view output, std::string_view input) {
  Impl& s = impl();
  const Model& model = s.version->model;
  if (find_port(model.outputs(), output) == nullptr) {
    refuse(frazil::Code::bad_input, "the model has no output '{}'", output);
  }
  if (find_port(model.inputs(), input) == nullptr) {
    refuse(frazil::Code::bad_input, "the model has no input '{}'", input);
  }
  std::erase_if(s.carried, [&](const Carried& c) { return c.input == input; });
  s.carried.push_back({std::string(output), std::string(input), {}});
}

void LiveSession::reset() {
  for (Carried& c : impl().carried) c.forget();
}

std::uint64_t LiveSession::version() const { return impl().ran; }

void LiveSession::cancel() noexcept {
  if (!impl_) return;
  Impl& s = *impl_;
  s.stop = true;
  ++s.cancelling;
  if (Session* session = s.running) session->cancel();
  --s.cancelling;
}

}  // namespace frazil::api
