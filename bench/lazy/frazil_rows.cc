#include "bench/lazy/frazil_rows.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include <frazil/frazil.h>

namespace bench::lazy {
namespace {

using frazil::Array;
using frazil::LazyArray;
using State = std::array<LazyArray, 2>;  // h and c
using Results = std::vector<LazyArray>;

LazyArray parameter(const Matrix& matrix) {
  return frazil::parameter(Array::of<float>({matrix.rows, matrix.cols}, std::span<const float>(matrix.values)));
}

struct Affine {
  explicit Affine(const Layer& layer)
      : w(parameter(layer.w)),
        bias(frazil::parameter(
            Array::of<float>({static_cast<std::int64_t>(layer.bias.size())}, std::span<const float>(layer.bias)))) {}
  LazyArray operator()(const LazyArray& x) const { return matmul(x, w) + bias; }
  LazyArray w, bias;
};

/// Ordinary code for one instance, run on all of a batch.
class Row : public Implementation {
 public:
  explicit Row(std::function<Results(std::int64_t)> instance)
      : Implementation("Frazil, batch()", Role::other), instance_(std::move(instance)) {}

  void run(const Batch& batch, std::span<float> results) override {
    std::vector<std::int64_t> instances(static_cast<std::size_t>(batch.size()));
    std::iota(instances.begin(), instances.end(), batch.first);
    float* to = results.data();
    for (const Results& each : frazil::batch(instances, instance_)) {
      for (const LazyArray& part : each) {
        const Array value = part.value();
        to = std::ranges::copy(value.values<float>(), to).out;
      }
    }
  }

