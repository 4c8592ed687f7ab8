#include "server/model/served_model.h"

#include <algorithm>
#include <atomic>
#include <map>

#include <frazil/error.h>

#include "server/core/digest.h"
#include "server/core/port.h"
#include "server/request/path_record.h"
#include "server/state/state_bytes.h"

namespace frazil::server {

using api::Array;

/// A session that is reserved until its destruction.
class ServedModel::Borrowed {
 public:
  explicit Borrowed(const ServedModel& from) : from_(from) {
    {
      const std::scoped_lock lock(from.mutex_);
      if (!from.idle_.empty()) {
        session_ = std::move(from.idle_.back());
        from.idle_.pop_back();
      }
    }
    if (session_ == nullptr) session_ = std::make_unique<api::Session>(from.parts_.model.open(from.parts_.options));
  }
  ~Borrowed() {
    const std::scoped_lock lock(from_.mutex_);
    from_.idle_.push_back(std::move(session_));
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  api::Session& operator*() { return *session_; }
  api::Session* operator->() { return session_.get(); }

 private:
  const ServedModel& from_;
  std::unique_ptr<api::Session> session_;
};

namespace {

/// Returns zeros of the port's type. Free extents are 1, or 0 along a growing axis.
Array zeros(const api::Port& port, std::optional<std::size_t> growing = {}) {
  api::Sizes sizes;
  for (const std::string& dim : port.dims) sizes.push_back(fixed_extent(dim).value_or(1));
  if (growing) sizes[*growing] = 0;
  return {port.dtype, std::move(sizes)};
}

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

constexpr double kInlineMs = 2;  // limit for runs on a thread that other work needs

std::optional<double> limit_of(const std::vector<const Call*>& calls) {
  const auto left = longest_left(calls);
  return Workers::is_inline() ? std::min(left.value_or(kInlineMs), kInlineMs) : left;
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

// Keys next to a sequence's state: its last request with an id, and its results. No input has such a name.
constexpr const char *kLastId = "\nid", *kLastResult = "\nresult ";
constexpr const char* kModel = "\nmodel";  // digest of the model that wrote the state

/// Returns a text that identifies a repeated request: its id, its inputs and whether it ends the sequence. Returns ""
/// without an id.
std::string fingerprint(const InferRequest& request, const std::vector<api::Port>& ports,
                        const std::vector<Array>& inputs) {
  if (request.id.empty()) return {};
  std::vector<NamedArray> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].empty()) given.emplace_back(ports[i].name, inputs[i]);
  }
  return (request.sequence.end ? "end " : "") + sha256(bytes_of_state(given, 0)) + ' ' + request.id;
}

bool answered_before(const std::string& print, const InferRequest& request, const State& state) {
  if (print.empty() || request.sequence.start) return false;
  const auto last = state.value(kLastId);
  return last && last->item<std::string>() == print;
}

void check_sequence(const SequencePart& sequence) {
  if (sequence.parent.empty()) return;
  const auto refuse = [](const std::string& why) {
    throw Refusal(Http::bad_request, "parameter sequence_parent: " + why);
  };
  if (sequence.id.empty()) refuse("expected the id of the sequence that starts");
  if (!sequence.start && !sequence.start_if_new) refuse("requires sequence_start");
  if (sequence.parent == sequence.id) refuse("sequence '" + sequence.id + "' cannot start from itself");
}

/// Refuses a request outside of a sequence that lacks a state without a default.
void check_states_given(const Served& served, std::span<const Array> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const api::Port& port = served.inputs()[i];
    if (!values[i].empty() || port.optional || !is_state(served, port.name)) continue;
    throw Refusal(Http::bad_request,
                  "input '" + port.name + "' of model '" + served.name() +
                      "' is the state of a sequence, and the request belongs to none: send parameter sequence_id, with "
                      "sequence_start for the first request, or header X-Session-Id");
  }
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

ServedModel::ServedModel(const std::string& name, const std::string& version, Parts parts)
    : Served(name, version), parts_(std::move(parts)) {
  if (parts_.config.deadline_ms) parts_.options.deadline_ms = parts_.config.deadline_ms;
  if (parts_.config.memory_limit) parts_.options.memory_limit = parts_.config.memory_limit;
  digest_ = parts_.model.digest();
  check_ = std::make_shared<ReferenceCheck>(parts_.model, parts_.check);
  check_states();
  shapes_ = RequestShapes(name, parts_.config, inputs(), outputs());
  growing_ = std::make_shared<const Growing>(growing_states(parts_.config.sequences.states, inputs(), outputs()));
  if (parts_.config.batching.most > 0) {
    if (parts_.config.batching.regroup != Regroup::off) {
      regrouped_.emplace(parts_.model);
    } else {
      plan_ = plan_batches();
    }
    batcher_ =
        std::make_shared<Batcher>(parts_.config.batching, *parts_.workers, [this](std::vector<Batcher::Member> batch) {
          regrouped_ ? run_regrouped(std::move(batch)) : run_batch(std::move(batch));
        });
  }
  warm_up();
  parts_.canaries.clear();
}

/// Tries the candidate symbols for the batch. Batched requests must have the same results as alone.
BatchPlan ServedModel::plan_batches() const {
  const BatchPlan::ModelView of{.model = name(), .inputs = inputs(), .outputs = outputs(), .config = parts_.config};
  const std::vector<std::string> symbols = BatchPlan::symbols(of);
  std::string why;
  for (const std::string& symbol : symbols) {
    BatchPlan plan(of, symbol);
    const std::optional<std::string> fault = try_out(plan);
    if (!fault) return plan;
    why += (why.empty() ? "" : "; ") + ("along '" + symbol + "' " + *fault);
  }
  throw api::Error(api::Code::bad_input, "model '" + name() + "': batching changes results: " + why);
}

/// Returns the fault of a plan, or nullopt if batched requests have the same results as alone. Tries several sizes, as
/// a model may require a minimum extent.
std::optional<std::string> ServedModel::try_out(const BatchPlan& plan) const {
  constexpr std::int64_t kSizes[] = {4, 16, 64, 256, 1024};
  std::string why;
  for (const std::int64_t size : kSizes) {
    try {
      return try_out(plan, size);
    } catch (const api::Error& error) {
      why = error.what();
    }
  }
  return "requests could not be tried out: " + why;
}

std::optional<std::string> ServedModel::try_out(const BatchPlan& plan, std::int64_t size) const {
  const std::int64_t lengths[] = {size - 1, size + 1, size + 4};
  std::vector<std::vector<Array>> requests;
  std::vector<BatchPlan::Shape> shapes;
  for (std::size_t i = 0; i < std::size(lengths); ++i) {
    requests.push_back(plan.sample(static_cast<std::int64_t>(i) + 1, lengths[i], size, static_cast<unsigned>(i)));
    const auto shape = plan.shape_of(requests.back());
    if (!shape) return "requests cannot be joined";
    shapes.push_back(*shape);
  }
  Borrowed session(*this);
  const auto run = [&](std::size_t first, std::size_t count) {
    const std::vector<std::span<const Array>> some(requests.begin() + static_cast<std::ptrdiff_t>(first),
                                                   requests.begin() + static_cast<std::ptrdiff_t>(first + count));
    const api::Results results = session->run(plan.join(some, std::span(shapes).subspan(first, count)));
    return std::vector<Array>(results.begin(), results.end());
  };
  const std::vector<Array> joined = run(0, requests.size());
  std::int64_t at = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::vector<Array> alone = run(i, 1), part = plan.slice(joined, at, shapes[i], shapes.back().length);
    for (std::size_t k = 0; k < alone.size(); ++k) {
      if (!agree(part[k], alone[k])) return "output '" + outputs()[k].name + "' of a joined request differs";
    }
    at += shapes[i].count;
  }
  return std::nullopt;
}

