#include "bench/lazy/torch_peer.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

// Vectors of IValue need its definition before them.
// clang-format off
#include <ATen/core/ivalue.h>
#include <ATen/ATen.h>
// clang-format on
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/api/include/torch/version.h>

#include "bench/lazy/levels.h"

namespace bench::lazy {
namespace {

using at::Tensor;
using std::int64_t;

Tensor borrowed(const Floats& values, at::IntArrayRef sizes) {
  return at::from_blob(const_cast<float*>(values.data()), sizes, at::kFloat);
}
Tensor borrowed(const Matrix& m) { return borrowed(m.values, {m.rows, m.cols}); }
Tensor borrowed(const Floats& values) { return borrowed(values, {static_cast<int64_t>(values.size())}); }
Tensor borrowed(const Words& words) {
  return at::from_blob(const_cast<std::int32_t*>(words.data()), {static_cast<int64_t>(words.size())}, at::kInt);
}

void give(const Tensor& values, float* to) {
  const Tensor packed = values.contiguous();
  std::memcpy(to, packed.data_ptr<float>(), packed.nbytes());
}

/// Weights are copied to memory aligned by LibTorch: OpenBLAS is up to a third slower with others.
struct TorchLayer {
  Tensor w, bias;

  explicit TorchLayer(const Layer& layer) : w(borrowed(layer.w).clone()), bias(borrowed(layer.bias).clone()) {}
  Tensor operator()(const Tensor& x) const { return at::addmm(bias, x, w); }
};

/// A function of a batch, under inference mode.
class TorchRow : public Implementation {
 public:
  using Body = std::function<void(const Batch&, std::span<float>)>;

  TorchRow(std::string name, Role role, std::int64_t most, Body body)
      : Implementation("LibTorch, " + std::move(name), role), most_(most), body_(std::move(body)) {}

  bool takes(int64_t batch) const override { return batch <= most_; }
  void run(const Batch& batch, std::span<float> results) override {
    const c10::InferenceMode inference;
    body_(batch, results);
  }

 private:
  int64_t most_;
  Body body_;
};

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

void add_row(Implementations& rows, const char* name, Role role, TorchRow::Body body, int64_t most = kAny) {
  rows.push_back(std::make_unique<TorchRow>(name, role, most, std::move(body)));
}

std::span<const Tree> trees_of(const TreeWorkload& model, const Batch& batch) {
  return std::span(model.trees).subspan(static_cast<std::size_t>(batch.first), static_cast<std::size_t>(batch.size()));
}

/// One node after the other; leaf, inner and vector as in reference.cc.
void node_by_node(const TreeWorkload& model, const TorchLayer& classifier, const Batch& batch, float* results,
                  const auto& leaf, const auto& inner, const auto& vector) {
  for (const Tree& tree : trees_of(model, batch)) {
    std::vector<decltype(leaf(0))> states;
    states.reserve(tree.nodes.size());
    for (const Tree::Node& node : tree.nodes) {
      states.push_back(node.is_leaf() ? leaf(node.word)
                                      : inner(states[static_cast<std::size_t>(node.left)],
                                              states[static_cast<std::size_t>(node.right)]));
    }
    give(classifier(vector(states.back())), results);
    results += model.classifier.w.cols;
  }
}

/// Values of nodes in the order of their computation: leaves, then rows of Levels.
struct NodeIndex {
  Levels levels;
  Words children;  ///< of row r: 2r and 2r + 1
  Words roots;

  void assign(std::span<const Tree> trees) {
    levels.assign(trees);
    const auto rows = static_cast<std::size_t>(levels.rows());
    at_place_.resize(2 * rows + trees.size());
    std::int32_t node = 0;
    for (const std::int32_t place : levels.leaf_place) at_place_[static_cast<std::size_t>(place)] = node++;
    for (const std::int32_t place : levels.row_place) at_place_[static_cast<std::size_t>(place)] = node++;
    const auto middle = at_place_.begin() + static_cast<std::ptrdiff_t>(2 * rows);
    children.assign(at_place_.begin(), middle);
    roots.assign(middle, at_place_.end());
  }

  int64_t nodes() const { return levels.leaves() + levels.rows(); }

