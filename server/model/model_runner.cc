#include "server/model/model_runner.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <random>

#include <frazil/error.h>
#include <frazil/graph.h>

#include "server/access/governed.h"
#include "server/request/path_record.h"
#include "server/request/tensor_bytes.h"
#include "server/state/state_bytes.h"

namespace frazil::server {
namespace {

using api::Array;

constexpr std::size_t kMaxSessions = 4096;  // more than there are workers
constexpr double kMaxSpread = 0.875;  // limit for rows joined without padding, which recurrent layers pad in copies
constexpr double kInlineMs = 2;       // limit for runs on a thread that other work needs

/// Returns the longest remaining time in milliseconds, or nullopt if a call has no deadline.
std::optional<double> longest_left(const std::vector<const Call*>& calls) {
  std::optional<double> longest = 0;
  for (const Call* call : calls) {
    const auto left = milliseconds_left(*call);
    if (!left) return std::nullopt;
    longest = std::max(*longest, *left);
  }
  return longest;
}

std::optional<double> limit_of(const std::vector<const Call*>& calls) {
  const auto left = longest_left(calls);
  return Workers::is_inline() ? std::min(left.value_or(kInlineMs), kInlineMs) : left;
}

/// Returns the tenants of calls.
std::vector<govern::TenantRef> tenants_of(const std::vector<const Call*>& calls) {
  std::vector<govern::TenantRef> tenants;
  for (const Call* const call : calls) tenants.push_back(tenant_of(call->identity));
  return tenants;
}

/// Call in a catch block. Returns true if the run exceeded the limit of this thread and has time left to run on a
/// worker.
bool is_for_workers(const Call& call) try {
  if (!Workers::is_inline() || (call.deadline && *call.deadline <= Clock::now())) return false;
  throw;
} catch (const api::Error& error) {
  return error.code() == api::Code::limit;
} catch (...) {
  return false;
}

/// Throws if the caller has left or the time-out has passed.
void check_wanted_still(const Call& call) {
  if (call.caller != nullptr && call.caller->disconnected())
    throw api::Error(api::Code::cancelled, "the caller has disconnected");
  if (call.deadline && *call.deadline <= Clock::now()) throw api::Error(api::Code::limit, "the time-out has passed");
}

bool has_to_run_alone(const std::exception_ptr& error) {
  if (error == nullptr) return false;
  try {
    std::rethrow_exception(error);
  } catch (const api::Error& what) {
    return what.code() == api::Code::unsupported;
  } catch (...) {
    return false;
  }
}

/// Passes the time of a scope to a function when it ends, after the scope.
class SharedTime {
 public:
  explicit SharedTime(std::function<void(Nanoseconds)> use) : use_(std::move(use)) {}
  ~SharedTime() { use_(time_->total()); }
  SharedTime(const SharedTime&) = delete;
  SharedTime& operator=(const SharedTime&) = delete;
  const std::shared_ptr<BusyTotal>& sink() const { return time_; }