void ServedModel::check_states() const {
  for (const StateLink& link : parts_.config.sequences.states) {
    const auto in = position_of(inputs(), link.input), out = position_of(outputs(), link.output);
    const auto refuse = [&](const std::string& why) {
      throw api::Error(api::Code::bad_input, "model '" + name() + "': state '" + link.input + "': " + why);
    };
    if (!in) refuse("there is no such input");
    if (!out) refuse("there is no output '" + link.output + "'");
    const api::Port& port = inputs()[*in];
    if (port.kind != Array::Kind::tensor || port.dtype != outputs()[*out].dtype) {
      refuse("output '" + link.output + "' has another type");
    }
    if (link.axis && (*link.axis >= port.dims.size() || fixed_extent(port.dims[*link.axis]))) {
      refuse("it cannot grow along axis " + std::to_string(*link.axis) + ": it is " + port.type);
    }
  }
}

void ServedModel::try_canary(api::Session& session, const Canary& canary) const try {
  const api::Results results = session.run(canary.inputs);
  check_canary(canary, parts_.model, std::vector<Array>(results.begin(), results.end()), parts_.config.canary);
  plan_ ? try_batched(session, canary) : try_regrouped(canary);
} catch (const CanaryFault&) {
  throw;
} catch (const api::Error& error) {
  throw CanaryFault("canary '" + canary.name + "': " + error.what());
}

