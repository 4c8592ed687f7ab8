#include <cmath>
#include <numeric>

#include "bench/lazy/handwritten_parts.h"

namespace bench::lazy {
namespace {

constexpr int64_t kSlots = 64;

/// Projections of all words of the vocabulary.
struct Directions {
  Matrix forward, backward;
};

class HandBiLstm : public Implementation {
 public:
  HandBiLstm(std::string name, Role role, const BiLstm& model, Products how, std::shared_ptr<const Directions> folded)
      : Implementation(std::move(name), role),
        model_(model),
        multiply_(how),
        input_{Weights(model.forward.input.w), Weights(model.backward.input.w)},
        recurrent_{Weights(model.forward.recurrent), Weights(model.backward.recurrent)},
        tagger_(model.tagger.w),
        folded_(std::move(folded)) {}

  void run(const Batch& batch, std::span<float> results) override {
    order(batch);
    const auto tokens = static_cast<int64_t>(words_.size());
    history_ = history_memory_.reserve(tokens * 2 * n_);
    if (!folded_) x_ = gather(model_.words, words_, x_memory_);
    direction(false);
    direction(true);
    multiply_.with_bias(tokens, {history_, 2 * n_}, tagger_, model_.tagger.bias, results.data());
  }

 private:
  struct Sentence {
    int64_t begin, length;
  };

  /// The longest sentence first.
  void order(const Batch& batch) {
    words_.clear();
    sentences_.clear();
    for (int64_t i = batch.first; i < batch.last; ++i) {
      const Words& words = model_.sentences[static_cast<std::size_t>(i)];
      sentences_.push_back({static_cast<int64_t>(words_.size()), static_cast<int64_t>(words.size())});
      words_.insert(words_.end(), words.begin(), words.end());
    }
    std::ranges::sort(sentences_, std::greater<>(), &Sentence::length);
  }

  void direction(bool backward) {
    const Lstm& lstm = backward ? model_.backward : model_.forward;
    const auto tokens = static_cast<int64_t>(words_.size());
    if (folded_) {
      table_ = backward ? &folded_->backward : &folded_->forward;
    } else {
      projected_ = projected_memory_.reserve(tokens * 4 * n_);
      multiply_.with_bias(tokens, {x_, model_.words.cols}, input_[backward], lstm.input.bias, projected_);
    }
    auto active = static_cast<int64_t>(sentences_.size());
    float* const h = h_memory_.reserve(active * n_);
    float* const c = c_memory_.reserve(active * n_);
    float* const gates = gates_memory_.reserve(active * 4 * n_);
    std::fill_n(c, active * n_, 0.f);
    std::fill_n(gates, active * 4 * n_, 0.f);
    for (int64_t step = 0; step < sentences_.front().length; ++step) {
      while (sentences_[static_cast<std::size_t>(active - 1)].length <= step) --active;
      if (step > 0) multiply_(active, {h, n_}, recurrent_[backward], gates);
      for (int64_t i = 0; i < active; ++i) {
        const Sentence& s = sentences_[static_cast<std::size_t>(i)];
        const int64_t token = s.begin + (backward ? s.length - 1 - step : step);
        cells_.lstm(n_, gates + i * 4 * n_, projection(token), c + i * n_, h + i * n_,
                    history_ + (2 * token + backward) * n_);
      }
    }
  }

  const float* projection(int64_t token) const {
    return folded_ ? table_->row(words_[static_cast<std::size_t>(token)]) : projected_ + token * 4 * n_;
  }

