#include "bench/lazy/workloads.h"

#include <cmath>

#include "bench/random.h"

namespace bench::lazy {
namespace {

using std::int64_t;

constexpr std::uint64_t kSeed = 2024;
constexpr int64_t kVocabulary = 20000, kMatrixVocabulary = 2000;
constexpr int64_t kClasses = 5, kTags = 17;
constexpr int64_t kMaxSteps = 40;
constexpr double kExit = 0.1;

/// Uniform, centred.
Floats numbers(Random& random, int64_t count, double deviation) {
  Floats values(static_cast<std::size_t>(count));
  const double bound = deviation * std::sqrt(3.0);
  for (float& v : values) v = static_cast<float>((2 * random.uniform() - 1) * bound);
  return values;
}

Matrix matrix(Random& random, int64_t rows, int64_t cols, double deviation) {
  return {rows, cols, numbers(random, rows * cols, deviation)};
}

/// Keeps the scale of what it is multiplied with.
Matrix weights(Random& random, int64_t inputs, int64_t outputs) {
  return matrix(random, inputs, outputs, 1 / std::sqrt(static_cast<double>(inputs)));
}

Layer layer(Random& random, int64_t inputs, int64_t outputs) {
  return {weights(random, inputs, outputs), numbers(random, outputs, 0.1)};
}

Matrix embeddings(Random& random, int64_t rows, int64_t cols) { return matrix(random, rows, cols, 0.7); }

int64_t between(Random& random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random.uniform() * static_cast<double>(most - least + 1));
}

std::int32_t word(Random& random, int64_t vocabulary) {
  return static_cast<std::int32_t>(between(random, 0, vocabulary - 1));
}

/// Returns the node's index.
std::int32_t grow(Tree& tree, Random& random, int64_t leaves, int64_t vocabulary) {
  Tree::Node node;
  if (leaves == 1) {
    node.word = word(random, vocabulary);
  } else {
    const int64_t left = between(random, 1, leaves - 1);
    node.left = grow(tree, random, left, vocabulary);
    node.right = grow(tree, random, leaves - left, vocabulary);
  }
  tree.nodes.push_back(node);
  return static_cast<std::int32_t>(tree.nodes.size()) - 1;
}

void plant(TreeWorkload& model, Random& random, int64_t instances, int64_t vocabulary) {
  model.classifier = layer(random, model.hidden, kClasses);
  model.trees.resize(static_cast<std::size_t>(instances));
  for (Tree& tree : model.trees) {
    grow(tree, random, between(random, 5, 40), vocabulary);
    model.add_result(kClasses);
  }
}

Words sentence(Random& random, int64_t length) {
  Words words(static_cast<std::size_t>(length));
  for (std::int32_t& w : words) w = word(random, kVocabulary);
  return words;
}

Lstm lstm(Random& random, int64_t embedding, int64_t hidden) {
  return {layer(random, embedding, 4 * hidden), weights(random, hidden, 4 * hidden)};
}

/// Above all values of the logistic function at each step but the last, and below them there.
Floats thresholds(Random& random) {
  Floats values(kMaxSteps, 2.f);
  int64_t last = 0;
  while (last + 1 < kMaxSteps && random.uniform() >= kExit) ++last;
  values[static_cast<std::size_t>(last)] = -1.f;
  return values;
}

}  // namespace

TreeLstm tree_lstm(int64_t hidden, int64_t embedding, int64_t instances) {
  Random random(kSeed, "tree_lstm");
  TreeLstm model;
  model.name = "tree_lstm_" + std::to_string(hidden);
  model.hidden = hidden;
  model.words = embeddings(random, kVocabulary, embedding);
  model.leaf = layer(random, embedding, 3 * hidden);
  model.inner = layer(random, 2 * hidden, 5 * hidden);
  plant(model, random, instances, kVocabulary);
  return model;
}

TreeRnn tree_rnn(int64_t hidden, int64_t instances) {
  Random random(kSeed, "tree_rnn");
  TreeRnn model;
  model.name = "tree_rnn_" + std::to_string(hidden);
  model.hidden = hidden;
  model.words = embeddings(random, kVocabulary, hidden);
  model.inner = layer(random, 2 * hidden, hidden);
  plant(model, random, instances, kVocabulary);
  return model;
}

MvRnn mv_rnn(int64_t hidden, int64_t instances) {
  Random random(kSeed, "mv_rnn");
  MvRnn model;
  model.name = "mv_rnn_" + std::to_string(hidden);
  model.hidden = hidden;
  model.words = embeddings(random, kMatrixVocabulary, hidden);
  model.matrices = matrix(random, kMatrixVocabulary * hidden, hidden, 1 / std::sqrt(static_cast<double>(hidden)));
  model.vector = layer(random, 2 * hidden, hidden);
  model.matrix = matrix(random, hidden, 2 * hidden, 1 / std::sqrt(2.0 * static_cast<double>(hidden)));
  plant(model, random, instances, kMatrixVocabulary);
  return model;
}

BiLstm bilstm(int64_t hidden, int64_t instances) {
  Random random(kSeed, "bilstm");
  BiLstm model;
  model.name = "bilstm_" + std::to_string(hidden);
  model.hidden = hidden;
  model.words = embeddings(random, kVocabulary, hidden);
  model.forward = lstm(random, hidden, hidden);
  model.backward = lstm(random, hidden, hidden);
  model.tagger = layer(random, 2 * hidden, kTags);
  for (int64_t i = 0; i < instances; ++i) {
    model.sentences.push_back(sentence(random, between(random, 5, 50)));
    model.add_result(kTags * static_cast<int64_t>(model.sentences.back().size()));
  }
  return model;
}

EarlyExit early_exit(int64_t hidden, int64_t instances) {
  Random random(kSeed, "early_exit");
  EarlyExit model;
  model.name = "early_exit_" + std::to_string(hidden);
  model.hidden = hidden;
  model.words = embeddings(random, kVocabulary, hidden);
  model.lstm = lstm(random, hidden, hidden);
  model.halt = layer(random, hidden, 1);
  for (int64_t i = 0; i < instances; ++i) {
    model.pool.push_back({sentence(random, kMaxSteps), thresholds(random)});
    model.add_result(hidden);
  }
  return model;
}

}  // namespace bench::lazy