 private:
  const std::function<Results(std::int64_t)> instance_;
};

void add(Implementations& rows, std::function<Results(std::int64_t)> instance) {
  rows.push_back(std::make_unique<Row>(std::move(instance)));
}

/// What a tree's root has, where `leaf` and `inner` are the cells.
template <class Leaf, class Inner>
auto fold_tree(const Tree& tree, const Tree::Node& node, const Leaf& leaf, const Inner& inner)
    -> decltype(leaf(node.word)) {
  if (node.is_leaf()) return leaf(node.word);
  return inner(fold_tree(tree, tree.nodes[static_cast<std::size_t>(node.left)], leaf, inner),
               fold_tree(tree, tree.nodes[static_cast<std::size_t>(node.right)], leaf, inner));
}

}  // namespace

void add_frazil_rows(const TreeLstm& model, Implementations& rows) {
  const auto out = [](const LazyArray& o, const LazyArray& c) { return State{sigmoid(o) * tanh(c), c}; };
  const auto leaf = frazil::function("leaf", [=, affine = Affine(model.leaf)](const LazyArray& x) {
    const auto gates = split(affine(x), 3);
    return out(gates[1], sigmoid(gates[0]) * tanh(gates[2]));
  });
  const auto inner =
      frazil::function("inner", [=, affine = Affine(model.inner)](const LazyArray& lh, const LazyArray& lc,
                                                                  const LazyArray& rh, const LazyArray& rc) {
        const auto gates = split(affine(frazil::concatenate({lh, rh})), 5);
        return out(gates[3], sigmoid(gates[0]) * tanh(gates[4]) + sigmoid(gates[1]) * lc + sigmoid(gates[2]) * rc);
      });
  add(rows,
      [&model, leaf, inner, words = parameter(model.words), classifier = Affine(model.classifier)](std::int64_t i) {
        const Tree& tree = model.trees[static_cast<std::size_t>(i)];
        const State root = fold_tree(
            tree, tree.nodes.back(), [&](std::int32_t word) { return leaf(words[word]); },
            [&](const State& left, const State& right) { return inner(left[0], left[1], right[0], right[1]); });
        return Results{classifier(root[0])};
      });
}

void add_frazil_rows(const TreeRnn& model, Implementations& rows) {
  const auto inner =
      frazil::function("inner", [affine = Affine(model.inner)](const LazyArray& left, const LazyArray& right) {
        return tanh(affine(frazil::concatenate({left, right})));
      });
  add(rows, [&model, inner, words = parameter(model.words), classifier = Affine(model.classifier)](std::int64_t i) {
    const Tree& tree = model.trees[static_cast<std::size_t>(i)];
    return Results{classifier(fold_tree(
        tree, tree.nodes.back(), [&](std::int32_t word) { return words[word]; },
        [&](const LazyArray& left, const LazyArray& right) { return inner(left, right); }))};
  });
}

void add_frazil_rows(const MvRnn& model, Implementations& rows) {
  const auto vector =
      frazil::function("vector", [affine = Affine(model.vector)](const LazyArray& lv, const LazyArray& lm,
                                                                 const LazyArray& rv, const LazyArray& rm) {
        return tanh(affine(frazil::concatenate({matmul(rm, lv), matmul(lm, rv)})));
      });
  const auto matrix =
      frazil::function("matrix", [w = parameter(model.matrix)](const LazyArray& lm, const LazyArray& rm) {
        return matmul(w, frazil::concatenate({lm, rm}));
      });
  const std::int64_t vocabulary = model.words.rows, hidden = model.hidden;
  const LazyArray matrices =
      frazil::parameter(Array::of<float>({vocabulary, hidden, hidden}, std::span<const float>(model.matrices.values)));
  add(rows, [&model, vector, matrix, matrices, words = parameter(model.words),
             classifier = Affine(model.classifier)](std::int64_t i) {
    const Tree& tree = model.trees[static_cast<std::size_t>(i)];
    return Results{classifier(fold_tree(
        tree, tree.nodes.back(), [&](std::int32_t word) { return State{words[word], matrices[word]}; },
        [&](const State& left, const State& right) {
          return State{vector(left[0], left[1], right[0], right[1]), matrix(left[1], right[1])};
        })[0])};
  });
}

namespace {

auto lstm_step(const Lstm& lstm, const char* name) {
  return frazil::function(name, [input = Affine(lstm.input), recurrent = parameter(lstm.recurrent)](
                                    const LazyArray& h, const LazyArray& c, const LazyArray& x) {
    const auto gates = split(input(x) + matmul(h, recurrent), 4);
    const LazyArray next = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
    return State{sigmoid(gates[3]) * tanh(next), next};
  });
}

LazyArray zeros(std::int64_t size) { return Array(frazil::Dtype::f32, {size}); }

}  // namespace

void add_frazil_rows(const BiLstm& model, Implementations& rows) {
  const auto forward = lstm_step(model.forward, "forward"), backward = lstm_step(model.backward, "backward");
  const auto tag = frazil::function("tag", [affine = Affine(model.tagger)](const LazyArray& f, const LazyArray& b) {
    return affine(frazil::concatenate({f, b}));
  });
  add(rows, [&model, forward, backward, tag, words = parameter(model.words)](std::int64_t i) {
    const Words& sentence = model.sentences[static_cast<std::size_t>(i)];
    const State start{zeros(model.hidden), zeros(model.hidden)};
    Results left, tags;
    State state = start;
    for (const std::int32_t word : sentence) {
      state = forward(state[0], state[1], words[word]);
      left.push_back(state[0]);
    }
    state = start;
    for (std::size_t t = sentence.size(); t-- > 0;) {
      state = backward(state[0], state[1], words[sentence[t]]);
      tags.push_back(tag(left[t], state[0]));
    }
    std::ranges::reverse(tags);
    return tags;
  });
}

void add_frazil_rows(const EarlyExit& model, Implementations& rows) {
  const auto step = lstm_step(model.lstm, "step");
  add(rows, [&model, step, words = parameter(model.words), halt = Affine(model.halt)](std::int64_t i) {
    const EarlyExit::Instance& instance = model.pool[static_cast<std::size_t>(i)];
    State state{zeros(model.hidden), zeros(model.hidden)};
    for (std::size_t t = 0; t < instance.words.size(); ++t) {
      state = step(state[0], state[1], words[instance.words[t]]);
      if (sigmoid(halt(state[0])).item<float>() > instance.thresholds[t]) break;
    }
    return Results{state[0]};
  });
}

}  // namespace bench::lazy
