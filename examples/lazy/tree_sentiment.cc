// Sentiment by a Tree-LSTM: each sentence is computed along its own parse tree. batch() runs the cells of all trees
// together. The alternative is a graph for each cell, run node by node, one tree after the other.
//
// The weights are constructed: element 0 of a state is the sentiment, the sum over the children. Element 1 marks "not",
// which inverts the sentiment to its right. The other elements are random.
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "side_by_side.h"

namespace {

using namespace lazy_examples;
using frazil::Array;
using frazil::LazyArray;
using State = std::array<LazyArray, 2>;  // h and c

constexpr std::int64_t kHidden = 128;
constexpr float kOpen = 10;  // a gate's input; -kOpen: closed

struct Tree {
  std::string word;
  std::vector<Tree> children;  // none or two
};

/// "((not good) film)"
Tree parse(std::string_view& text) {
  if (!text.starts_with('(')) {
    const std::string_view word = text.substr(0, text.find_first_of(" )"));
    text.remove_prefix(word.size());
    return {std::string(word), {}};
  }
  Tree tree;
  for (int child = 0; child < 2; ++child) {
    text.remove_prefix(1);  // "(" or " "
    tree.children.push_back(parse(text));
  }
  text.remove_prefix(1);
  return tree;
}

/// Returns the text with words in place of + and -.
std::string filled(std::string_view text, const std::string& positive, const std::string& negative) {
  std::string made;
  for (const char each : text) {
    if (each == '+' || each == '-') {
      made += each == '+' ? positive : negative;
    } else {
      made += each;
    }
  }
  return made;
}

std::vector<std::string> sentences() {
  std::vector<std::string> all;
  for (const std::string positive : {"good", "great", "moving", "funny"}) {
    for (const std::string negative : {"bad", "dull", "silly", "long"}) {
      for (const char* text : {"((the (+ start)) (had (a (- end))))", "((the (- start)) (was (not +)))",
                               "((a (+ film)) (which (is (not -))))"}) {
        all.push_back(filled(text, positive, negative));
      }
    }
  }
  return all;
}

float sentiment_of(const std::string& word) {
  static const std::map<std::string, float> known{{"good", 1}, {"great", 1.5F}, {"moving", 1}, {"funny", 0.8F},
                                                  {"bad", -1}, {"dull", -1.2F}, {"silly", -1}, {"long", -0.6F}};
  const auto at = known.find(word);
  return at == known.end() ? 0 : at->second;
}

struct Layer {
  Matrix w;
  Matrix bias;
};

/// Returns random weights. Elements 0 and 1 of all states have zero weights, and their gates are closed.
Layer cell(std::int64_t states, std::int64_t gates, Random& random) {
  Layer made{Matrix::layer(states * kHidden, gates * kHidden, random), Matrix(1, gates * kHidden)};
  for (std::int64_t row = 0; row < made.w.rows; ++row) {
    for (std::int64_t col = 0; col < made.w.cols; ++col) {
      if (row % kHidden < 2 || col % kHidden < 2) made.w(row, col) = 0;
    }
  }
  for (std::int64_t gate = 0; gate + 1 < gates; ++gate) {
    for (std::int64_t k = 0; k < 2; ++k) made.bias(0, gate * kHidden + k) = -kOpen;
  }
  return made;
}

/// Gates of a leaf: in, out, value.
Layer leaf_cell(Random& random) {
  Layer made = cell(1, 3, random);
  for (std::int64_t k = 0; k < 2; ++k) {
    made.bias(0, k) = made.bias(0, kHidden + k) = kOpen;
    made.w(k, 2 * kHidden + k) = 1;
  }
  return made;
}

/// Gates of an inner node: in, left, right, out, value.
Layer inner_cell(Random& random) {
  Layer made = cell(2, 5, random);
  for (std::int64_t gate : {1, 2, 3}) made.bias(0, gate * kHidden) = kOpen;
  made.w(1, 0) = 4 * kOpen;             // after "not" the input gate opens,
  made.w(1, 2 * kHidden) = -4 * kOpen;  // the sentiment of the right child is dropped,
  made.w(kHidden, 4 * kHidden) = -2;    // and its opposite is the new value
  return made;
}

auto leaf_function(Random& random) {
  const Layer layer = leaf_cell(random);
  return frazil::function("leaf", [affine = Affine(layer.w, layer.bias)](const LazyArray& x) {
    const auto gates = split(affine(x), 3);
    const LazyArray c = sigmoid(gates[0]) * tanh(gates[2]);
    return State{sigmoid(gates[1]) * tanh(c), c};
  });
}

auto inner_function(Random& random) {
  const Layer layer = inner_cell(random);
  return frazil::function("inner", [affine = Affine(layer.w, layer.bias)](const LazyArray& lh, const LazyArray& lc,
                                                                          const LazyArray& rh, const LazyArray& rc) {
    const auto gates = split(affine(frazil::concatenate({lh, rh})), 5);
    const LazyArray c = sigmoid(gates[0]) * tanh(gates[4]) + sigmoid(gates[1]) * lc + sigmoid(gates[2]) * rc;
    return State{sigmoid(gates[3]) * tanh(c), c};
  });
}

class Words {
 public:
  Words(const std::vector<Tree>& trees, Random& random) {
    for (const Tree& tree : trees) number(tree);
    Matrix vectors(static_cast<std::int64_t>(numbers_.size()), kHidden);
    for (const auto& [word, number] : numbers_) {
      for (float& value : vectors.row(number)) value = random.around_zero(1);
      vectors(number, 0) = sentiment_of(word);
      vectors(number, 1) = word == "not" ? 3.F : 0.F;
    }
    vectors_ = frazil::parameter(vectors.array());
  }
  LazyArray operator[](const std::string& word) const { return vectors_[numbers_.at(word)]; }