 private:
  std::function<void(Nanoseconds)> use_;
  std::shared_ptr<BusyTotal> time_ = std::make_shared<BusyTotal>();
};
/// Returns true if a node of the model draws random numbers.
bool draws_numbers(const api::GraphView& graph) {
  return std::ranges::any_of(graph.nodes(), [&](std::uint32_t id) { return graph.node(id).draws; });
}

/// Returns true for a type with an extent that only data determine, such as f32[?0,4].
bool has_extent_of_data(std::string_view type) {
  for (std::size_t at = type.find('?'); at < type.size(); at = type.find('?', at + 1)) {
    if (at + 1 < type.size() && type[at + 1] >= '0' && type[at + 1] <= '9') return true;
  }
  return false;
}

/// Returns true if the values of inputs, not their extents, may decide what runs or the extents of a value.
bool has_varying_flow(const api::Model& model, const api::GraphView& graph) {
  if (!model.calls().empty()) return true;
  return std::ranges::any_of(graph.nodes(), [&](std::uint32_t id) {
    const api::GraphView::Node node = graph.node(id);
    return !node.bodies.empty() || std::ranges::any_of(node.outputs, [&](std::uint32_t value) {
      return has_extent_of_data(graph.value(value).type);
    });
  });
}

/// Returns a checksum of the results, without those that are states of a sequence: reading a growing state copies it.
std::uint64_t checksum_of_results(const Served& served, const std::vector<Array>& values) {
  const auto& states = served.config().sequences.states;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_state = std::ranges::find(states, served.outputs()[i].name, &StateLink::output) != states.end();
    if (is_state || !values[i].is_tensor()) continue;
    std::string strings;
    if (values[i].dtype() == api::Dtype::string) append_bytes(strings, values[i]);
    const std::string_view bytes =
        values[i].dtype() == api::Dtype::string
            ? std::string_view(strings)
            : std::string_view(static_cast<const char*>(values[i].data()), values[i].bytes());
    constexpr std::uint64_t kPrime = 0x100000001b3;
    sum = sum * kPrime + checksum_of(bytes);
  }
  return sum;
}

std::vector<RunShape::Extent> run_extents(std::span<const BatchPlan::Shape> shapes) {
  std::vector<RunShape::Extent> extents;
  for (const BatchPlan::Shape& shape : shapes) extents.push_back({.count = shape.count, .length = shape.length});
  return extents;
}

/// Cancels a run when all its callers have left, even before it has begun.
class EndsWithCallers {
 public:
  EndsWithCallers(const std::vector<const Call*>& calls, api::Session& session)
      : left_(calls.size()), session_(session) {
    session_.set_stop(&stop_);
    for (const Call* call : calls) {
      if (call->caller == nullptr) continue;
      hooks_.push_back(std::make_unique<Caller::Hook>(*call->caller, [this] {
        if (--left_ > 0) return;
        stop_ = true;
        session_.cancel();
      }));
    }
  }
  ~EndsWithCallers() {
    hooks_.clear();
    session_.set_stop(nullptr);
  }
  EndsWithCallers(const EndsWithCallers&) = delete;
  EndsWithCallers& operator=(const EndsWithCallers&) = delete;

 private:
  std::atomic<std::size_t> left_;
  std::atomic<bool> stop_ = false;
  api::Session& session_;
  std::vector<std::unique_ptr<Caller::Hook>> hooks_;
};

}  // namespace

ModelRunner::ModelRunner(const Served& served, const ModelParts& parts)
    : served_(served),
      workers_(*parts.workers),
      model_(parts.model),
      options_(parts.options),
      calls_others_(!parts.model.calls().empty()),
      draws_(draws_numbers(api::GraphView(parts.model))),
      flow_varies_(has_varying_flow(parts.model, api::GraphView(parts.model))),
      sessions_(parts.model, {.session = parts.options, .max_sessions = kMaxSessions}),
      check_(std::make_shared<ReferenceCheck>(parts.model, parts.check)) {
  const BusyScope scope(std::make_shared<RequestCost>(
      RequestCost::Payer{.ledger = served.counts().costs(), .account = CostAccount::warm_up}));
  const Batching& batching = parts.config.batching;
  if (batching.most > 0) {
    if (batching.regroup != Regroup::off) {
      regrouped_.emplace(parts.model);
    } else {
      ragged_ = plan_ragged(served.name(), parts, sessions_, {.session = parts.options, .max_sessions = kMaxSessions});
      plan_ = plan_batches(served.name(), parts, sessions_, !ragged_);
    }
    Batching limits = batching;
    if (ragged_) limits.max_waste = std::max(limits.max_waste, kMaxSpread);
    batcher_ = std::make_shared<Batcher>(std::move(limits), workers_, [this](std::vector<Batcher::Member> batch) {
      regrouped_ ? run_regrouped(std::move(batch)) : run_batch(std::move(batch));
    });
  }
  warm_up(parts, sessions_,
          {.plan = plan(), .ragged = ragged_ ? &*ragged_ : nullptr, .regrouped = regrouped_ ? &*regrouped_ : nullptr});
}