/// Runs the sample batched with itself and checks both results.
void ServedModel::try_batched(api::Session& session, const Canary& canary) const {
  const auto shape = plan_->shape_of(canary.inputs);
  if (!shape || 2 * static_cast<std::uint64_t>(shape->count) > parts_.config.batching.most) return;
  const BatchPlan::Shape both[] = {*shape, *shape};
  const api::Results results = session.run(plan_->join({canary.inputs, canary.inputs}, both));
  const std::vector<Array> joined(results.begin(), results.end());
  for (const std::int64_t at : {std::int64_t{0}, shape->count}) {
    check_canary(canary, parts_.model, plan_->slice(joined, at, *shape, shape->length), parts_.config.canary,
                 ", joined with itself");
  }
}

void ServedModel::try_regrouped(const Canary& canary) const {
  if (!regrouped_) return;
  const std::vector<std::vector<Array>> twice(2, canary.inputs);
  for (const std::vector<Array>& results : regrouped_->run(twice, {.always = true})) {
    check_canary(canary, parts_.model, results, parts_.config.canary, ", regrouped with itself");
  }
}

void ServedModel::warm_up() const {
  Borrowed session(*this);
  for (std::uint64_t i = 0; i <= parts_.config.warm_up; ++i) {
    for (const Canary& canary : parts_.canaries) try_canary(*session, canary);
  }
  if (parts_.config.warm_up == 0 || !parts_.canaries.empty()) return;
  std::vector<Array> values;
  for (const api::Port& port : inputs()) values.push_back(port.optional ? Array() : zeros(port));
  for (std::uint64_t i = 0; i < parts_.config.warm_up; ++i) session->run(values);
}

std::optional<std::size_t> ServedModel::batch_axis_of_input(std::size_t i) const {
  return plan_ ? plan_->axis_of_input(i) : std::nullopt;
}

std::optional<std::size_t> ServedModel::batch_axis_of_output(std::size_t i) const {
  return plan_ ? plan_->axis_of_output(i) : std::nullopt;
}

bool ServedModel::needs(const api::Port& input) const { return !input.optional && !is_state(*this, input.name); }

Served::Checked ServedModel::checked() const { return {.runs = check_->checked(), .different = check_->different()}; }

const std::vector<std::string>& ServedModel::labels(std::string_view output) const {
  const auto at = parts_.labels.find(output);
  return at == parts_.labels.end() ? Served::labels(output) : at->second;
}

std::vector<Array> ServedModel::inputs_of(InferRequest& request) const {
  std::vector<Array> values(inputs().size());
  for (auto& [name, value] : request.inputs) {
    const auto at = position_of(inputs(), name);
    if (!at) throw Refusal(Http::bad_request, "model '" + this->name() + "' has no input '" + name + "'");
    if (!values[*at].empty()) throw Refusal(Http::bad_request, "input '" + name + "' is given twice");
    values[*at] = std::move(value);
  }
  shapes_.check(values);
  return values;
}

std::optional<Clock::duration> ServedModel::usual_limit() const {
  if (parts_.config.batching.time_out) return *parts_.config.batching.time_out;
  return parts_.options.deadline_ms ? std::optional(duration_of(*parts_.options.deadline_ms)) : std::nullopt;
}

void ServedModel::start(Call call) const {
  if (const auto limit = usual_limit(); limit && !call.deadline) call.deadline = call.arrived + *limit;
  Job job{
      .inputs = inputs_of(call.request), .queued = Clock::now(), .finish = [this](const Call& ended, Values values) {
        if (!values) return ended.done(std::unexpected(std::move(values.error())));
        try {
          ended.done(respond(ended.request, std::move(*values)));
        } catch (...) {
          ended.done(std::unexpected(refusal_of_exception()));
        }
      }};
  const SequencePart& sequence = call.request.sequence;
  check_sequence(sequence);
  // A session from a header only applies to models with state.
  const bool in_sequence = !sequence.id.empty() && !(sequence.start_if_new && parts_.config.sequences.states.empty());
  if (!in_sequence) check_states_given(*this, job.inputs);
  job.call = std::move(call);
  in_sequence ? begin_turn(std::move(job)) : enqueue(std::move(job));
}

