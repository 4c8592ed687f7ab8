#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Workloads for define-by-run batching: models with weights, and pools of instances with different structures. All
/// data is drawn from a fixed seed. Vectors are rows: a layer is x * W + b with W[inputs, outputs].
namespace bench::lazy {

using Floats = std::vector<float>;

/// A row-major matrix.
struct Matrix {
  std::int64_t rows = 0, cols = 0;
  Floats values;

  const float* row(std::int64_t i) const { return values.data() + i * cols; }
};

struct Layer {
  Matrix w;     ///< [inputs, outputs]
  Floats bias;  ///< [outputs]
};

/// A binary tree of words with at least 2 leaves. Children precede their parents, so the last node is the root.
struct Tree {
  struct Node {
    std::int32_t word = -1;  ///< of a leaf
    std::int32_t left = -1, right = -1;

    bool is_leaf() const { return word >= 0; }
  };
  std::vector<Node> nodes;
};

using Words = std::vector<std::int32_t>;

/// A pool of instances. The result of instance i has `result_begin[i + 1] - result_begin[i]` numbers.
struct Workload {
  std::string name;
  std::vector<std::int64_t> result_begin{0};

  std::int64_t instances() const { return static_cast<std::int64_t>(result_begin.size()) - 1; }
  void add_result(std::int64_t size) { result_begin.push_back(result_begin.back() + size); }
};

/// Consecutive instances of a pool. Results are relative to the first instance's.
struct Batch {
  std::int64_t first = 0, last = 0;

  std::int64_t size() const { return last - first; }
};

/// Trees have 5 to 40 leaves (uniform) and are split at uniform positions. Words are uniform in the vocabulary.
struct TreeWorkload : Workload {
  std::int64_t hidden = 0;
  std::vector<Tree> trees;
  Layer classifier;  ///< [hidden, 5]; maps the root's vector to the result
};

/// N-ary Tree-LSTM, N = 2; s is the logistic function, x the word's row of `words`, * is elementwise for vectors.
///   leaf:   i o u = x * leaf.w + leaf.bias;  c = s(i) * tanh(u);  h = s(o) * tanh(c)
///   inner:  i l r o u = [h_left h_right] * inner.w + inner.bias
///           c = s(i) * tanh(u) + s(l) * c_left + s(r) * c_right;  h = s(o) * tanh(c)
struct TreeLstm : TreeWorkload {
  Matrix words;  ///< [20000, embedding]
  Layer leaf;    ///< [embedding, 3 hidden]
  Layer inner;   ///< [2 hidden, 5 hidden]
};

/// leaf: h = words[word];  inner: h = tanh([h_left h_right] * inner.w + inner.bias)
struct TreeRnn : TreeWorkload {
  Matrix words;  ///< [20000, hidden]
  Layer inner;   ///< [2 hidden, hidden]
};

/// MV-RNN: a node has a vector v[hidden] and a matrix M[hidden, hidden]; in the usual notation with column vectors:
///   leaf:   v = words[word], M = matrices[word]
///   inner:  v = tanh(W [M_right v_left; M_left v_right] + bias)
///           M = matrix [M_left; M_right]; the root's M is not needed
/// `vector` contains W transposed, as in all layers.
struct MvRnn : TreeWorkload {
  Matrix words;     ///< [2000, hidden]
  Matrix matrices;  ///< [2000 hidden, hidden]: the rows of each word are contiguous
  Layer vector;     ///< [2 hidden, hidden]
  Matrix matrix;    ///< [hidden, 2 hidden]
};

/// An LSTM step: i f g o = x * input.w + input.bias + h * recurrent
///   c' = s(f) * c + s(i) * tanh(g);  h' = s(o) * tanh(c');  h = c = 0 at first
struct Lstm {
  Layer input;       ///< [embedding, 4 hidden]
  Matrix recurrent;  ///< [hidden, 4 hidden]
};

/// Produces [h_forward h_backward] * tagger.w + tagger.bias for each word of a sentence. Lengths are uniform in 5..50.
struct BiLstm : Workload {
  std::int64_t hidden = 0;
  Matrix words;  ///< [20000, embedding]
  Lstm forward, backward;
  Layer tagger;  ///< [2 hidden, 17]
  std::vector<Words> sentences;
};

/// An LSTM over words that stops after step t if s(h * halt.w + halt.bias) > thresholds[t]; the result is h. Thresholds
/// are drawn so that lengths are geometric with a mean of 10, and at most 40. An implementation has to read the value
/// to decide, but rounding does not change the decision.
struct EarlyExit : Workload {
  struct Instance {
    Words words;        ///< 40
    Floats thresholds;  ///< 40
  };
  std::int64_t hidden = 0;
  Matrix words;  ///< [20000, embedding]
  Lstm lstm;
  Layer halt;  ///< [hidden, 1]
  std::vector<Instance> pool;
};

TreeLstm tree_lstm(std::int64_t hidden, std::int64_t embedding, std::int64_t instances);
TreeRnn tree_rnn(std::int64_t hidden, std::int64_t instances);
MvRnn mv_rnn(std::int64_t hidden, std::int64_t instances);
BiLstm bilstm(std::int64_t hidden, std::int64_t instances);
EarlyExit early_exit(std::int64_t hidden, std::int64_t instances);

/// Compute the results of all instances with plain loops, one instance after the other.
Floats reference(const TreeLstm& model);
Floats reference(const TreeRnn& model);
Floats reference(const MvRnn& model);
Floats reference(const BiLstm& model);
Floats reference(const EarlyExit& model);

}  // namespace bench::lazy
