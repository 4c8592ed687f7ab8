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

std::vector<std::vector<Array>> BatchedModel::run(std::span<const std::vector<Array>> requests,
                                                  const BatchOptions& options, BatchReport* report) const {
  const auto call = [&](const std::vector<Array>& request) {
    std::vector<LazyArray> inputs;
    for (const Array& array : request) inputs.push_back(array.empty() ? LazyArray() : LazyArray(array));
    return (*this)(inputs);
  };
  std::vector<std::vector<Array>> results;
  for (const std::vector<LazyArray>& each : batch(requests, call, options, report)) {
    std::vector<Array>& arrays = results.emplace_back();
    for (const LazyArray& result : each) arrays.push_back(result.value());
  }
  return results;
}

}  // namespace frazil::api
