#include <algorithm>

#include <frazil/lazy.h>

#include "api/access.h"
#include "api/lazy_access.h"
#include "lazy/batch/batching_cost.h"
#include "lazy/batch/graph_walk.h"
#include "lazy/program/run.h"

namespace frazil::api {
namespace {

/// Throws unless the value fits the input.
void check_input(const Graph& graph, std::size_t index, const lazy::KnownType* given) {
  const Type& type = graph.type(graph.main().params[index]);
  const auto fits = [&](std::size_t axis) {
    const Dim dim = type.shape[axis];
    return !dim.is_const() || dim.value() == given->sizes[axis];
  };
  bool good = given != nullptr && type.is_tensor() && given->elem == type.elem;
  if (good && type.ranked) {
    good = given->sizes.size() == type.shape.size();
    for (std::size_t axis = 0; good && axis < type.shape.size(); ++axis) good = fits(axis);
  }
  if (good) return;
  refuse(frazil::Code::bad_input, "input '{}': expected {}, got {}", graph.input_names()[index],
         str(type, graph.scope()), given == nullptr ? "no tensor" : type_str(given->elem, given->sizes));
}

/// Throws if the graph has fewer inputs.
void check_count(const Graph& graph, std::size_t inputs) {
  const std::size_t count = graph.main().params.size();
  if (inputs > count) {
    refuse(frazil::Code::bad_input, "{} inputs for model '{}', which has {}", inputs, graph.name, count);
  }
}

}  // namespace

struct BatchedModel::Impl {
  explicit Impl(const Model& of)
      : model(of), walk(Access::impl(model).graph), pays(lazy::is_batching_profitable(walk.graph())) {}

  Session borrow() const {
    const std::scoped_lock lock(mutex_);
    if (idle_.empty()) return model.open({.threads = 1});
    Session session = std::move(idle_.back());
    idle_.pop_back();
    return session;
  }
  void give_back(Session session) const {
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(session));
  }

  const Model model;
  const lazy::GraphWalk walk;
  const bool pays;

 private:
  mutable Mutex mutex_;
  mutable std::vector<Session> idle_;  // sessions that run requests one by one
};

namespace {

/// Runs a single request. Omitted inputs take their default.
std::vector<Array> run_alone(Session& session, const Graph& graph, std::span<const Array> request) {
  check_count(graph, request.size());
  const auto results = [&] {
    if (std::ranges::none_of(request, &Array::empty)) return session.run(request);
    std::vector<Named> inputs;
    for (std::size_t i = 0; i < request.size(); ++i) {
      if (!request[i].empty()) inputs.push_back({graph.input_names()[i], request[i]});
    }
    return session.run(std::span<const Named>(inputs));
  }();
  return {results.begin(), results.end()};
}

}  // namespace

BatchedModel::BatchedModel(const Model& model) {
  const auto calls = model.calls();
  if (!calls.empty() && Access::impl(model).registry.is_own()) {
    refuse(frazil::Code::unsupported, "{}: work cannot be regrouped across calls of a registry of the model's own",
           calls.front().node);
  }
  start_lazy();
  impl_ = std::make_shared<const Impl>(model);
}

bool BatchedModel::pays() const { return impl_->pays; }

std::vector<LazyArray> BatchedModel::operator()(std::span<const LazyArray> inputs) const {
  const Graph& graph = impl_->walk.graph();
  const std::size_t count = graph.main().params.size();
  check_count(graph, inputs.size());
  std::vector<lazy::Handle> handles;
  for (std::size_t i = 0; i < count; ++i) {
    if (i < inputs.size() && inputs[i]) {
      handles.emplace_back(LazyAccess::ref(inputs[i]));
      if (handles.back().output().type == nullptr) check(lazy::run(handles.back().ref()));
      check_input(graph, i, handles.back().output().type);
    } else if (const Tensor* const initial = graph.input_default(i)) {
      handles.push_back(lazy::of_datum(*initial));
    } else {
      refuse(frazil::Code::bad_input, "input '{}' is missing and has no default", graph.input_names()[i]);
    }
  }
  std::vector<LazyArray> results;
  for (const lazy::Handle& result : take(impl_->walk.run(handles))) results.push_back(LazyAccess::array(result.ref()));
  return results;
}

std::vector<BatchedModel::Outcome> BatchedModel::outcomes(std::span<const std::vector<Array>> requests,
                                                          const BatchOptions& options, BatchReport* report) const {
  std::vector<Outcome> outcomes(requests.size());
  const auto keep = [&](std::size_t i, auto run) {
    try {
      outcomes[i].results = run();
    } catch (const Error&) {
      outcomes[i] = {.results = {}, .error = std::current_exception()};
    }
  };
  const auto call = [&](std::size_t i) {
    std::vector<LazyArray> inputs;
    for (const Array& array : requests[i]) inputs.push_back(array.empty() ? LazyArray() : LazyArray(array));
    const std::vector<LazyArray> results = (*this)(inputs);
    detail::settle_result(results);
    std::vector<Array> values;
    for (const LazyArray& result : results) values.push_back(result.value());
    return values;
  };
  BatchReport counts{.instances = requests.size(), .runs = requests.size()};
  if (impl_->pays || options.always) {
    counts = detail::run_batch(requests.size(), [&](std::size_t i) { keep(i, [&] { return call(i); }); }, options);
  } else {
    Session session = impl_->borrow();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      keep(i, [&] {
        if (options.check) options.check(i);
        return run_alone(session, impl_->walk.graph(), requests[i]);
      });
    }
    impl_->give_back(std::move(session));
  }
  if (report != nullptr) *report = counts;
  return outcomes;
}

std::vector<std::vector<Array>> BatchedModel::run(std::span<const std::vector<Array>> requests,
                                                  const BatchOptions& options, BatchReport* report) const {
  std::vector<std::vector<Array>> results;
  for (Outcome& outcome : outcomes(requests, options, report)) {
    if (outcome.error != nullptr) std::rethrow_exception(outcome.error);
    results.push_back(std::move(outcome.results));
  }
  return results;
}

}  // namespace frazil::api