 private:
  void number(const Tree& tree) {
    if (tree.children.empty()) numbers_.try_emplace(tree.word, static_cast<std::int64_t>(numbers_.size()));
    for (const Tree& child : tree.children) number(child);
  }

  std::map<std::string, std::int64_t> numbers_;
  LazyArray vectors_;
};

struct Model {
  explicit Model(const std::vector<Tree>& trees) : words(trees, random) {}
  Random random{7};
  Words words;
  decltype(leaf_function(random)) leaf = leaf_function(random);
  decltype(inner_function(random)) inner = inner_function(random);
};

State state_of(const Tree& tree, const Model& model) {
  if (tree.children.empty()) return model.leaf(model.words[tree.word]);
  const State left = state_of(tree.children[0], model), right = state_of(tree.children[1], model);
  return model.inner(left[0], left[1], right[0], right[1]);
}

Outcome together(const std::vector<Tree>& trees, const Model& model) {
  frazil::BatchReport report;
  const auto roots = frazil::batch(trees, [&](const Tree& tree) { return state_of(tree, model)[0]; }, {}, &report);
  Outcome outcome{{}, report.runs};
  for (const LazyArray& root : roots) append(outcome.results, root.value());
  return outcome;
}

/// The cells as graphs, without any information about trees.
class NodeByNode {
 public:
  explicit NodeByNode(const Model& model) : model_(model) {
    const LazyArray state = Array(frazil::Dtype::f32, {kHidden});
    leaf_.emplace(model.leaf.model(state).open());
    inner_.emplace(model.inner.model(state, state, state, state).open());
  }

  Outcome run(const std::vector<Tree>& trees) {
    runs_ = 0;
    Outcome outcome;
    for (const Tree& tree : trees) append(outcome.results, state_of(tree)[0]);
    outcome.work = runs_;
    return outcome;
  }

 private:
  frazil::Results state_of(const Tree& tree) {
    ++runs_;
    if (tree.children.empty()) {
      const std::array inputs{model_.words[tree.word].value()};
      return leaf_->run(inputs);
    }
    const frazil::Results left = state_of(tree.children[0]), right = state_of(tree.children[1]);
    const std::array inputs{left[0], left[1], right[0], right[1]};
    return inner_->run(inputs);
  }

  const Model& model_;
  std::optional<frazil::Session> leaf_, inner_;
  std::uint64_t runs_ = 0;
};

void tree_sentiment() {
  const std::vector<std::string> texts = sentences();
  std::vector<Tree> trees;
  for (std::string_view text : texts) trees.push_back(parse(text));
  const Model model(trees);
  const Outcome outcome = together(trees, model);
  for (std::size_t i = 0; i < 6; ++i) {
    std::printf("%+.2f  %s\n", static_cast<double>(outcome.results[i * kHidden]), texts[i].c_str());
  }
  std::printf("and %zu more sentences\n", texts.size() - 6);
  NodeByNode graphs(model);
  side_by_side("tree_sentiment", "runs", {"batch()", [&] { return together(trees, model); }},
               {"node by node", [&] { return graphs.run(trees); }});
}

}  // namespace

int main() { return lazy_examples::run_example("tree_sentiment", tree_sentiment); }
