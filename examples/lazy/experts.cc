// A mixture of experts: a gate selects one of eight networks for each instance. batch() runs ordinary code that reads
// the gate and calls the expert, and groups the instances by expert. The alternative is a graph that computes all
// experts and selects one result.
//
// The gate's weights are the directions of eight topics, and each instance has one topic, so that a selection has a
// meaning. The weights of the experts are random.
#include <array>

#include "side_by_side.h"

namespace {

using namespace lazy_examples;
using frazil::Array;
using frazil::Dtype;
using frazil::LazyArray;
using frazil::Term;

constexpr std::int64_t kSize = 128, kInner = 512, kExperts = 8, kInstances = 256;

struct Expert {
  Matrix up, down;
};

struct Weights {
  explicit Weights(std::uint64_t seed) : random(seed) {
    for (int k = 0; k < kExperts; ++k) {
      experts.push_back({Matrix::layer(kSize, kInner, random), Matrix::layer(kInner, kSize, random)});
    }
  }
  Random random;
  Matrix gate = Matrix::layer(kSize, kExperts, random);
  std::vector<Expert> experts;
};

/// Returns instances: a direction of the gate, and noise. Topics are not equally frequent.
std::vector<Array> instances(Weights& weights, std::vector<std::int64_t>& topics) {
  std::vector<Array> all;
  for (std::int64_t i = 0; i < kInstances; ++i) {
    const std::int64_t topic = std::min(weights.random.below(kExperts), weights.random.below(kExperts));
    std::vector<float> x(kSize);
    for (std::int64_t k = 0; k < kSize; ++k) {
      x[static_cast<std::size_t>(k)] = 8 * weights.gate(k, topic) + weights.random.around_zero(0.5F);
    }
    topics.push_back(topic);
    all.push_back(vector_of(x));
  }
  return all;
}

class Routed {
 public:
  explicit Routed(const Weights& weights) : gate_(frazil::parameter(weights.gate.array())) {
    for (const Expert& expert : weights.experts) experts_.push_back(expert_function(expert));
  }

  Outcome run(const std::vector<Array>& all) {
    picked.assign(all.size(), 0);
    const auto results = frazil::batch(all, [&](const Array& x) { return route(x, &x - all.data()); });
    Outcome outcome{{}, all.size()};
    for (const LazyArray& result : results) append(outcome.results, result.value());
    return outcome;
  }

  std::vector<std::int64_t> picked;  ///< by instance

 private:
  static std::function<LazyArray(const LazyArray&)> expert_function(const Expert& expert) {
    return [up = frazil::parameter(expert.up.array()), down = frazil::parameter(expert.down.array())](
               const LazyArray& x) { return x + matmul(gelu(matmul(x, up)), down); };
  }

  LazyArray route(const LazyArray& x, std::ptrdiff_t instance) {
    const auto expert = argmax(matmul(x, gate_)).item<std::int64_t>();
    picked[static_cast<std::size_t>(instance)] = expert;
    return experts_[static_cast<std::size_t>(expert)](x);
  }

  LazyArray gate_;
  std::vector<std::function<LazyArray(const LazyArray&)>> experts_;
};

frazil::Model all_experts(const Weights& weights) {
  frazil::GraphBuilder graph("all_experts");
  const Term x = graph.input("x", Dtype::f32, {"N", kSize});
  const Term picked = graph.op("ArgMax", {graph.op("MatMul", {x, graph.constant(weights.gate.array())})},
                               {{"axis", 1}, {"keepdims", 1}});
  Term y;
  for (std::int64_t k = 0; k < kExperts; ++k) {
    const Expert& expert = weights.experts[static_cast<std::size_t>(k)];
    const Term inner = graph.op("Gelu", {graph.op("MatMul", {x, graph.constant(expert.up.array())})});
    const Term here = graph.op("Add", {x, graph.op("MatMul", {inner, graph.constant(expert.down.array())})});
    y = y ? graph.op("Where", {graph.op("Equal", {picked, graph.scalar(k)}), here, y}) : here;
  }
  graph.output("y", y);
  return graph.build();
}

void experts() {
  Weights weights(5);
  std::vector<std::int64_t> topics;
  const std::vector<Array> all = instances(weights, topics);
  Matrix rows(kInstances, kSize);
  for (std::int64_t i = 0; i < kInstances; ++i) {
    std::ranges::copy(all[static_cast<std::size_t>(i)].values<float>(), rows.row(i).begin());
  }
  Routed routed(weights);
  auto session = all_experts(weights).open();
  const std::array inputs{rows.array()};

  routed.run(all);
  std::printf("instances by expert:");
  for (std::int64_t k = 0; k < kExperts; ++k) std::printf(" %td", std::ranges::count(routed.picked, k));
  std::printf("; %s\n", routed.picked == topics ? "all went to that of their topic" : "some went elsewhere");
  side_by_side("experts", "experts", {"batch()", [&] { return routed.run(all); }},
               {"all experts", [&] {
                  Outcome outcome{{}, static_cast<std::uint64_t>(kInstances * kExperts)};
                  append(outcome.results, session.run(inputs)[0]);
                  return outcome;
                }});
}

}  // namespace

int main() { return lazy_examples::run_example("experts", experts); }