  /// body(children of the level, number of rows, first node of the level)
  void for_levels(const auto& body) const {
    const Tensor all = borrowed(children);
    for (std::size_t h = 0; h + 1 < levels.begin.size(); ++h) {
      const int64_t begin = levels.begin[h], count = levels.begin[h + 1] - begin;
      body(all.narrow(0, 2 * begin, 2 * count), count, levels.leaves() + begin);
    }
  }

 private:
  Words at_place_;
};

struct TorchState {
  Tensor h, c;
};

struct TorchTreeLstm {
  const TreeLstm& model;
  int64_t n = model.hidden;
  Tensor words = borrowed(model.words);
  TorchLayer leaf{model.leaf}, inner{model.inner}, classifier{model.classifier};
  NodeIndex index{};
  TorchState table = table_of_words();

  TorchState table_of_words() const {
    TorchState all{at::empty({words.size(0), n}), at::empty({words.size(0), n})};
    leaves(words, all.h, all.c);
    return all;
  }

  TorchState leaf_cell(std::int32_t word) const {
    const auto gates = leaf(words.narrow(0, word, 1)).chunk(3, 1);
    const Tensor c = gates[0].sigmoid() * gates[2].tanh();
    return {gates[1].sigmoid() * c.tanh(), c};
  }

  TorchState inner_cell(const TorchState& left, const TorchState& right) const {
    const auto gates = inner(at::cat({left.h, right.h}, 1)).chunk(5, 1);
    const Tensor c = gates[0].sigmoid() * gates[4].tanh() + gates[1].sigmoid() * left.c + gates[2].sigmoid() * right.c;
    return {gates[3].sigmoid() * c.tanh(), c};
  }

  void eager(const Batch& batch, std::span<float> results) const {
    node_by_node(
        model, classifier, batch, results.data(), [&](std::int32_t word) { return leaf_cell(word); },
        [&](const TorchState& left, const TorchState& right) { return inner_cell(left, right); },
        [](const TorchState& s) { return s.h; });
  }

  void leaves(const Tensor& x, Tensor& h, Tensor& c) const {
    const Tensor gates = leaf(x);
    const Tensor s = gates.narrow(1, 0, 2 * n).sigmoid_();
    at::mul_out(c, s.narrow(1, 0, n), gates.narrow(1, 2 * n, n).tanh_());
    at::mul_out(h, s.narrow(1, n, n), c.tanh());
  }

  void by_levels(const Batch& batch, std::span<float> results, bool folded = false) {
    index.assign(trees_of(model, batch));
    const Tensor h = at::empty({index.nodes(), n}), c = at::empty({index.nodes(), n});
    const Tensor leaf_words = borrowed(index.levels.leaf_word);
    Tensor leaf_h = h.narrow(0, 0, index.levels.leaves()), leaf_c = c.narrow(0, 0, index.levels.leaves());
    if (folded) {
      at::index_select_out(leaf_h, table.h, 0, leaf_words);
      at::index_select_out(leaf_c, table.c, 0, leaf_words);
    } else {
      leaves(words.index_select(0, leaf_words), leaf_h, leaf_c);
    }
    index.for_levels([&](const Tensor& children, int64_t rows, int64_t begin) {
      const Tensor gates = inner(h.index_select(0, children).view({rows, 2 * n}));
      const Tensor before = c.index_select(0, children).view({rows, 2, n});
      const Tensor s = gates.narrow(1, 0, 4 * n).sigmoid_();
      Tensor now = c.narrow(0, begin, rows), out = h.narrow(0, begin, rows);
      at::mul_out(now, s.narrow(1, 0, n), gates.narrow(1, 4 * n, n).tanh_());
      now.addcmul_(s.narrow(1, n, n), before.select(1, 0)).addcmul_(s.narrow(1, 2 * n, n), before.select(1, 1));
      at::mul_out(out, s.narrow(1, 3 * n, n), now.tanh());
    });
    give(classifier(h.index_select(0, borrowed(index.roots))), results.data());
  }
};

struct TorchTreeRnn {
  const TreeRnn& model;
  int64_t n = model.hidden;
  Tensor words = borrowed(model.words);
  TorchLayer inner{model.inner}, classifier{model.classifier};
  NodeIndex index{};