std::optional<Refusal> ModelRunner::refusal() const { return batcher_ != nullptr ? batcher_->refusal() : std::nullopt; }

Served::Checked ModelRunner::checked() const { return {.runs = check_->checked(), .different = check_->different()}; }

void ModelRunner::enqueue(Job job) const {
  if (job.recorded) return run_recorded(std::move(job));
  if (regrouped_) return batcher_->push(std::move(job), {.key = "", .count = 1, .length = 1});
  auto shape = shape_of(job.inputs);
  if (!shape) return run_single(std::move(job));
  batcher_->push(std::move(job), std::move(*shape));
}

std::optional<BatchPlan::Shape> ModelRunner::shape_of(std::span<const Array> inputs) const {
  auto shape = plan_ ? plan_->shape_of(inputs) : std::nullopt;
  if (!shape || !ragged_) return shape;
  auto ragged = ragged_->plan.shape_of(inputs);
  if (ragged) ragged->count = shape->count;
  return ragged;
}

std::vector<Array> ModelRunner::run_session(const api::SessionPool& sessions, std::span<const Array> inputs,
                                            const std::vector<const Call*>& calls, Clock::time_point begun,
                                            std::uint64_t seed) const {
  std::optional<api::SessionPool::Lease> lease;
  std::optional<api::Session> own;
  if (seed == 0) {
    lease.emplace(sessions.acquire());
  } else {
    api::Options options = options_;
    options.seed = seed;
    own.emplace(model_.open(options));
  }
  api::Session& session = lease ? **lease : *own;
  session.set_deadline(limit_of(calls));
  const auto tenants = calls_others_ ? tenants_of(calls) : std::vector<govern::TenantRef>();
  const govern::RequestScope scope(tenants);
  const auto joined = Clock::now();
  api::Results results = [&] {
    const EndsWithCallers ends(calls, session);
    return session.run(inputs);
  }();
  count_run(begun, joined, calls);
  std::vector<Array> values;
  for (std::size_t i = 0; i < results.size(); ++i) values.push_back(results.take(i));
  return values;
}

void ModelRunner::count_run(Clock::time_point begun, Clock::time_point ran,
                            const std::vector<const Call*>& calls) const {
  const auto now = Clock::now();
  const auto time = now - ran;
  const auto count = [&](Statistics& s, std::uint64_t requests) {
    s.runs.add(time);
    s.batches.add(requests, ran - begun, time, Clock::duration::zero());
    for (std::uint64_t i = 0; i < requests; ++i) {
      s.compute_input.add(ran - begun);
      s.compute_infer.add(time);
    }
  };
  count(served_.statistics(), calls.size());
  served_.statistics().run_time.add(time);
  served_.statistics().cost.add((now - begun) / static_cast<std::int64_t>(calls.size()));
  std::map<std::string_view, std::pair<const Tenants::Identity*, std::uint64_t>> tenants;
  for (const Call* const call : calls) {
    if (call->identity.name().empty()) continue;
    auto& [identity, requests] = tenants[call->identity.name()];
    identity = &call->identity;
    ++requests;
  }
  for (const auto& [name, tenant] : tenants) count(served_.counts().of(*tenant.first), tenant.second);
}

/// Schedules the comparison of a share of runs with the reference executor.
void ModelRunner::check_async(std::span<const Array> inputs, const std::vector<Array>& values) const {
  if (!check_->wanted()) return;
  const auto cost = std::make_shared<RequestCost>(
      RequestCost::Payer{.ledger = served_.counts().costs(), .account = CostAccount::check});
  workers_.post_to_worker([keep = served_.shared_from_this(), check = check_, values, cost,
                           given = std::vector<Array>(inputs.begin(), inputs.end())] {
    const BusyScope scope(cost);
    check->check(given, values);
  });
}

