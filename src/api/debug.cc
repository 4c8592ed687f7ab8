#include <algorithm>

#include <frazil/debug.h>

#include "api/open.h"
#include "base/os/knobs.h"
#include "debug/compare.h"
#include "debug/debugger.h"
#include "debug/reduce.h"

namespace frazil::api {
namespace {

static_assert(static_cast<int>(Debugger::Until::breakpoint) == static_cast<int>(debug::Until::breakpoint));
static_assert(static_cast<int>(Debugger::Until::step_over) == static_cast<int>(debug::Until::step_over));

debug::Until until_of(Debugger::Until until) { return static_cast<debug::Until>(until); }

debug::Backend ways_of(const Model& model, const Options& options) {
  const auto mode = mode_of(options);
  return {[model, mode](std::shared_ptr<const Graph> graph) -> Result<std::shared_ptr<exec::Executable>> {
            auto& impl = Access::impl(model);
            if (graph == impl.graph) return impl.executable(mode);
            return exec::Executable::make(std::move(graph), options_of(mode));
          },
          [options](exec::Executable& executable) { return open_session(executable, options); }};
}

std::vector<Datum> data_of(const Model& model, std::span<const Named> named) {
  std::vector<Datum> data;
  for (const Array& array : in_order(model, named)) data.push_back(Access::datum(array));
  return data;
}

}  // namespace

struct Debugger::Impl {
  Model model;
  std::unique_ptr<debug::Debugger> debugger;

  const debug::Sites& sites() const { return debugger->sites(); }

  Stop begin(std::span<const Named> inputs, Until until) {
    check_run(model);
    return shown(debugger->run(data_of(model, inputs), until_of(until)));
  }
  Stop go(Until until) {
    if (!debugger->in_run()) refuse(frazil::Code::bad_input, "no run is stopped");
    return shown(debugger->go(until_of(until)));
  }
  Stop shown(const debug::Stop& stop) const {
    if (stop.why == debug::Stop::Why::failed) raise(stop.fault);
    if (stop.why == debug::Stop::Why::ended) return {};
    const debug::Site& site = sites()[stop.site];
    Stop shown{.why = stop.why == debug::Stop::Why::step ? Why::step : Why::breakpoint,
               .value = site.name,
               .node = {},
               .op = {},
               .iterations = stop.iterations,
               .around = sites().around(stop.site),
               .breakpoint = stop.breakpoint};
    if (site.node) {
      const Node& node = sites().graph().node(site.node);
      shown.node = sites().names().of(site.node);
      shown.op = node.op->name;
    }
    return shown;
  }
};

Debugger::Debugger(const Model& model, const Options& options) : impl_(std::make_unique<Impl>(Impl{model, nullptr})) {
  impl_->debugger = take(debug::Debugger::make(Access::impl(model).graph, ways_of(model, options)));
}
Debugger::Debugger(Debugger&&) noexcept = default;
Debugger& Debugger::operator=(Debugger&&) noexcept = default;
Debugger::~Debugger() = default;

Debugger::Impl& Debugger::impl() const {
  if (!impl_) refuse(frazil::Code::bad_input, "the debugger was moved from");
  return *impl_;
}

Debugger::Stop Debugger::run(std::initializer_list<Named> inputs) {
  return run(std::span<const Named>(inputs.begin(), inputs.size()));
}
Debugger::Stop Debugger::run(std::span<const Named> inputs) { return impl().begin(inputs, Until::breakpoint); }
Debugger::Stop Debugger::run(std::span<const Named> inputs, Until until) { return impl().begin(inputs, until); }
Debugger::Stop Debugger::go(Until until) { return impl().go(until); }
Debugger::Stop Debugger::start(std::span<const Named> inputs) { return impl().begin(inputs, Until::next_node); }
Debugger::Stop Debugger::step() { return impl().go(Until::next_node); }
Debugger::Stop Debugger::next() { return impl().go(Until::step_over); }
Debugger::Stop Debugger::into() { return impl().go(Until::step_into); }
Debugger::Stop Debugger::out() { return impl().go(Until::step_out); }
Debugger::Stop Debugger::resume() { return impl().go(Until::breakpoint); }

std::uint32_t Debugger::add_breakpoint(std::string_view what) { return take(impl().debugger->add_breakpoint(what)); }

void Debugger::remove_breakpoint(std::uint32_t number) {
  if (impl().debugger->remove_breakpoint(number)) return;
  refuse(frazil::Code::bad_input, "there is no breakpoint {}", number);
}

std::vector<Debugger::Breakpoint> Debugger::breakpoints() const {
  const debug::Debugger& debugger = *impl().debugger;
  std::vector<Breakpoint> all;
  for (const debug::Breakpoint& b : debugger.breakpoints()) {
    all.push_back({b.number, b.text, {}});
    const bool none = !b.sites.empty() && std::ranges::none_of(b.sites, [&](std::size_t site) {
      return debugger.why_missing(site).empty();
    });
    if (none) all.back().missing = debugger.why_missing(b.sites.front());
  }
  return all;
}

Debugger::ValueInfo Debugger::about(std::string_view name) const {
  const debug::Sites& sites = impl().sites();
  const std::size_t at = take(sites.require(name));
  const Graph& graph = sites.graph();
  return {str(graph.type(sites[at].value), graph.scope()), sites[at].node ? graph.describe(sites[at].node) : "",
          impl().debugger->why_missing(at)};
}

Array Debugger::value(std::string_view name) { return Access::array(take(impl().debugger->value(name))); }

Debugger::Stop Debugger::set(std::string_view name, const Array& value) {
  return impl().shown(take(impl().debugger->set(name, Access::dense(value))));
}

std::vector<std::string> Debugger::values() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < impl().sites().size(); ++i) names.push_back(impl().sites()[i].name);
  return names;
}

