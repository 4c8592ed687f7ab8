#include "bench/lazy/handwritten_parts.h"
#include "bench/lazy/levels.h"

namespace bench::lazy {
namespace {

std::span<const Tree> trees_of(const TreeWorkload& model, const Batch& batch) {
  return std::span(model.trees).subspan(static_cast<std::size_t>(batch.first), static_cast<std::size_t>(batch.size()));
}

/// h and c of each word, one after the other.
Matrix leaf_states(const TreeLstm& model) {
  const int64_t n = model.hidden;
  const Matrix gates = projected(model.words, model.leaf);
  const Floats none(static_cast<std::size_t>(3 * n));
  Matrix states{model.words.rows, 2 * n, Floats(static_cast<std::size_t>(model.words.rows * 2 * n))};
  for (int64_t word = 0; word < states.rows; ++word) {
    float* const h = states.values.data() + word * states.cols;
    cells().tree_leaf(n, gates.row(word), none.data(), h, h + n);
  }
  return states;
}

class HandTreeLstm : public Implementation {
 public:
  HandTreeLstm(std::string name, Role role, const TreeLstm& model, Products how, std::shared_ptr<const Matrix> folded)
      : Implementation(std::move(name), role),
        model_(model),
        multiply_(how),
        leaf_(model.leaf.w),
        inner_(model.inner.w),
        classifier_(model.classifier.w),
        folded_(std::move(folded)) {}

  void run(const Batch& batch, std::span<float> results) override {
    levels_.assign(trees_of(model_, batch));
    const int64_t floats = (2 * levels_.rows() + batch.size()) * n_;
    h_ = h_memory_.reserve(floats), c_ = c_memory_.reserve(floats);
    gates_ = gates_memory_.reserve(5 * n_ * multiply_.rows_at_once());
    if (folded_) {
      look_up_leaves();
    } else {
      compute_leaves();
    }
    for (std::size_t h = 0; h + 1 < levels_.begin.size(); ++h) inner_rows(levels_.begin[h], levels_.begin[h + 1]);
    multiply_.with_bias(batch.size(), {h_ + 2 * levels_.rows() * n_, n_}, classifier_, model_.classifier.bias,
                        results.data());
  }

 private:
  void look_up_leaves() {
    for (std::size_t i = 0; i < levels_.leaf_word.size(); ++i) {
      const float* const state = folded_->row(levels_.leaf_word[i]);
      const int64_t place = levels_.leaf_place[i];
      copy(h_ + place * n_, state, n_);
      copy(c_ + place * n_, state + n_, n_);
    }
  }

  void compute_leaves() {
    for_parts(levels_.leaves(), multiply_.rows_at_once(), [&](int64_t begin, int64_t count) {
      const auto first = static_cast<std::size_t>(begin);
      const float* const x =
          gather(model_.words, std::span(levels_.leaf_word).subspan(first, static_cast<std::size_t>(count)), x_memory_);
      multiply_(count, {x, model_.words.cols}, leaf_, gates_);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t place = levels_.leaf_place[first + static_cast<std::size_t>(i)];
        cells_.tree_leaf(n_, gates_ + i * 3 * n_, model_.leaf.bias.data(), h_ + place * n_, c_ + place * n_);
      }
    });
  }

  void inner_rows(int64_t begin, int64_t end) {
    for_parts(end - begin, multiply_.rows_at_once(), [&](int64_t from, int64_t count) {
      const int64_t first = begin + from;
      multiply_(count, {h_ + 2 * first * n_, 2 * n_}, inner_, gates_);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t place = levels_.row_place[static_cast<std::size_t>(first + i)];
        const float* const children = c_ + 2 * (first + i) * n_;
        cells_.tree_inner(n_, gates_ + i * 5 * n_, model_.inner.bias.data(), children, children + n_, h_ + place * n_,
                          c_ + place * n_);
      }
    });
  }

  const TreeLstm& model_;
  const Cells& cells_ = cells();
  const int64_t n_ = model_.hidden;
  Multiplier multiply_;
  Weights leaf_, inner_, classifier_;
  std::shared_ptr<const Matrix> folded_;
  Levels levels_;
  Buffer h_memory_, c_memory_, x_memory_, gates_memory_;
  float *h_ = nullptr, *c_ = nullptr, *gates_ = nullptr;
};