/// Returns false for models with sequences, whose turns may wait for a folder or for Redis.
bool ServedModel::may_run_inline() const {
  constexpr auto kQuick = std::chrono::microseconds(20);
  const Clock::duration cost = expected_cost();
  return cost > Clock::duration::zero() && cost <= kQuick && parts_.config.sequences.states.empty();
}

std::optional<Refusal> ServedModel::refusal() const { return batcher_ != nullptr ? batcher_->refusal() : std::nullopt; }

void ServedModel::enqueue(Job job) const {
  if (regrouped_) return batcher_->push(std::move(job), {.key = "", .count = 1, .length = 1});
  auto shape = plan_ ? plan_->shape_of(job.inputs) : std::nullopt;
  if (!shape) return run_single(std::move(job));
  batcher_->push(std::move(job), std::move(*shape));
}

// ---- runs ----

std::vector<Array> ServedModel::run_session(std::span<const Array> inputs, const std::vector<const Call*>& calls,
                                            Clock::time_point begun) const {
  Borrowed session(*this);
  session->set_deadline(limit_of(calls));
  const auto joined = Clock::now();
  api::Results results = [&] {
    const EndsWithCallers ends(calls, *session);
    return session->run(inputs);
  }();
  count_run(begun, joined, calls);
  std::vector<Array> values;
  for (std::size_t i = 0; i < results.size(); ++i) values.push_back(results.take(i));
  check_async(inputs, values);
  return values;
}

void ServedModel::count_run(Clock::time_point begun, Clock::time_point ran,
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
  count(statistics(), calls.size());
  statistics().run_time.add(time);
  statistics().cost.add((now - begun) / static_cast<std::int64_t>(calls.size()));
  std::map<std::string_view, std::pair<const Tenants::Identity*, std::uint64_t>> tenants;
  for (const Call* const call : calls) {
    if (call->identity.name().empty()) continue;
    auto& [identity, requests] = tenants[call->identity.name()];
    identity = &call->identity;
    ++requests;
  }
  for (const auto& [name, tenant] : tenants) count(statistics_of(*tenant.first), tenant.second);
}

/// Schedules the comparison of a share of runs with the reference executor.
void ServedModel::check_async(std::span<const Array> inputs, const std::vector<Array>& values) const {
  if (!check_->wanted()) return;
  parts_.workers->post_to_worker(
      [keep = shared_from_this(), check = check_, values, given = std::vector<Array>(inputs.begin(), inputs.end())] {
        check->check(given, values);
      });
}

void ServedModel::run_single(Job job) const {
  const auto begun = Clock::now();
  Values values;
  try {
    values = run_session(job.inputs, {&job.call}, begun);
  } catch (...) {
    if (is_for_workers(job.call)) return run_on_worker(std::move(job));
    values = std::unexpected(refusal_of_exception(job.call.deadline && *job.call.deadline <= Clock::now()));
  }
  job.inputs.clear();
  answer(std::move(job), std::move(values), {.begun = begun});
}

void ServedModel::answer(Job job, Values values, const BatchRun& ran) const {
  count_for(job.call.identity, [&](Statistics& s) { s.queue.add(ran.begun - job.queued); });
  note(job, ran, values ? "" : values.error().what());
  job.finish(std::move(job.call), std::move(values));
}

void ServedModel::run_on_worker(Job job) const {
  parts_.workers->post_to_worker(
      [keep = std::static_pointer_cast<const ServedModel>(shared_from_this()),
       shared = std::make_shared<Job>(std::move(job))] { keep->run_single(std::move(*shared)); });
}

void ServedModel::note(const Job& job, const BatchRun& ran, const std::string& why) const {
  if (job.call.path == nullptr) return;
  job.call.path->add({.node = job.call.node,
                      .kind = "run",
                      .model = name(),
                      .version = version(),
                      .why = why,
                      .queue = ran.begun - job.queued,
                      .time = Clock::now() - ran.begun,
                      .requests = ran.requests,
                      .padding = ran.padding});
}

void ServedModel::run_member(Batcher::Member member) const {
  member.job.inputs = plan_->join({member.job.inputs}, {&member.shape, 1});
  run_single(std::move(member.job));
}