std::uint64_t ModelRunner::seed_for(const std::vector<const Call*>& calls) const {
  const bool recorded = std::ranges::any_of(calls, [](const Call* call) { return call->recording != nullptr; });
  if (!draws_ || !recorded || ragged_) return 0;
  thread_local std::mt19937_64 random(std::random_device{}());
  return random() | 1U;
}

void ModelRunner::record(const Job& job, const Values& values, const RunShape& shape) const {
  Recording* const recording = job.call.recording.get();
  if (recording == nullptr || !values) return;
  const std::uint64_t results = checksum_of_results(served_, *values);
  if (recording->plays()) {
    if (job.recorded && job.recorded->results != results) recording->differ(job.call.node, "its results differ");
    return;
  }
  Happening happening{.node = job.call.node,
                      .kind = "run",
                      .taken = served_.name() + '/' + served_.version(),
                      .values = job.state,
                      .shape = shape};
  happening.shape.results = results;
  recording->add(std::move(happening));
}

void ModelRunner::run_single(Job job, RunShape shape) const {
  const BusyScope scope(job.call.cost);
  const auto begun = Clock::now();
  Values values;
  shape.seed = job.recorded ? job.recorded->seed : seed_for({&job.call});
  try {
    values = run_session(sessions_, job.inputs, {&job.call}, begun, shape.seed);
    check_async(job.inputs, *values);
  } catch (...) {
    if (is_for_workers(job.call)) return run_on_worker(std::move(job));
    values = std::unexpected(refusal_of_exception(job.call.deadline && *job.call.deadline <= Clock::now()));
  }
  job.inputs.clear();
  answer(std::move(job), std::move(values), {.begun = begun, .shape = std::move(shape)});
}

void ModelRunner::run_recorded(Job job) const {
  const RunShape& shape = *job.recorded;
  Recording& recording = *job.call.recording;
  const std::string model = "model '" + served_.name() + "'";
  if (draws_ && shape.seed == 0) recording.loosen(model + " draws random numbers, and the record has no seed of them");
  if (shape.way == RunShape::Way::alone) return run_single(std::move(job));
  if (shape.way == RunShape::Way::regrouped) {
    recording.loosen(model + " ran equal work of several requests together");
    return run_single(std::move(job));
  }
  const auto own = shape_of(job.inputs);
  if (shape.members.empty()) return own ? run_member({std::move(job), *own}) : run_single(std::move(job));
  if (!own || (shape.way == RunShape::Way::ragged) != ragged_.has_value()) {
    recording.loosen(model + " is not joined with other requests here, and was in the record");
    return run_single(std::move(job));
  }
  const bool varies = flow_varies_ && shape.members.size() > 1;
  if (varies) recording.loosen(model + " ran joined with requests whose values may have decided what ran");
  if (varies || shape.members.size() == 1) return run_member({std::move(job), *own});
  run_with_mates(std::move(job), *own);
}

void ModelRunner::run_with_mates(Job job, const BatchPlan::Shape& own) const {
  const auto begun = Clock::now();
  const RunShape shape = *job.recorded;
  std::vector<std::vector<Array>> rows;
  std::vector<BatchPlan::Shape> shapes;
  for (std::size_t i = 0; i < shape.members.size(); ++i) {
    const auto [count, length] = shape.members[i];
    shapes.push_back(i == shape.row ? own : BatchPlan::Shape{.key = own.key, .count = count, .length = length});
    rows.push_back(i == shape.row ? job.inputs
                   : ragged_      ? ragged_->plan.mate(job.inputs, shapes.back())
                                  : plan_->mate(job.inputs, shapes.back()));
  }
  Values values;
  try {
    const std::vector<const Call*> calls{&job.call};
    auto parts = run_joined({{rows.begin(), rows.end()}, shapes, calls, shape.seed}, begun);
    values = std::move(parts.at(shape.row));
  } catch (const std::exception& error) {
    job.call.recording->loosen("model '" + served_.name() + "' does not run joined with zeros: " + error.what());
    return run_member({std::move(job), own});
  }
  answer(std::move(job), std::move(values), {.begun = begun, .requests = shapes.size(), .shape = shape});
}

