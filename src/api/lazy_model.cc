#include <algorithm>

#include <frazil/lazy.h>

#include "api/access.h"
#include "api/lazy_access.h"
#include "lazy/graph_walk.h"
#include "lazy/run.h"

namespace frazil::api {
namespace {

/// Throws unless the value may be the input.
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

}  // namespace

struct BatchedModel::Impl {
  explicit Impl(std::shared_ptr<const Graph> graph) : walk(std::move(graph)) {}
  lazy::GraphWalk walk;
};

BatchedModel::BatchedModel(const Model& model) {
  start_lazy();
  impl_ = std::make_shared<const Impl>(Access::impl(model).graph);
}

std::vector<LazyArray> BatchedModel::operator()(std::span<const LazyArray> inputs) const {
  const Graph& graph = impl_->walk.graph();
  const std::size_t count = graph.main().params.size();
  if (inputs.size() > count) {
    refuse(frazil::Code::bad_input, "{} inputs for model '{}', which has {}", inputs.size(), graph.name, count);
  }
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
  const auto call = [&](std::size_t i) {
    std::vector<LazyArray> inputs;
    for (const Array& array : requests[i]) inputs.push_back(array.empty() ? LazyArray() : LazyArray(array));
    const std::vector<LazyArray> results = (*this)(inputs);
    detail::settle_result(results);
    for (const LazyArray& result : results) outcomes[i].results.push_back(result.value());
  };
  const BatchReport counts = detail::run_batch(
      requests.size(),
      [&](std::size_t i) {
        try {
          call(i);
        } catch (const Error&) {
          outcomes[i] = {.results = {}, .error = std::current_exception()};
        }
      },
      options);
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