/// Runs a batch. If it fails, runs its requests one by one, so that a request only fails for its own fault.
void ServedModel::run_batch(std::vector<Batcher::Member> members) const {
  if (members.size() == 1) return run_member(std::move(members.front()));
  std::vector<std::span<const Array>> inputs;
  std::vector<BatchPlan::Shape> shapes;
  std::vector<const Call*> calls;
  std::vector<std::vector<Array>> parts;
  const auto begun = Clock::now();
  std::int64_t longest = 0;
  try {
    for (const Batcher::Member& member : members) {
      inputs.emplace_back(member.job.inputs);
      shapes.push_back(member.shape);
      calls.push_back(&member.job.call);
    }
    longest = count_padding(shapes);
    const std::vector<Array> results = run_session(plan_->join(inputs, shapes), calls, begun);
    std::int64_t at = 0;
    for (const BatchPlan::Shape& shape : shapes) {
      parts.push_back(plan_->slice(results, at, shape, longest));
      at += shape.count;
    }
  } catch (...) {
    for (Batcher::Member& member : members) run_member(std::move(member));
    return;
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    answer(std::move(members[i].job), std::move(parts[i]),
           {.begun = begun,
            .requests = members.size(),
            .padding = static_cast<std::uint64_t>(shapes[i].count * (longest - shapes[i].length))});
  }
}

namespace {

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

}  // namespace

void ServedModel::run_regrouped(std::vector<Batcher::Member> members) const {
  if (members.size() == 1) return run_single(std::move(members.front().job));
  const auto begun = Clock::now();
  std::vector<std::vector<Array>> requests;
  for (const Batcher::Member& member : members) requests.push_back(member.job.inputs);
  std::vector<api::BatchedModel::Outcome> outcomes;
  try {
    outcomes = regrouped_->outcomes(
        requests, {.check = [&](std::size_t i) { check_wanted_still(members[i].job.call); }, .always = true});
  } catch (...) {
    for (Batcher::Member& member : members) run_single(std::move(member.job));
    return;
  }
  std::vector<const Call*> calls;
  for (const Batcher::Member& member : members) calls.push_back(&member.job.call);
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
    answer(std::move(job), std::move(values), {.begun = begun, .requests = members.size()});
  }
}

std::int64_t ServedModel::count_padding(std::span<const BatchPlan::Shape> shapes) const {
  std::int64_t longest = 0, count = 0, used = 0;
  for (const BatchPlan::Shape& shape : shapes) {
    longest = std::max(longest, shape.length);
    count += shape.count;
    used += shape.count * shape.length;
  }
  statistics().elements.fetch_add(static_cast<std::uint64_t>(longest * count), std::memory_order_relaxed);
  statistics().padded.fetch_add(static_cast<std::uint64_t>(longest * count - used), std::memory_order_relaxed);
  return longest;
}

// ---- sequences ----

StateKey ServedModel::state_key(const Call& call, const std::string& sequence) const {
  return {call.identity.name(), std::to_string(name().size()) + ':' + name() + sequence};
}

void ServedModel::begin_turn(Job job) const {
  if (parts_.config.sequences.states.empty()) {
    throw Refusal(Http::bad_request, "model '" + name() + "' keeps no state: it has no sequences");
  }
  const std::string parent = job.call.request.sequence.parent;
  if (parent.empty()) return begin_turn(std::move(job), nullptr);
  const auto shared = std::make_shared<Job>(std::move(job));
  parts_.states->look(state_key(shared->call, parent), [this, shared](State::Ptr found) {
    const auto done = shared->call.done;
    try {
      begin_turn(std::move(*shared), std::move(found));
    } catch (...) {
      done(std::unexpected(refusal_of_exception()));
    }
  });
}

void ServedModel::begin_turn(Job job, State::Ptr parent) const {
  const StateKey key = state_key(job.call, job.call.request.sequence.id);
  const auto shared = std::make_shared<Job>(std::move(job));
  parts_.states->begin(key, [this, shared, parent = std::move(parent)](const State::Ptr& state) {
    const auto done = shared->call.done;
    const StateKey held = state_key(shared->call, shared->call.request.sequence.id);
    try {
      take_turn(std::move(*shared), state, parent);
    } catch (...) {
      parts_.states->abandon(held);
      done(std::unexpected(refusal_of_exception()));
    }
  });
}

/// Answers a repeated request from the stored results. A client or proxy repeats a request if it missed the answer.
void ServedModel::repeat(Job job, const State& state) const {
  parts_.states->abandon(state_key(job.call, job.call.request.sequence.id));
  std::vector<Array> results;
  for (std::size_t i = 0; i < outputs().size(); ++i) {
    auto result = state.value(kLastResult + std::to_string(i));
    if (const auto link = growing_link(i); !result && link) result = state.value(*link);
    results.push_back(result.value_or(Array()));
  }
  job.finish(std::move(job.call), std::move(results));
}

