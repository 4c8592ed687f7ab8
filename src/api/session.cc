#include <algorithm>
#include <chrono>

#include <frazil/session.h>

#include "api/access.h"
#include "base/knobs.h"
#include "base/scheduler.h"
#include "ir/op.h"

namespace frazil::api {
namespace {

/// Forwards executor events to a public Observer.
class Adapter : public exec::Observer {
 public:
  Adapter(api::Observer& to, const Graph& model) : to_(to), names_(to.wanted()) {
    for (const std::string& name : names_) watched_.push_back(take(exec::find_value(model, name)));
  }
  void run_begin(const Plan& plan, std::span<const std::int64_t>) override {
    graph_ = plan.graph.get();
    to_.run_begin();
  }
  void run_end() override { to_.run_end(); }
  void step_begin(const Step& step, NodeId id) override {
    if (!moves_values(id)) to_.node_begin(event(id, &step));
  }
  void step_end(const Step& step, NodeId id) override {
    if (!moves_values(id)) to_.node_end(event(id, &step));
  }
  void branch(const Step&, NodeId id, bool taken) override { to_.branch(event(id), taken); }
  void iteration(const Step&, NodeId id) override { to_.iteration(event(id)); }
  void shapes_changed(std::uint32_t) override { to_.shapes_changed(); }
  std::span<const exec::WatchedValue> watched() const override { return watched_; }
  void value(std::size_t index, const Datum& value, std::span<const std::int64_t> iterations) override {
    to_.value({names_[index], Access::array(value), iterations});
  }
  bool without(std::size_t index, std::string_view why) override { return to_.without(names_[index], why); }

 private:
  /// True for steps that only move values for a control-flow node; the node has events of its own.
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
  api::Observer& to_;
  std::vector<std::string> names_;
  std::vector<exec::WatchedValue> watched_;  ///< of names_
  const Graph* graph_ = nullptr;             ///< of the current plan
};

std::chrono::steady_clock::duration duration_of(double milliseconds) {
  if (!(milliseconds >= 0)) refuse(frazil::Code::bad_input, "Options::deadline_ms: expected at least 0");
  constexpr double kLongest = 1e12;  // about 30 years; fits a duration
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double, std::milli>(std::min(milliseconds, kLongest)));
}

Limits limits_of(const Options& options) {
  Limits limits = knobs()->limits;
  if (options.memory_limit) limits.memory_bytes = *options.memory_limit;
  if (options.arena_limit) limits.arena_bytes = *options.arena_limit;
  if (options.max_elements) limits.tensor_elements = *options.max_elements;
  if (options.max_steps) limits.steps = *options.max_steps;
  if (options.deadline_ms) limits.time = duration_of(*options.deadline_ms);
  return limits;
}

/// Null: the session's thread does all.
std::shared_ptr<Scheduler> scheduler_of(const Options& options) {
  const unsigned threads = options.threads.value_or(knobs()->threads);
  if (threads > kMostThreads) {
    refuse(frazil::Code::bad_input, "Options::threads: expected at most {}, got {}", kMostThreads, threads);
  }
  return threads == 1 ? nullptr : scheduler(threads);
}

bool wants_reference(const Options& options) {
  const std::string& tier = options.tier;
  if (tier == "1" || tier == "2") {
    refuse(frazil::Code::unsupported, "tier {}: this build has no compiled tiers; use auto, 0 or ref", tier);
  }
  if (tier != "auto" && tier != "0" && tier != "ref") {
    refuse(frazil::Code::bad_input, "Options::tier: expected auto, ref, 0, 1 or 2, got '{}'", tier);
  }
  return tier == "ref";
}

}  // namespace

struct Session::Impl {
  explicit Impl(const Model& of) : model(of) {}
  Model model;
  std::unique_ptr<exec::Session> session;
  std::unique_ptr<Adapter> adapter;
  std::vector<Datum> inputs, outputs;

  std::size_t input(std::string_view name) const {
    const auto at = std::ranges::find(model.inputs(), name, &Port::name);
    if (at == model.inputs().end()) refuse(frazil::Code::bad_input, "the model has no input '{}'", name);
    return static_cast<std::size_t>(at - model.inputs().begin());
  }
};

Session Model::open(const Options& options) const {
  const bool reference = wants_reference(options);
  auto impl = std::make_unique<Session::Impl>(*this);
  impl->session = impl_->executable(reference)->open();
  impl->session->set_limits(limits_of(options));
  impl->session->set_scheduler(scheduler_of(options));
  impl->session->set_seed(options.seed);
  impl->session->set_strict(options.strict_numerics);
  impl->session->allow_padding(true);
  return Session(std::move(impl));
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const Array& Results::operator[](std::string_view name) const {
  const auto at = std::ranges::find(*names_, name);
  if (at == names_->end()) refuse(frazil::Code::bad_input, "the model has no output '{}'", name);
  return values_[static_cast<std::size_t>(at - names_->begin())];
}

Results Session::run(std::initializer_list<Named> inputs) {
  return run(std::span<const Named>(inputs.begin(), inputs.size()));
}

Results Session::run(std::span<const Named> inputs) {
  std::vector<Array> by_position(impl_->model.inputs().size());
  for (const Named& named : inputs) by_position[impl_->input(named.name)] = named.value;
  return run(by_position);
}

Results Session::run(std::span<const Array> inputs) {
  Results results;
  run(inputs, results);
  return results;
}

void Session::run(std::span<const Array> inputs, Results& results) {
  Impl& s = *impl_;
  const auto& model = Access::impl(s.model);
  if (model.policy) {
    if (const auto reason = model.policy->check_run(s.model)) {
      refuse(frazil::Code::bad_input, "the policy refuses to run '{}': {}", s.model.name(), *reason);
    }
  }
  s.inputs.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) s.inputs[i] = Access::datum(inputs[i]);
  auto& values = results.values_;
  s.outputs.resize(values.size());
  for (std::size_t k = 0; k < values.size(); ++k) s.outputs[k] = Access::release(values[k]);
  check(s.session->run(s.inputs, s.outputs));
  values.resize(s.outputs.size());
  for (std::size_t k = 0; k < values.size(); ++k) Access::assign(values[k], std::move(s.outputs[k]));
  results.names_ = model.output_names;
}

void Session::trim() { impl_->session->trim(); }

void Session::cancel() noexcept { impl_->session->cancel(); }

void Session::set_observer(Observer* observer) {
  impl_->session->set_observer(nullptr);
  impl_->adapter.reset();
  if (observer != nullptr) impl_->adapter = std::make_unique<Adapter>(*observer, impl_->session->executable().graph());
  impl_->session->set_observer(impl_->adapter.get());
}

Counters Session::counters() const {
  const exec::Counters& c = impl_->session->counters();
  return {c.runs, c.plans, c.shape_changes, c.prepared, c.iterations, impl_->session->held_bytes()};
}

}  // namespace frazil::api
