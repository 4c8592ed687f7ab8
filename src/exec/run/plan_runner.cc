#include "exec/run/plan_runner.h"

#include <chrono>

#include "base/os/log.h"
#include "exec/run/transfer.h"

namespace frazil::exec {

PlanRunner::PlanRunner(std::shared_ptr<Executable> executable, RunContext& context)
    : executable_(std::move(executable)),
      context_(context),
      values_(executable_->plan()),
      memory_(context, values_, executable_->options().devices),
      launcher_(context, *executable_, values_, memory_),
      groups_(context, values_, memory_, launcher_),
      interpreter_(context, *executable_, values_, memory_, launcher_, groups_),
      inner_values_(context, *executable_, values_, memory_),
      request_(context, values_, memory_) {}

void PlanRunner::drop_memory() {
  memory_.drop();
  values_.reset();
  request_.drop();
  groups_.invalidate();
  launcher_.invalidate_all();
}

/// A scope that finishes the results carried by a request when it ends, also after std::bad_alloc.
class PlanRunner::RequestScope {
 public:
  explicit RequestScope(PlanRunner& runner) : runner_(runner) {}
  ~RequestScope() {
    if (!waits_) runner_.finish(failed_);
  }
  RequestScope(const RequestScope&) = delete;
  RequestScope& operator=(const RequestScope&) = delete;
  Outcome operator()(Outcome outcome) {
    waits_ = outcome && *outcome && std::holds_alternative<Waiting>(**outcome);
    failed_ = !outcome || *outcome || runner_.context_.execution_limits.stopping();
    return outcome;
  }

 private:
  PlanRunner& runner_;
  bool failed_ = true, waits_ = false;
};

void PlanRunner::finish(bool failed) {
  if (memory_.devices().any()) memory_.devices().abandon();
  request_.finish(failed);
}

PlanRunner::Outcome PlanRunner::run(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  return timed([&] { return run_plan(inputs, outputs); });
}

PlanRunner::Outcome PlanRunner::go_on(std::vector<Datum>& outputs) {
  return timed([&] { return run_from(waits_at_, outputs); });
}

template <class Run>
PlanRunner::Outcome PlanRunner::timed(Run run) {
  RequestScope scope(*this);
  MachineCode& code = executable_->machine_code();
  if (!code.lacks_bodies()) return scope(run());
  const auto begin = std::chrono::steady_clock::now();
  auto outcome = scope(run());
  code.spent(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count(), executable_);
  return outcome;
}

void PlanRunner::find_code() {
  const auto* const native = executable_->machine_code().bodies().get();
  if (native == nullptr || native->generation() == generation_) return;
  generation_ = native->generation();
  launcher_.invalidate_awaiting();
}

Status PlanRunner::begin(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  if (context_.observer != nullptr) context_.observer->run_begin(values_.plan, values_.regs);
  if (context_.observer != nullptr || inner_values_.any()) FRAZIL_CHECK(inner_values_.begin());
  find_code();
  FRAZIL_CHECK(request_.bind_inputs(inputs));
  FRAZIL_CHECK(groups_.evaluate(0));
  FRAZIL_CHECK(request_.check_input_expressions());
  memory_.begin();
  launcher_.begin();
  return request_.make_outputs(outputs);
}

PlanRunner::Outcome PlanRunner::run_from(StepIndex from, std::vector<Datum>& outputs) {
  FRAZIL_TRY(const auto exit, inner_values_.any() ? interpreter_.run(from, inner_values_) : interpreter_.run(from));
  if (exit && exit->waits) {
    waits_at_ = exit->at;
    return Waiting();
  }
  if (exit) {
    const auto& guard = *values_.plan.steps[exit->at].as<step::Guard>();
    return GuardMiss{guard.key, values_.regs[guard.predicate], exit->at};
  }
  if (memory_.devices().any()) FRAZIL_CHECK(memory_.devices().finish());
  FRAZIL_CHECK(request_.take_outputs(outputs));
  if (context_.observer != nullptr) context_.observer->run_end();
  return std::nullopt;
}

PlanRunner::Outcome PlanRunner::run_plan(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  FRAZIL_CHECK(begin(inputs, outputs));
  return run_from(0, outputs);
}

Result<std::optional<Runner::Resumed>> PlanRunner::resume(Runner& before, const GuardMiss& miss,
                                                          std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  auto* const other = dynamic_cast<PlanRunner*>(&before);
  if (other == nullptr || memory_.devices().any() || other->memory_.devices().any()) return std::nullopt;
  const std::pair key(&other->executable(), miss.guard);
  auto it = resumes_.find(key);
  if (it == resumes_.end()) {
    it = resumes_.emplace(key, plan_resume(other->values_.plan, miss.guard, values_.plan)).first;
    if (!it->second)
      logging::debug(2, "guard", "after this missed guard, requests begin again: {}", it->second.error());
  }
  if (!it->second) return std::nullopt;
  RequestScope scope(*this);
  const std::vector<Datum> held = outputs;  // the results that `before` made lie in it
  FRAZIL_CHECK(begin(inputs, outputs));
  Transfer transfer(other->values_, values_, memory_, groups_, interpreter_);
  const bool may_leave = std::exchange(context_.may_leave, false);
  FRAZIL_TRY(const bool done, transfer.run(*it->second));
  context_.may_leave = may_leave;
  if (!done) return std::nullopt;
  ++context_.counters.resumed;
  FRAZIL_TRY(auto next, scope(run_from(it->second->at, outputs)));
  return Resumed{next};
}

}  // namespace frazil::exec