void ModelRunner::answer(Job job, Values values, const BatchRun& ran) const {
  const BusyScope scope(job.call.cost);
  served_.counts().add(job.call.identity, [&](Statistics& s) { s.queue.add(ran.begun - job.queued); });
  note(job, ran, values ? "" : values.error().what());
  record(job, values, ran.shape);
  job.finish(std::move(job.call), std::move(values));
}

void ModelRunner::run_on_worker(Job job) const {
  workers_.post_to_worker([this, keep = served_.shared_from_this(), shared = std::make_shared<Job>(std::move(job))] {
    run_single(std::move(*shared));
  });
}

void ModelRunner::note(const Job& job, const BatchRun& ran, const std::string& why) const {
  if (job.call.path == nullptr) return;
  job.call.path->add({.node = job.call.node,
                      .kind = "run",
                      .model = served_.name(),
                      .version = served_.version(),
                      .why = why,
                      .queue = ran.begun - job.queued,
                      .time = Clock::now() - ran.begun,
                      .requests = ran.requests,
                      .padding = ran.padding});
}

void ModelRunner::run_member(Batcher::Member member) const {
  if (ragged_) return run_single(std::move(member.job));
  member.job.inputs = plan_->alone(member.job.inputs, member.shape);
  run_single(std::move(member.job), {.way = RunShape::Way::joined, .members = run_extents({&member.shape, 1})});
}

std::vector<std::vector<Array>> ModelRunner::run_joined(const Work& work, Clock::time_point begun) const {
  if (ragged_) {
    const auto joined = ragged_->plan.join(work.requests, work.shapes);
    const auto results = run_session(ragged_->sessions, joined, work.calls, begun, 0);
    auto parts = ragged_->plan.split(results, work.shapes);
    check_async(work.requests.front(), parts.front());
    return parts;
  }
  const std::vector<Array> joined = plan_->join(work.requests, work.shapes);
  const std::vector<Array> results = run_session(sessions_, joined, work.calls, begun, work.seed);
  check_async(joined, results);
  return plan_->split(results, work.shapes);
}

/// Charges each member the time of its own elements, and the model that of the padding.
void ModelRunner::charge_batch(const std::vector<Batcher::Member>& members, std::span<const BatchPlan::Shape> shapes,
                               std::int64_t longest, Nanoseconds busy) const {
  const auto size_of = [](std::int64_t count, std::int64_t length) {
    return static_cast<double>(count) * static_cast<double>(std::max<std::int64_t>(length, 1));
  };
  double all = 0;
  for (const BatchPlan::Shape& shape : shapes) all += size_of(shape.count, ragged_ ? shape.length : longest);
  Nanoseconds left = busy;
  for (std::size_t i = 0; i < members.size() && all > 0; ++i) {
    const double share = size_of(shapes[i].count, shapes[i].length) / all;
    const Nanoseconds own(static_cast<std::int64_t>(static_cast<double>(busy.count()) * share));
    members[i].job.call.cost->add_busy(own);
    left -= own;
  }
  served_.counts().costs()->add("", CostAccount::padding, left);
}