  void eager(const Batch& batch, std::span<float> results) const {
    node_by_node(
        model, classifier, batch, results.data(), [&](std::int32_t word) { return words.narrow(0, word, 1); },
        [&](const Tensor& left, const Tensor& right) { return inner(at::cat({left, right}, 1)).tanh(); },
        [](const Tensor& h) { return h; });
  }

  void by_levels(const Batch& batch, std::span<float> results) {
    index.assign(trees_of(model, batch));
    const Tensor h = at::empty({index.nodes(), n});
    Tensor leaves = h.narrow(0, 0, index.levels.leaves());
    at::index_select_out(leaves, words, 0, borrowed(index.levels.leaf_word));
    index.for_levels([&](const Tensor& children, int64_t rows, int64_t begin) {
      Tensor out = h.narrow(0, begin, rows);
      at::tanh_out(out, inner(h.index_select(0, children).view({rows, 2 * n})));
    });
    give(classifier(h.index_select(0, borrowed(index.roots))), results.data());
  }
};

struct TorchMvState {
  Tensor v, m;  ///< [1, hidden] and [hidden, hidden]
};

struct TorchMvRnn {
  const MvRnn& model;
  int64_t n = model.hidden;
  Tensor words = borrowed(model.words);
  Tensor matrices = borrowed(model.matrices.values, {model.words.rows, n, n});
  Tensor matrix = borrowed(model.matrix).clone();
  Tensor transposed = matrices.transpose(1, 2).contiguous();
  Tensor as_left = matrix.narrow(1, 0, n).t().contiguous(), as_right = matrix.narrow(1, n, n).t().contiguous();
  TorchLayer vector{model.vector}, classifier{model.classifier};
  NodeIndex index{};

  TorchMvState inner_cell(const TorchMvState& left, const TorchMvState& right) const {
    const Tensor both = at::cat({at::mv(right.m, left.v.view(n)), at::mv(left.m, right.v.view(n))}, 0);
    return {vector(both.view({1, 2 * n})).tanh(), at::mm(matrix, at::cat({left.m, right.m}, 0))};
  }

  void eager(const Batch& batch, std::span<float> results) const {
    node_by_node(
        model, classifier, batch, results.data(),
        [&](std::int32_t word) { return TorchMvState{words.narrow(0, word, 1), matrices.select(0, word)}; },
        [&](const TorchMvState& left, const TorchMvState& right) { return inner_cell(left, right); },
        [](const TorchMvState& s) { return s.v; });
  }

  /// Matrices are kept transposed, so that all of a level are one product.
  void by_levels(const Batch& batch, std::span<float> results) {
    index.assign(trees_of(model, batch));
    const Tensor v = at::empty({index.nodes(), n}), m = at::empty({index.nodes(), n, n});
    const Tensor leaf_words = borrowed(index.levels.leaf_word);
    Tensor leaf_v = v.narrow(0, 0, index.levels.leaves()), leaf_m = m.narrow(0, 0, index.levels.leaves());
    at::index_select_out(leaf_v, words, 0, leaf_words);
    at::index_select_out(leaf_m, transposed, 0, leaf_words);
    index.for_levels([&](const Tensor& children, int64_t rows, int64_t begin) {
      const Tensor pairs = children.view({rows, 2});
      const Tensor left = pairs.select(1, 0).contiguous(), right = pairs.select(1, 1).contiguous();
      const Tensor m_left = m.index_select(0, left), m_right = m.index_select(0, right);
      const Tensor v_left = v.index_select(0, left), v_right = v.index_select(0, right);
      const Tensor both = at::cat({at::bmm(v_left.unsqueeze(1), m_right), at::bmm(v_right.unsqueeze(1), m_left)}, 2);
      Tensor to_v = v.narrow(0, begin, rows), to_m = m.narrow(0, begin, rows).view({rows * n, n});
      at::tanh_out(to_v, vector(both.view({rows, 2 * n})));
      at::mm_out(to_m, m_left.view({rows * n, n}), as_left);
      to_m.addmm_(m_right.view({rows * n, n}), as_right);
    });
    give(classifier(v.index_select(0, borrowed(index.roots))), results.data());
  }
};

struct TorchLstm {
  TorchLayer input;
  Tensor recurrent;