class HandTreeRnn : public Implementation {
 public:
  HandTreeRnn(std::string name, const TreeRnn& model, Products how)
      : Implementation(std::move(name), Role::handwritten),
        model_(model),
        multiply_(how),
        inner_(model.inner.w),
        classifier_(model.classifier.w) {}

  void run(const Batch& batch, std::span<float> results) override {
    levels_.assign(trees_of(model_, batch));
    h_ = h_memory_.reserve((2 * levels_.rows() + batch.size()) * n_);
    sums_ = sums_memory_.reserve(n_ * multiply_.rows_at_once());
    for (std::size_t i = 0; i < levels_.leaf_word.size(); ++i) {
      copy(h_ + levels_.leaf_place[i] * n_, model_.words.row(levels_.leaf_word[i]), n_);
    }
    for (std::size_t h = 0; h + 1 < levels_.begin.size(); ++h) inner_rows(levels_.begin[h], levels_.begin[h + 1]);
    multiply_.with_bias(batch.size(), {h_ + 2 * levels_.rows() * n_, n_}, classifier_, model_.classifier.bias,
                        results.data());
  }

 private:
  void inner_rows(int64_t begin, int64_t end) {
    for_parts(end - begin, multiply_.rows_at_once(), [&](int64_t from, int64_t count) {
      const int64_t first = begin + from;
      multiply_(count, {h_ + 2 * first * n_, 2 * n_}, inner_, sums_);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t place = levels_.row_place[static_cast<std::size_t>(first + i)];
        cells_.tanh(n_, sums_ + i * n_, model_.inner.bias.data(), h_ + place * n_);
      }
    });
  }

  const TreeRnn& model_;
  const Cells& cells_ = cells();
  const int64_t n_ = model_.hidden;
  Multiplier multiply_;
  Weights inner_, classifier_;
  Levels levels_;
  Buffer h_memory_, sums_memory_;
  float *h_ = nullptr, *sums_ = nullptr;
};

/// The matrices of words, each transposed; folded, also multiplied with both halves of the weights.
struct WordMatrices {
  Matrix transposed, as_left, as_right;  ///< of a word: [hidden, hidden]
};

Matrix transposed_blocks(const Matrix& m, int64_t n) {
  Matrix to{m.rows, m.cols, Floats(m.values.size())};
  for (int64_t block = 0; block < m.rows; block += n) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) to.values[static_cast<std::size_t>((block + j) * n + i)] = m.row(block + i)[j];
    }
  }
  return to;
}

/// Columns [begin, begin + rows) of m, transposed.
Matrix half_transposed(const Matrix& m, int64_t begin) {
  Matrix to{m.rows, m.rows, Floats(static_cast<std::size_t>(m.rows * m.rows))};
  for (int64_t i = 0; i < m.rows; ++i) {
    for (int64_t j = 0; j < m.rows; ++j) to.values[static_cast<std::size_t>(j * m.rows + i)] = m.row(i)[begin + j];
  }
  return to;
}

/// Matrices lie transposed: M' = M_left' * W_left' + M_right' * W_right', so that weights are the right operand.
class HandMvRnn : public Implementation {
 public:
  HandMvRnn(std::string name, Role role, const MvRnn& model, Products how, std::shared_ptr<const WordMatrices> words,
            bool folded)
      : Implementation(std::move(name), role),
        model_(model),
        multiply_(how),
        left_(half_transposed(model.matrix, 0)),
        right_(half_transposed(model.matrix, model.hidden)),
        vector_(model.vector.w),
        classifier_(model.classifier.w),
        words_(std::move(words)),
        folded_(folded) {}

  void run(const Batch& batch, std::span<float> results) override {
    float* const roots = roots_.reserve(batch.size() * n_);
    int64_t at = 0;
    for (const Tree& tree : trees_of(model_, batch)) {
      stack_.clear();
      for (const Tree::Node& node : tree.nodes) {
        if (node.is_leaf()) {
          stack_.push_back(
              {.v = model_.words.row(node.word), .m = words_->transposed.row(node.word * n_), .word = node.word});
        } else {
          inner(&node == &tree.nodes.back());
        }
      }
      copy(roots + at++ * n_, stack_.back().v, n_);
      release(stack_.back());
    }
    multiply_.with_bias(batch.size(), {roots, n_}, classifier_, model_.classifier.bias, results.data());
  }