  const BiLstm& model_;
  const Cells& cells_ = cells();
  const int64_t n_ = model_.hidden;
  Multiplier multiply_;
  Weights input_[2], recurrent_[2], tagger_;
  std::shared_ptr<const Directions> folded_;
  const Matrix* table_ = nullptr;
  Words words_;
  std::vector<Sentence> sentences_;
  Buffer x_memory_, projected_memory_, h_memory_, c_memory_, gates_memory_, history_memory_;
  const float* x_ = nullptr;
  float *projected_ = nullptr, *history_ = nullptr;
};

/// One below the other.
Matrix stacked(const Matrix& a, const Matrix& b) {
  Matrix both{a.rows + b.rows, a.cols, a.values};
  both.values.insert(both.values.end(), b.values.begin(), b.values.end());
  return both;
}

class HandEarlyExit : public Implementation {
 public:
  HandEarlyExit(std::string name, Role role, const EarlyExit& model, Products how, std::shared_ptr<const Matrix> folded)
      : Implementation(std::move(name), role),
        model_(model),
        multiply_(how),
        weights_(folded ? model.lstm.recurrent : stacked(model.lstm.input.w, model.lstm.recurrent)),
        folded_(std::move(folded)),
        x_size_(folded_ ? 0 : model.words.cols),
        operands_(operands_memory_.reserve(kSlots * (x_size_ + n_))),
        c_(c_memory_.reserve(kSlots * n_)),
        gates_(gates_memory_.reserve(kSlots * 4 * n_)) {}

  void run(const Batch& batch, std::span<float> results) override {
    results_ = results.data();
    first_ = batch.first;
    active_ = 0;
    for (int64_t next = batch.first; active_ > 0 || next < batch.last;) {
      while (active_ < kSlots && next < batch.last) start(next++);
      step();
      for (int64_t i = active_; i-- > 0;) {
        if (halts(i)) finish(i);
      }
    }
  }

 private:
  struct Slot {
    int64_t instance;
    std::size_t step;
  };

  float* x_of(int64_t i) const { return operands_ + i * (x_size_ + n_); }
  float* h_of(int64_t i) const { return x_of(i) + x_size_; }
  const EarlyExit::Instance& instance_of(int64_t i) const {
    return model_.pool[static_cast<std::size_t>(slots_[i].instance)];
  }

  void start(int64_t instance) {
    const int64_t i = active_++;
    slots_[i] = {instance, 0};
    std::fill_n(h_of(i), n_, 0.f);
    std::fill_n(c_ + i * n_, n_, 0.f);
  }

  void step() {
    for (int64_t i = 0; i < active_ && !folded_; ++i) {
      copy(x_of(i), model_.words.row(instance_of(i).words[slots_[i].step]), x_size_);
    }
    multiply_(active_, {operands_, x_size_ + n_}, weights_, gates_);
    for (int64_t i = 0; i < active_; ++i) {
      const float* const added =
          folded_ ? folded_->row(instance_of(i).words[slots_[i].step]) : model_.lstm.input.bias.data();
      cells_.lstm(n_, gates_ + i * 4 * n_, added, c_ + i * n_, h_of(i), nullptr);
    }
  }

  bool halts(int64_t i) {
    const float x = cells_.dot(n_, h_of(i), model_.halt.w.values.data()) + model_.halt.bias[0];
    return 1 / (1 + std::exp(-x)) > instance_of(i).thresholds[slots_[i].step++];
  }

  /// The last slot takes the place of this one.
  void finish(int64_t i) {
    copy(results_ + (slots_[i].instance - first_) * n_, h_of(i), n_);
    const int64_t last = --active_;
    if (i == last) return;
    slots_[i] = slots_[last];
    copy(h_of(i), h_of(last), n_);
    copy(c_ + i * n_, c_ + last * n_, n_);
  }

  const EarlyExit& model_;
  const Cells& cells_ = cells();
  const int64_t n_ = model_.hidden;
  Multiplier multiply_;
  Weights weights_;
  std::shared_ptr<const Matrix> folded_;
  int64_t x_size_;
  Buffer operands_memory_, c_memory_, gates_memory_;
  float *operands_, *c_, *gates_;
  Slot slots_[kSlots] = {};
  float* results_ = nullptr;
  int64_t first_ = 0, active_ = 0;
};

}  // namespace

void add_handwritten_rows(const BiLstm& model, Implementations& rows) {
  add_hands<HandBiLstm>(model, rows, [&] {
    return Directions{projected(model.words, model.forward.input), projected(model.words, model.backward.input)};
  });
}

void add_handwritten_rows(const EarlyExit& model, Implementations& rows) {
  add_hands<HandEarlyExit>(model, rows, [&] { return projected(model.words, model.lstm.input); });
}

}  // namespace bench::lazy