  explicit TorchLstm(const Lstm& lstm) : input(lstm.input), recurrent(borrowed(lstm.recurrent).clone()) {}

  /// `projection` is that of x.
  TorchState step(const Tensor& projection, const TorchState& s) const {
    const auto gates = at::addmm(projection, s.h, recurrent).chunk(4, 1);
    const Tensor c = gates[1].sigmoid() * s.c + gates[0].sigmoid() * gates[2].tanh();
    return {gates[3].sigmoid() * c.tanh(), c};
  }
  /// The same with fewer operations.
  TorchState batched_step(const Tensor& projection, const TorchState& s) const {
    return cell(at::addmm(projection, s.h, recurrent), s.c);
  }
  static TorchState cell(const Tensor& gates, const Tensor& before) {
    const int64_t n = before.size(1);
    const Tensor in_and_forget = gates.narrow(1, 0, 2 * n).sigmoid_();
    const Tensor c = in_and_forget.narrow(1, n, n) * before;
    c.addcmul_(in_and_forget.narrow(1, 0, n), gates.narrow(1, 2 * n, n).tanh_());
    return {gates.narrow(1, 3 * n, n).sigmoid_() * c.tanh(), c};
  }
  /// As at::lstm wants them: [4 hidden, inputs], and two biases.
  void add_parameters(std::vector<Tensor>& to) const {
    to.push_back(input.w.t().contiguous());
    to.push_back(recurrent.t().contiguous());
    to.push_back(input.bias);
    to.push_back(at::zeros_like(input.bias));
  }
};

/// Sentences of a batch, the longest first, laid out step after step.
struct Packed {
  std::vector<int64_t> sizes;         ///< sentences at each step
  Words forward, backward;            ///< their words, from the first and from the last one
  Words from_forward, from_backward;  ///< where the words in the order of the results are

  Packed(const BiLstm& model, const Batch& batch) {
    std::vector<int64_t> order(static_cast<std::size_t>(batch.size()));
    std::iota(order.begin(), order.end(), batch.first);
    const auto words = [&](int64_t i) -> const Words& { return model.sentences[static_cast<std::size_t>(i)]; };
    std::ranges::stable_sort(order, std::greater<>(), [&](int64_t i) { return words(i).size(); });
    const int64_t base = model.result_begin[static_cast<std::size_t>(batch.first)], tags = model.tagger.w.cols;
    const auto tokens =
        static_cast<std::size_t>((model.result_begin[static_cast<std::size_t>(batch.last)] - base) / tags);
    from_forward.resize(tokens), from_backward.resize(tokens);
    for (std::size_t step = 0; step < words(order.front()).size(); ++step) {
      sizes.push_back(0);
      for (const int64_t i : order) {
        const std::size_t length = words(i).size();
        if (length <= step) break;
        const auto begin = static_cast<std::size_t>((model.result_begin[static_cast<std::size_t>(i)] - base) / tags);
        from_forward[begin + step] = from_backward[begin + length - 1 - step] =
            static_cast<std::int32_t>(forward.size());
        forward.push_back(words(i)[step]);
        backward.push_back(words(i)[length - 1 - step]);
        ++sizes.back();
      }
    }
  }
};

struct TorchBiLstm {
  const BiLstm& model;
  int64_t n = model.hidden;
  Tensor words = borrowed(model.words);
  TorchLstm forward{model.forward}, backward{model.backward};
  TorchLayer tagger{model.tagger};
  std::vector<Tensor> parameters = parameters_of_both();
  Tensor forward_table = forward.input(words), backward_table = backward.input(words);

  std::vector<Tensor> parameters_of_both() const {
    std::vector<Tensor> all;
    forward.add_parameters(all);
    backward.add_parameters(all);
    return all;
  }

  TorchState start(int64_t rows) const { return {at::zeros({rows, n}), at::zeros({rows, n})}; }