/// Runs a batch. If it fails, runs its requests one by one, so that a request only fails for its own fault.
void ModelRunner::run_batch(std::vector<Batcher::Member> members) const {
  if (members.size() == 1) return run_member(std::move(members.front()));
  const auto length_of = [](const Batcher::Member& member) { return member.shape.length; };
  if (ragged_) std::ranges::stable_sort(members, std::ranges::greater(), length_of);
  std::vector<BatchPlan::Shape> shapes;
  for (const Batcher::Member& member : members) shapes.push_back(member.shape);
  std::vector<std::span<const Array>> requests;
  std::vector<const Call*> calls;
  for (const Batcher::Member& member : members) {
    requests.emplace_back(member.job.inputs);
    calls.push_back(&member.job.call);
  }
  std::optional<std::vector<std::vector<Array>>> parts;
  const auto begun = Clock::now();
  const std::int64_t longest = count_padding(shapes);
  const std::uint64_t seed = seed_for(calls);
  {
    const SharedTime time([&](Nanoseconds busy) { charge_batch(members, shapes, longest, busy); });
    const BusyScope scope(time.sink());
    try {
      parts = run_joined({requests, shapes, calls, seed}, begun);
    } catch (...) {
      parts = std::nullopt;
    }
  }
  if (!parts) {
    for (Batcher::Member& member : members) run_member(std::move(member));
    return;
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::int64_t padding = ragged_ ? 0 : shapes[i].count * (longest - shapes[i].length);
    BatchRun ran{.begun = begun, .requests = members.size(), .padding = static_cast<std::uint64_t>(padding)};
    if (members[i].job.call.recording != nullptr) {
      ran.shape = {.way = ragged_ ? RunShape::Way::ragged : RunShape::Way::joined,
                   .row = i,
                   .members = run_extents(shapes),
                   .seed = seed};
    }
    answer(std::move(members[i].job), std::move((*parts)[i]), ran);
  }
}

void ModelRunner::run_regrouped(std::vector<Batcher::Member> members) const {
  if (members.size() == 1) return run_single(std::move(members.front().job));
  const auto begun = Clock::now();
  std::vector<std::vector<Array>> requests;
  for (const Batcher::Member& member : members) requests.push_back(member.job.inputs);
  std::vector<api::BatchedModel::Outcome> outcomes;
  std::vector<const Call*> calls;
  for (const Batcher::Member& member : members) calls.push_back(&member.job.call);
  {
    const auto tenants = calls_others_ ? tenants_of(calls) : std::vector<govern::TenantRef>();
    const govern::RequestScope requests_scope(tenants);
    const std::vector<BatchPlan::Shape> equal(members.size(), {.key = "", .count = 1, .length = 1});
    const SharedTime time([&](Nanoseconds busy) { charge_batch(members, equal, 1, busy); });
    const BusyScope scope(time.sink());
    try {
      outcomes = regrouped_->outcomes(
          requests, {.check = [&](std::size_t i) { check_wanted_still(members[i].job.call); }, .always = true});
    } catch (...) {
      outcomes.clear();
    }
  }
  if (outcomes.empty()) {
    for (Batcher::Member& member : members) run_single(std::move(member.job));
    return;
  }
  count_run(begun, begun, calls);
  for (std::size_t i = 0; i < members.size(); ++i) {
    Job& job = members[i].job;
    if (has_to_run_alone(outcomes[i].error)) {
      run_single(std::move(job));
      continue;
    }
    Values values = std::move(outcomes[i].results);
    try {
      if (outcomes[i].error != nullptr) std::rethrow_exception(outcomes[i].error);
      check_async(requests[i], *values);
    } catch (...) {
      values = std::unexpected(refusal_of_exception(job.call.deadline && *job.call.deadline <= Clock::now()));
    }
    answer(std::move(job), std::move(values),
           {.begun = begun, .requests = members.size(), .shape = {.way = RunShape::Way::regrouped}});
  }
}

std::int64_t ModelRunner::count_padding(std::span<const BatchPlan::Shape> shapes) const {
  std::int64_t longest = 0, count = 0, used = 0;
  for (const BatchPlan::Shape& shape : shapes) {
    longest = std::max(longest, shape.length);
    count += shape.count;
    used += shape.count * shape.length;
  }
  const std::int64_t elements = ragged_ ? used : longest * count;
  served_.statistics().elements.fetch_add(static_cast<std::uint64_t>(elements), std::memory_order_relaxed);
  served_.statistics().padded.fetch_add(static_cast<std::uint64_t>(elements - used), std::memory_order_relaxed);
  return longest;
}

}  // namespace frazil::server
