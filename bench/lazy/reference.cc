#include <cmath>

#include "bench/lazy/workloads.h"

namespace bench::lazy {
namespace {

using std::int64_t;

float logistic(float x) { return 1 / (1 + std::exp(-x)); }

/// y += x * w
void add_product(const float* x, const Matrix& w, float* y) {
  for (int64_t k = 0; k < w.rows; ++k) {
    const float* const row = w.row(k);
    for (int64_t j = 0; j < w.cols; ++j) y[j] += x[k] * row[j];
  }
}

Floats product(const float* x, const Layer& layer) {
  Floats y = layer.bias;
  add_product(x, layer.w, y.data());
  return y;
}

Floats joined(const Floats& a, const Floats& b) {
  Floats both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

Floats tanh_of(Floats x) {
  for (float& v : x) v = std::tanh(v);
  return x;
}

struct State {
  Floats h, c;
};

State leaf_cell(const TreeLstm& m, std::int32_t word) {
  const int64_t n = m.hidden;
  const Floats y = product(m.words.row(word), m.leaf);
  const float *i = y.data(), *o = i + n, *u = o + n;
  State s{Floats(static_cast<std::size_t>(n)), Floats(static_cast<std::size_t>(n))};
  for (int64_t j = 0; j < n; ++j) {
    const float c = logistic(i[j]) * std::tanh(u[j]);
    s.c[static_cast<std::size_t>(j)] = c;
    s.h[static_cast<std::size_t>(j)] = logistic(o[j]) * std::tanh(c);
  }
  return s;
}

State inner_cell(const TreeLstm& m, const State& left, const State& right) {
  const int64_t n = m.hidden;
  const Floats y = product(joined(left.h, right.h).data(), m.inner);
  const float *i = y.data(), *l = i + n, *r = l + n, *o = r + n, *u = o + n;
  State s = left;
  for (int64_t j = 0; j < n; ++j) {
    const auto at = static_cast<std::size_t>(j);
    const float c = logistic(i[j]) * std::tanh(u[j]) + logistic(l[j]) * left.c[at] + logistic(r[j]) * right.c[at];
    s.c[at] = c;
    s.h[at] = logistic(o[j]) * std::tanh(c);
  }
  return s;
}

void lstm_step(const Lstm& m, const float* x, State& s) {
  const auto n = static_cast<int64_t>(s.h.size());
  Floats y = product(x, m.input);
  add_product(s.h.data(), m.recurrent, y.data());
  const float *i = y.data(), *f = i + n, *g = f + n, *o = g + n;
  for (int64_t j = 0; j < n; ++j) {
    const auto at = static_cast<std::size_t>(j);
    s.c[at] = logistic(f[j]) * s.c[at] + logistic(i[j]) * std::tanh(g[j]);
    s.h[at] = logistic(o[j]) * std::tanh(s.c[at]);
  }
}

State zero_state(int64_t hidden) {
  return {Floats(static_cast<std::size_t>(hidden)), Floats(static_cast<std::size_t>(hidden))};
}

struct MatrixState {
  Floats v;
  const float* m = nullptr;
  Floats own;  ///< m, of an inner node
};

/// y = m * x for a square m.
void transform(const float* m, const Floats& x, float* y) {
  const std::size_t n = x.size();
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = 0;
    for (std::size_t j = 0; j < n; ++j) y[i] += m[i * n + j] * x[j];
  }
}

MatrixState matrix_cell(const MvRnn& m, const MatrixState& left, const MatrixState& right) {
  const int64_t n = m.hidden;
  Floats both(static_cast<std::size_t>(2 * n));
  transform(right.m, left.v, both.data());
  transform(left.m, right.v, both.data() + n);
  MatrixState s{.v = tanh_of(product(both.data(), m.vector)), .own = Floats(static_cast<std::size_t>(n * n))};
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < 2 * n; ++k) {
      const float w = m.matrix.row(i)[k];
      const float* const child = k < n ? left.m + k * n : right.m + (k - n) * n;
      float* const to = s.own.data() + i * n;
      for (int64_t j = 0; j < n; ++j) to[j] += w * child[j];
    }
  }
  s.m = s.own.data();
  return s;
}

/// leaf(word) and inner(left, right) make the states of nodes; vector(state) is what is classified.
Floats classified(const TreeWorkload& m, const auto& leaf, const auto& inner, const auto& vector) {
  Floats results;
  for (const Tree& tree : m.trees) {
    std::vector<decltype(leaf(0))> states;
    states.reserve(tree.nodes.size());
    for (const Tree::Node& node : tree.nodes) {
      states.push_back(node.is_leaf() ? leaf(node.word)
                                      : inner(states[static_cast<std::size_t>(node.left)],
                                              states[static_cast<std::size_t>(node.right)]));
    }
    results = joined(results, product(vector(states.back()).data(), m.classifier));
  }
  return results;
}

Floats row_of(const Matrix& m, std::int32_t word) { return Floats(m.row(word), m.row(word) + m.cols); }

}  // namespace

Floats reference(const TreeLstm& m) {
  return classified(
      m, [&](std::int32_t word) { return leaf_cell(m, word); },
      [&](const State& left, const State& right) { return inner_cell(m, left, right); },
      [](const State& s) { return s.h; });
}

Floats reference(const TreeRnn& m) {
  return classified(
      m, [&](std::int32_t word) { return row_of(m.words, word); },
      [&](const Floats& left, const Floats& right) { return tanh_of(product(joined(left, right).data(), m.inner)); },
      [](const Floats& h) { return h; });
}

Floats reference(const MvRnn& m) {
  return classified(
      m,
      [&](std::int32_t word) {
        return MatrixState{.v = row_of(m.words, word), .m = m.matrices.row(word * m.hidden), .own = {}};
      },
      [&](const MatrixState& left, const MatrixState& right) { return matrix_cell(m, left, right); },
      [](const MatrixState& s) { return s.v; });
}

Floats reference(const BiLstm& m) {
  Floats results;
  for (const Words& words : m.sentences) {
    std::vector<Floats> forward, backward(words.size());
    State s = zero_state(m.hidden);
    for (const std::int32_t word : words) {
      lstm_step(m.forward, m.words.row(word), s);
      forward.push_back(s.h);
    }
    s = zero_state(m.hidden);
    for (std::size_t t = words.size(); t-- > 0;) {
      lstm_step(m.backward, m.words.row(words[t]), s);
      backward[t] = s.h;
    }
    for (std::size_t t = 0; t < words.size(); ++t) {
      const Floats tags = product(joined(forward[t], backward[t]).data(), m.tagger);
      results.insert(results.end(), tags.begin(), tags.end());
    }
  }
  return results;
}

Floats reference(const EarlyExit& m) {
  Floats results;
  for (const EarlyExit::Instance& instance : m.pool) {
    State s = zero_state(m.hidden);
    for (std::size_t t = 0; t < instance.words.size(); ++t) {
      lstm_step(m.lstm, m.words.row(instance.words[t]), s);
      if (logistic(product(s.h.data(), m.halt)[0]) > instance.thresholds[t]) break;
    }
    results.insert(results.end(), s.h.begin(), s.h.end());
  }
  return results;
}

}  // namespace bench::lazy