  void eager(const Batch& batch, std::span<float> results) const {
    float* to = results.data();
    for (int64_t i = batch.first; i < batch.last; ++i) {
      const Words& sentence = model.sentences[static_cast<std::size_t>(i)];
      std::vector<Tensor> ahead, back(sentence.size());
      TorchState s = start(1);
      for (const std::int32_t word : sentence) {
        s = forward.step(forward.input(words.narrow(0, word, 1)), s);
        ahead.push_back(s.h);
      }
      s = start(1);
      for (std::size_t t = sentence.size(); t-- > 0;) {
        s = backward.step(backward.input(words.narrow(0, sentence[t], 1)), s);
        back[t] = s.h;
      }
      give(tagger(at::cat({at::cat(ahead, 0), at::cat(back, 0)}, 1)), to);
      to += static_cast<int64_t>(sentence.size()) * model.tagger.w.cols;
    }
  }

  /// All h, in the packed order; `table` has the projections of the vocabulary, or is empty.
  Tensor direction(const TorchLstm& lstm, const Packed& packed, const Words& order, const Tensor& table) const {
    const Tensor index = borrowed(order);
    const Tensor projected = table.defined() ? table.index_select(0, index) : lstm.input(words.index_select(0, index));
    TorchState s = start(packed.sizes.front());
    std::vector<Tensor> all;
    int64_t at = 0;
    for (const int64_t size : packed.sizes) {
      s = lstm.batched_step(projected.narrow(0, at, size), {s.h.narrow(0, 0, size), s.c.narrow(0, 0, size)});
      all.push_back(s.h);
      at += size;
    }
    return at::cat(all, 0);
  }

  void by_steps(const Batch& batch, std::span<float> results, bool folded = false) const {
    const Packed packed(model, batch);
    const Tensor ahead = direction(forward, packed, packed.forward, folded ? forward_table : Tensor());
    const Tensor back = direction(backward, packed, packed.backward, folded ? backward_table : Tensor());
    give(tagger(at::cat({ahead.index_select(0, borrowed(packed.from_forward)),
                         back.index_select(0, borrowed(packed.from_backward))},
                        1)),
         results.data());
  }

  void by_lstm(const Batch& batch, std::span<float> results) const {
    const Packed packed(model, batch);
    const Tensor sizes = at::from_blob(const_cast<int64_t*>(packed.sizes.data()),
                                       {static_cast<int64_t>(packed.sizes.size())}, at::kLong);
    const Tensor zero = at::zeros({2, packed.sizes.front(), n});
    const auto all = at::lstm(words.index_select(0, borrowed(packed.forward)), sizes, {zero, zero}, parameters, true, 1,
                              0.0, false, true);
    give(tagger(std::get<0>(all).index_select(0, borrowed(packed.from_forward))), results.data());
  }
};

struct TorchEarlyExit {
  const EarlyExit& model;
  int64_t n = model.hidden;
  Tensor words = borrowed(model.words);
  TorchLstm lstm{model.lstm};
  TorchLayer halt{model.halt};
  Tensor joined = at::cat({lstm.input.w, lstm.recurrent}, 0);
  Tensor table = lstm.input(words);
  std::vector<int64_t> instances{};
  std::vector<std::size_t> steps{};

  const EarlyExit::Instance& instance(int64_t i) const { return model.pool[static_cast<std::size_t>(i)]; }

  void eager(const Batch& batch, std::span<float> results) const {
    for (int64_t i = batch.first; i < batch.last; ++i) {
      TorchState s{at::zeros({1, n}), at::zeros({1, n})};
      for (std::size_t t = 0; t < instance(i).words.size(); ++t) {
        s = lstm.step(lstm.input(words.narrow(0, instance(i).words[t], 1)), s);
        if (halt(s.h).sigmoid().item<float>() > instance(i).thresholds[t]) break;
      }
      give(s.h, results.data() + (i - batch.first) * n);
    }
  }

  /// All active instances make a step; one that has finished gives its place to the next.
  void lockstep(const Batch& batch, std::span<float> results, bool folded = false) {
    constexpr int64_t kSlots = 64;
    instances.clear(), steps.clear();
    int64_t next = batch.first;
    TorchState s{at::zeros({0, n}), at::zeros({0, n})};
    while (true) {
      const int64_t fresh = std::min(kSlots - static_cast<int64_t>(instances.size()), batch.last - next);
      if (fresh > 0) {
        s = {at::cat({s.h, at::zeros({fresh, n})}, 0), at::cat({s.c, at::zeros({fresh, n})}, 0)};
        for (int64_t i = 0; i < fresh; ++i) instances.push_back(next++), steps.push_back(0);
      }
      if (instances.empty()) return;
      s = step(s, folded);
      s = remaining(s, results.data(), batch.first);
    }
  }