 private:
  struct Node {
    const float *v, *m;
    std::int32_t word = -1;  ///< of a leaf
    int64_t slot = -1;
  };

  void inner(bool is_root) {
    const Node right = stack_.back(), left = stack_[stack_.size() - 2];
    stack_.resize(stack_.size() - 2);
    const int64_t slot = take();
    float* const m = slots_[static_cast<std::size_t>(slot)].reserve(n_ * n_ + n_);
    float* const v = m + n_ * n_;
    float* const both = both_.reserve(3 * n_);
    cells_.transform(n_, left.v, right.m, both);
    cells_.transform(n_, right.v, left.m, both + n_);
    multiply_(1, {both, 2 * n_}, vector_, both + 2 * n_);
    cells_.tanh(n_, both + 2 * n_, model_.vector.bias.data(), v);
    if (!is_root) combine(left, right, m);
    release(left);
    release(right);
    stack_.push_back({.v = v, .m = m, .slot = slot});
  }

  void combine(const Node& left, const Node& right, float* m) {
    const bool known_left = folded_ && left.word >= 0, known_right = folded_ && right.word >= 0;
    const float* const from_left = known_left ? words_->as_left.row(left.word * n_) : nullptr;
    const float* const from_right = known_right ? words_->as_right.row(right.word * n_) : nullptr;
    if (known_left && known_right) {
      cells_.add(n_ * n_, from_left, from_right, m);
    } else if (known_left) {
      copy(m, from_left, n_ * n_);
      multiply_(n_, {right.m, n_}, right_, m, true);
    } else {
      if (known_right) copy(m, from_right, n_ * n_);
      multiply_(n_, {left.m, n_}, left_, m, known_right);
      if (!known_right) multiply_(n_, {right.m, n_}, right_, m, true);
    }
  }

  int64_t take() {
    if (free_.empty()) {
      slots_.emplace_back();
      return static_cast<int64_t>(slots_.size()) - 1;
    }
    const int64_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void release(const Node& node) {
    if (node.slot >= 0) free_.push_back(node.slot);
  }

  const MvRnn& model_;
  const Cells& cells_ = cells();
  const int64_t n_ = model_.hidden;
  Multiplier multiply_;
  Weights left_, right_, vector_, classifier_;
  std::shared_ptr<const WordMatrices> words_;
  bool folded_;
  std::vector<Node> stack_;
  std::vector<Buffer> slots_;
  std::vector<int64_t> free_;
  Buffer roots_, both_;
};

WordMatrices word_matrices(const MvRnn& model) {
  const int64_t n = model.hidden;
  WordMatrices words{transposed_blocks(model.matrices, n), {}, {}};
  const Floats none(static_cast<std::size_t>(n));
  words.as_left = projected(words.transposed, {half_transposed(model.matrix, 0), none});
  words.as_right = projected(words.transposed, {half_transposed(model.matrix, n), none});
  return words;
}

}  // namespace

void add_handwritten_rows(const TreeLstm& model, Implementations& rows) {
  add_hands<HandTreeLstm>(model, rows, [&] { return leaf_states(model); });
}

void add_handwritten_rows(const TreeRnn& model, Implementations& rows) {
  for (const Products how : products_of_build()) {
    rows.push_back(std::make_unique<HandTreeRnn>("hand, " + std::string(name_of(how)), model, how));
  }
}

void add_handwritten_rows(const MvRnn& model, Implementations& rows) {
  const auto words = std::make_shared<const WordMatrices>(word_matrices(model));
  for (const Products how : products_of_build()) {
    const std::string name = "hand, " + std::string(name_of(how));
    rows.push_back(std::make_unique<HandMvRnn>(name, Role::handwritten, model, how, words, false));
    rows.push_back(std::make_unique<HandMvRnn>(name + ", folded", Role::folded, model, how, words, true));
  }
}

}  // namespace bench::lazy