std::string Debugger::why_missing(std::string_view name) const {
  return impl().debugger->why_missing(take(impl().sites().require(name)));
}

std::vector<Array> Debugger::results() const {
  std::vector<Array> results;
  for (const Datum& value : impl().debugger->results()) results.push_back(Access::array(value));
  return results;
}

void Debugger::cancel() noexcept {
  if (impl_) impl_->debugger->cancel();
}

namespace {

debug::Recording recording_of(const Model& model, std::span<const Named> inputs, const Options& options) {
  check_run(model);
  const std::uint64_t most = options.memory_limit.value_or(knobs()->limits.memory_bytes);
  return take(debug::record(Access::impl(model).graph, ways_of(model, options), data_of(model, inputs), most));
}

debug::Recording recording_of(const Recording& from) {
  debug::Recording made;
  for (const Recording::Value& v : from.values) {
    made.values.push_back({v.name, v.node, v.iterations, Access::datum(v.value)});
  }
  return made;
}

Divergence divergence_of(const debug::Comparison& found) {
  Divergence divergence{.compared = found.compared,
                        .differ = found.apart,
                        .only_a = found.only_a,
                        .only_b = found.only_b,
                        .inconclusive = found.inconclusive(),
                        .value = {},
                        .node = {},
                        .what = {},
                        .iterations = {}};
  if (!found.first) return divergence;
  divergence.value = found.first->name;
  divergence.node = found.first->node;
  divergence.what = found.first->what;
  divergence.iterations = found.first->iterations;
  return divergence;
}

}  // namespace

Recording record(const Model& model, std::span<const Named> inputs, const Options& options) {
  debug::Recording from = recording_of(model, inputs, options);
  Recording made;
  for (auto& v : from.values) {
    made.values.push_back({std::move(v.name), std::move(v.node), std::move(v.iterations), Access::array(v.value)});
  }
  if (!from.status) made.error = error_of(from.status.error());
  return made;
}

Divergence compare(const Recording& a, const Recording& b, const Closeness& closeness) {
  const debug::Closeness close{closeness.rtol, closeness.atol, closeness.of_largest};
  return divergence_of(debug::compare(recording_of(a), recording_of(b), close));
}

Reduced reduce(const Model& model, std::span<const Named> inputs, const CompareOptions& options) {
  check_run(model);
  const debug::BackendPair ways{ways_of(model, options.a),
                                ways_of(model, options.b),
                                {options.rtol, options.atol, options.of_largest},
                                options.a.memory_limit.value_or(knobs()->limits.memory_bytes)};
  debug::Reduced found = take(debug::reduce(Access::impl(model).graph, ways, data_of(model, inputs)));
  const auto& of = Access::impl(model);
  Reduced made{Access::model(std::move(found.graph), of), {}, std::move(found.why)};
  for (Datum& value : found.inputs) made.inputs.push_back(Access::array(std::move(value)));
  return made;
}

Divergence compare(const Model& a, const Model& b, std::span<const Named> inputs, const CompareOptions& options) {
  const debug::Recording of_a = recording_of(a, inputs, options.a);
  check(of_a.status);
  const debug::Recording of_b = recording_of(b, inputs, options.b);
  check(of_b.status);
  return divergence_of(debug::compare(of_a, of_b, {options.rtol, options.atol, options.of_largest}));
}

}  // namespace frazil::api