/// Returns the input fed by a growing output. Such an output is stored as state and not a second time as a result.
std::optional<std::string> ServedModel::growing_link(std::size_t output) const {
  for (const Growth& growth : *growing_) {
    const StateLink& link = parts_.config.sequences.states[growth.value];
    if (link.output == outputs()[output].name) return link.input;
  }
  return std::nullopt;
}

/// Returns the state that a turn continues from; null if it starts without one.
State::Ptr ServedModel::origin_of(const SequencePart& sequence, const State::Ptr& state, State::Ptr parent) const {
  const auto unknown = [&](const std::string& id, const std::string& why) {
    return Refusal(Http::bad_request, "sequence '" + id + "' of model '" + name() +
                                          "' is not known: it has not been started, or has expired" + why);
  };
  const bool fresh = sequence.start || (state == nullptr && sequence.start_if_new);
  if (!fresh && state == nullptr) throw unknown(sequence.id, "");
  if (!fresh) return check_own(sequence.id, state);
  if (!sequence.parent.empty() && parent == nullptr) {
    throw unknown(sequence.parent, "; '" + sequence.id + "' cannot start from it");
  }
  return parent == nullptr ? nullptr : check_own(sequence.parent, std::move(parent));
}

/// Refuses a lost state, and a state written by another version of the model.
State::Ptr ServedModel::check_own(const std::string& sequence, State::Ptr state) const {
  const std::string of = "sequence '" + sequence + "' of model '" + name() + "' ";
  if (state->is_lost()) {
    throw Refusal(Http::bad_request, of + "is lost, as Redis has lost its states: start a new one");
  }
  const auto model = state->value(kModel);
  if (model && model->item<std::string>() != digest_) {
    throw Refusal(Http::bad_request,
                  of + "was left by another version of the model than this one: start a new one, or name that version");
  }
  return state;
}

/// Returns the initial value of a state. It is empty for an input with a default.
Array ServedModel::first_state(std::size_t link) const {
  const api::Port& port = inputs()[*position_of(inputs(), parts_.config.sequences.states[link].input)];
  const auto grows = std::ranges::find(*growing_, link, &Growth::value);
  if (port.optional) return {};
  return zeros(port, grows == growing_->end() ? std::nullopt : std::optional(grows->axis));
}

/// Sets the inputs from the state. Stores the next state after the run and before the answer.
void ServedModel::take_turn(Job job, const State::Ptr& state, State::Ptr parent) const {
  const std::string print = fingerprint(job.call.request, inputs(), job.inputs);
  if (state != nullptr && answered_before(print, job.call.request, *state)) return repeat(std::move(job), *state);
  const State::Ptr origin = origin_of(job.call.request.sequence, state, std::move(parent));
  std::vector<NamedArray> found;
  const std::vector<StateLink>& links = parts_.config.sequences.states;
  for (std::size_t i = 0; i < links.size(); ++i) {
    Array& input = job.inputs[*position_of(inputs(), links[i].input)];
    if (!input.empty()) continue;  // the client overrides the state
    input = origin == nullptr ? first_state(i) : origin->value(links[i].input).value_or(Array());
    if (!input.empty()) found.emplace_back(links[i].input, input);
  }
  if (job.call.path != nullptr) job.call.path->set_state(std::move(found));
  job.finish = [this, print, finish = std::move(job.finish)](Call call, Values values) {
    try {
      end_turn(call, values, print);
    } catch (...) {
      values = std::unexpected(refusal_of_exception());
    }
    finish(std::move(call), std::move(values));
  };
  enqueue(std::move(job));
}

void ServedModel::end_turn(const Call& call, const Values& values, const std::string& print) const {
  const StateKey key = state_key(call, call.request.sequence.id);
  if (!values) return parts_.states->abandon(key);
  if (call.request.sequence.end) return parts_.states->end(key, std::nullopt, {});
  StateStore::Values next;
  for (const StateLink& link : parts_.config.sequences.states) {
    next.emplace_back(link.input, (*values)[*position_of(outputs(), link.output)]);
  }
  next.emplace_back(kModel, Array::scalar(digest_));
  if (!print.empty()) {
    next.emplace_back(kLastId, Array::scalar(print));
    for (std::size_t i = 0; i < values->size(); ++i) {
      if (!growing_link(i)) next.emplace_back(kLastResult + std::to_string(i), (*values)[i]);
    }
  }
  parts_.states->end(key, std::move(next), parts_.config.sequences.idle, growing_);
}

}  // namespace frazil::server
