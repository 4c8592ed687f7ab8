#include "api/model_sessions.h"

#include <algorithm>

#include "api/open.h"
#include "exec/native/explain_tiers.h"

namespace frazil::api {

ModelSessions::ModelSessions(const Model& model, const Options& options, std::atomic<bool>* stop)
    : model_(Access::impl(model)), options_(options), stop_(stop), main_(opened(model_)), limits_(limits_of(options)) {
  main_->set_caller(std::shared_ptr<const Inherited>(model_.shared_from_this()));
}

std::unique_ptr<exec::Session> ModelSessions::opened(Access::ModelImpl& model) const {
  auto session = open_session(*model.executable(mode_of(options_)), options_);
  session->set_stop(stop_);
  session->allow_padding(true);
  return session;
}

void ModelSessions::open_other() {
  const auto model = model_.with_own_extents();
  other_ = opened(*model);
  other_->set_caller(std::shared_ptr<const Inherited>(model));
  other_->set_limits(limits_);
  other_->set_context(context_);
  other_->set_observer(observer_);
  cancellable_ = other_.get();
}

exec::Session& ModelSessions::of(std::span<const Datum> inputs) {
  if (model_.equal_axes.empty() || model_.has_equal_extents(inputs)) return *main_;
  if (other_ == nullptr) open_other();
  return *other_;
}

void ModelSessions::set_limits(const Limits& limits) {
  limits_ = limits;
  each([&](exec::Session& session) { session.set_limits(limits); });
}

void ModelSessions::set_context(std::shared_ptr<void> context) {
  context_ = std::move(context);
  each([&](exec::Session& session) { session.set_context(context_); });
}

void ModelSessions::set_observer(exec::Observer* observer) {
  observer_ = observer;
  each([&](exec::Session& session) { session.set_observer(observer); });
}

/// A run that begins on the other session afterwards sees `stop`, which the caller has set.
void ModelSessions::cancel() noexcept {
  main_->cancel();
  if (exec::Session* const other = cancellable_) other->cancel();
}

void ModelSessions::trim() {
  each([](exec::Session& session) { session.trim(); });
}

Counters ModelSessions::counters() const {
  Counters sum;
  each([&](const exec::Session& session) {
    const exec::Counters& c = session.counters();
    sum.runs += c.runs;
    sum.plans += c.plans;
    sum.shape_changes += c.shape_changes;
    sum.prepared += c.prepared;
    sum.iterations += c.iterations;
    sum.held_bytes += session.held_bytes();
    sum.entered += c.entered;
    sum.missed += c.missed;
  });
  return sum;
}

std::string ModelSessions::explain() const {
  std::string text;
  each([&](const exec::Session& session) { text += exec::explain_tiers(session.executable()); });
  return text;
}

}  // namespace frazil::api