  TorchState step(const TorchState& s, bool folded) const {
    Words words_now;
    for (std::size_t i = 0; i < instances.size(); ++i) words_now.push_back(instance(instances[i]).words[steps[i]]);
    const Tensor now = borrowed(words_now);
    if (folded) return lstm.batched_step(table.index_select(0, now), s);
    const Tensor operands = at::cat({words.index_select(0, now), s.h}, 1);
    return TorchLstm::cell(at::addmm(lstm.input.bias, operands, joined), s.c);
  }

  TorchState remaining(const TorchState& s, float* results, int64_t first) {
    const Tensor values = halt(s.h).sigmoid_();
    const float *const value = values.data_ptr<float>(), *const h = s.h.data_ptr<float>();
    Words stay;
    for (std::size_t i = 0; i < instances.size(); ++i) {
      if (value[i] > instance(instances[i]).thresholds[steps[i]++]) {
        std::memcpy(results + (instances[i] - first) * n, h + static_cast<int64_t>(i) * n,
                    static_cast<std::size_t>(n) * sizeof(float));
        continue;
      }
      instances[stay.size()] = instances[i];
      steps[stay.size()] = steps[i];
      stay.push_back(static_cast<std::int32_t>(i));
    }
    if (stay.size() == instances.size()) return s;
    instances.resize(stay.size()), steps.resize(stay.size());
    return {s.h.index_select(0, borrowed(stay)), s.c.index_select(0, borrowed(stay))};
  }
};

/// Both methods of a Peer for trees.
template <class Peer, class Model>
std::shared_ptr<Peer> add_tree_rows(const Model& model, Implementations& rows) {
  const auto peer = std::make_shared<Peer>(Peer{.model = model});
  add_row(rows, "node by node", Role::torch, [peer](const Batch& b, std::span<float> r) { peer->eager(b, r); }, 64);
  add_row(rows, "by hand", Role::torch, [peer](const Batch& b, std::span<float> r) { peer->by_levels(b, r); });
  return peer;
}

}  // namespace

std::string start_torch() {
  at::set_num_threads(1);
  return TORCH_VERSION;
}

void add_torch_rows(const TreeLstm& model, Implementations& rows) {
  const auto peer = add_tree_rows<TorchTreeLstm>(model, rows);
  add_row(rows, "by hand, folded", Role::other,
          [peer](const Batch& b, std::span<float> r) { peer->by_levels(b, r, true); });
}
void add_torch_rows(const TreeRnn& model, Implementations& rows) { add_tree_rows<TorchTreeRnn>(model, rows); }
void add_torch_rows(const MvRnn& model, Implementations& rows) { add_tree_rows<TorchMvRnn>(model, rows); }

void add_torch_rows(const BiLstm& model, Implementations& rows) {
  const auto peer = std::make_shared<TorchBiLstm>(TorchBiLstm{.model = model});
  add_row(rows, "step by step", Role::torch, [peer](const Batch& b, std::span<float> r) { peer->eager(b, r); }, 1);
  add_row(rows, "by hand", Role::torch, [peer](const Batch& b, std::span<float> r) { peer->by_steps(b, r); });
  add_row(rows, "by hand, folded", Role::other,
          [peer](const Batch& b, std::span<float> r) { peer->by_steps(b, r, true); });
  add_row(rows, "lstm()", Role::torch, [peer](const Batch& b, std::span<float> r) { peer->by_lstm(b, r); });
}

void add_torch_rows(const EarlyExit& model, Implementations& rows) {
  const auto peer = std::make_shared<TorchEarlyExit>(TorchEarlyExit{.model = model});
  add_row(rows, "step by step", Role::torch, [peer](const Batch& b, std::span<float> r) { peer->eager(b, r); }, 64);
  add_row(rows, "by hand", Role::torch, [peer](const Batch& b, std::span<float> r) { peer->lockstep(b, r); });
  add_row(rows, "by hand, folded", Role::other,
          [peer](const Batch& b, std::span<float> r) { peer->lockstep(b, r, true); });
}

}  // namespace bench::lazy
