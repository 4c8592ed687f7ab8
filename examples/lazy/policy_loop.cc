// A policy that acts in many simulated environments, each an inverted pendulum on a cart with its own gusts of wind.
// batch() runs each episode as ordinary code, and an instance leaves when its episode ends. The alternative is a graph
// over all environments, which also computes those that have ended, until the last one ends.
//
// The policy's first unit is a rule-based controller, which balances poles unless gusts are too strong. The rest of the
// network is random and does not move the cart.
#include <array>
#include <iterator>
#include <optional>

#include "side_by_side.h"

namespace {

using namespace lazy_examples;
using frazil::Array;
using frazil::Dtype;
using frazil::LazyArray;
using frazil::Term;

constexpr std::int64_t kSenses = 4, kUnits = 512;
constexpr int kEnvironments = 64, kMaxSteps = 200;

/// The equations of a pole on a cart, in steps of a fiftieth of a second; SI units.
class CartPole {
 public:
  CartPole() = default;
  CartPole(float angle, float gusts, std::uint64_t seed) : angle_(angle), gusts_(gusts), random_(seed) {}

  std::array<float, kSenses> senses() const { return {at_, speed_, angle_, spin_}; }
  bool ended() const { return steps_ == kMaxSteps || std::abs(at_) > 2.4F || std::abs(angle_) > 0.21F; }
  bool fell() const { return ended() && steps_ < kMaxSteps; }
  int steps() const { return steps_; }

  void push(float force) {
    constexpr float kStep = 0.02F, kPole = 0.1F, kAll = 1.1F, kHalf = 0.5F, kGravity = 9.8F;
    const float sine = std::sin(angle_), cosine = std::cos(angle_);
    const float total = force + random_.around_zero(gusts_);
    const float pull = (total + kPole * kHalf * spin_ * spin_ * sine) / kAll;
    const float turn = (kGravity * sine - cosine * pull) / (kHalf * (4.F / 3.F - kPole * cosine * cosine / kAll));
    at_ += kStep * speed_;
    speed_ += kStep * (pull - kPole * kHalf * turn * cosine / kAll);
    angle_ += kStep * spin_;
    spin_ += kStep * turn;
    ++steps_;
  }

 private:
  float at_ = 0, speed_ = 0, angle_ = 0, spin_ = 0, gusts_ = 0;
  int steps_ = 0;
  Random random_{0};
};

std::vector<CartPole> environments() {
  Random random(11);
  std::vector<CartPole> all;
  for (std::uint64_t i = 0; i < kEnvironments; ++i) {
    all.emplace_back(random.around_zero(0.1F), 80 * random.uniform(), i);
  }
  return all;
}

struct Weights {
  explicit Weights(std::uint64_t seed) : random(seed) {
    const std::array<float, kSenses> gains{1, 1.5F, 18, 4};
    for (std::int64_t k = 0; k < kSenses; ++k) first(k, 0) = gains[static_cast<std::size_t>(k)] / 10;
    for (std::int64_t k = 0; k < kUnits; ++k) second(k, 0) = 0;
    second(0, 0) = 1;
    last(0, 0) = 30;  // newtons
  }
  Random random;
  Matrix first = Matrix::layer(kSenses, kUnits, random), second = Matrix::layer(kUnits, kUnits, random);
  Matrix last{kUnits, 1};
};

/// The lengths of episodes, and the final states of their poles.
Outcome outcome_of(std::span<const CartPole> all, std::uint64_t work) {
  Outcome outcome{{}, work};
  for (const CartPole& each : all) {
    outcome.results.push_back(static_cast<float>(each.steps()));
    std::ranges::copy(each.senses(), std::back_inserter(outcome.results));
  }
  return outcome;
}

auto policy_function(const Weights& weights) {
  return frazil::function(
      "policy", [first = frazil::parameter(weights.first.array()), second = frazil::parameter(weights.second.array()),
                 last = frazil::parameter(weights.last.array())](const LazyArray& senses) {
        return matmul(tanh(matmul(tanh(matmul(senses, first)), second)), last);
      });
}

class Lockstep {
 public:
  explicit Lockstep(const Weights& weights) {
    frazil::GraphBuilder graph("policy");
    Term x = graph.input("senses", Dtype::f32, {"N", kSenses});
    for (const Matrix* layer : {&weights.first, &weights.second}) {
      x = graph.op("Tanh", {graph.op("MatMul", {x, graph.constant(layer->array())})});
    }
    graph.output("force", graph.op("MatMul", {x, graph.constant(weights.last.array())}));
    session_.emplace(graph.build().open());
  }

  Outcome run(std::vector<CartPole> all) {
    std::uint64_t decisions = 0;
    while (!std::ranges::all_of(all, &CartPole::ended)) {
      Matrix senses(kEnvironments, kSenses);
      for (std::size_t i = 0; i < all.size(); ++i) {
        std::ranges::copy(all[i].senses(), senses.row(static_cast<std::int64_t>(i)).begin());
      }
      const std::array inputs{senses.array()};
      const frazil::Results results = session_->run(inputs);
      const auto forces = results[0].values<float>();
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (!all[i].ended()) all[i].push(forces[i]);
      }
      decisions += kEnvironments;
    }
    return outcome_of(all, decisions);
  }

 private:
  std::optional<frazil::Session> session_;
};

void policy_loop() {
  const std::vector<CartPole> starts = environments();
  const Weights weights(2);
  const auto policy = policy_function(weights);
  const auto play = [&](CartPole environment) {
    while (!environment.ended()) environment.push(policy(vector_of(environment.senses())).item<float>());
    return environment;
  };
  Lockstep lockstep(weights);
  const auto apart = [&] {
    const std::vector<CartPole> ends = frazil::batch(starts, play);
    std::uint64_t decisions = 0;
    for (const CartPole& end : ends) decisions += static_cast<std::uint64_t>(end.steps());
    return outcome_of(ends, decisions);
  };

  const std::vector<CartPole> ends = frazil::batch(starts, play);
  const auto [shortest, longest] = std::ranges::minmax(ends, {}, &CartPole::steps);
  std::printf("%td of %d poles fell; episodes took %d to %d steps\n", std::ranges::count_if(ends, &CartPole::fell),
              kEnvironments, shortest.steps(), longest.steps());
  side_by_side("policy_loop", "decisions", {"batch()", apart}, {"lockstep", [&] { return lockstep.run(starts); }});
}

}  // namespace

int main() { return lazy_examples::run_example("policy_loop", policy_loop); }
