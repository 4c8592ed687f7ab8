#include "ref/fold.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

namespace frazil::ref {
namespace {

/// Writes `count` values, returned by `value(i)` in register type T of `from`, cast to the output's type.
template <class T, class F>
void store_all(Elem from, Tensor& out, F value) {
  alignas(64) std::array<std::byte, kBatch * 16> reg, cast;
  const std::int64_t count = out.count();
  for (std::int64_t at = 0; at < count; at += kBatch) {
    const auto n = static_cast<std::size_t>(std::min<std::int64_t>(kBatch, count - at));
    for (std::size_t i = 0; i < n; ++i) {
      reinterpret_cast<T*>(reg.data())[i] = value(static_cast<std::size_t>(at) + i);
    }
    cast_elements(from, compute_elem(out.elem()), reg.data(), cast.data(), n);
    store_elements(out.elem(), out.mutable_data(), at, cast.data(), n);
  }
}

/// The accumulator type for sums of T: integers wrap, and f32 has more precision.
template <class T>
struct Wide {
  using type = T;
};
template <class T>
  requires std::is_integral_v<T>
struct Wide<T> {
  using type = std::uint64_t;
};
template <>
struct Wide<float> {
  using type = double;
};

template <class T>
class SumFolder : public Folder {
 public:
  SumFolder(bool product, Elem value, Elem sum, std::int64_t outputs)
      : product_(product), value_(value), sum_(sum), totals_(static_cast<std::size_t>(outputs), W(product ? 1 : 0)) {}

  void add(const Batch& batch) override {
    const std::byte* values = batch.values;
    if (value_ != sum_) {
      cast_elements(value_, sum_, values, cast_.data(), batch.n);
      values = cast_.data();
    }
    const T* x = reinterpret_cast<const T*>(values);
    for (std::size_t i = 0; i < batch.n; ++i) {
      W& total = totals_[static_cast<std::size_t>(batch.out[i])];
      if (product_) {
        total = total * static_cast<W>(x[i]);
      } else {
        total = total + static_cast<W>(x[i]);
      }
    }
  }
  void store(Tensor& out) const override {
    store_all<T>(sum_, out, [&](std::size_t i) { return static_cast<T>(totals_[i]); });
  }

 private:
  using W = typename Wide<T>::type;
  bool product_;
  Elem value_, sum_;
  std::vector<W> totals_;
  alignas(64) std::array<std::byte, kBatch * 16> cast_;
};

/// Returns the identity of max if `lowest` is set, otherwise that of min.
template <class T>
T extreme(bool lowest) {
  using L = std::numeric_limits<T>;
  if (L::has_infinity) return lowest ? -L::infinity() : L::infinity();
  return lowest ? L::lowest() : L::max();
}

template <class T>
class ExtremeFolder : public Folder {
 public:
  ExtremeFolder(bool max, Elem value, std::int64_t outputs)
      : max_(max), value_(value), best_(static_cast<std::size_t>(outputs), Box{extreme<T>(max)}) {}

  void add(const Batch& batch) override {
    const T* x = reinterpret_cast<const T*>(batch.values);
    for (std::size_t i = 0; i < batch.n; ++i) {
      T& best = best_[static_cast<std::size_t>(batch.out[i])].value;
      best = max_ ? larger(best, x[i]) : smaller(best, x[i]);
    }
  }
  void store(Tensor& out) const override {
    store_all<T>(value_, out, [&](std::size_t i) { return best_[i].value; });
  }

 private:
  struct Box {
    T value;  // vector<bool> has no element references
  };
  bool max_;
  Elem value_;
  std::vector<Box> best_;
};

class TruthFolder : public Folder {
 public:
  TruthFolder(bool all, Elem value, std::int64_t outputs)
      : all_(all), value_(value), holds_(static_cast<std::size_t>(outputs), all) {}

  void add(const Batch& batch) override {
    std::array<std::byte, kBatch> truth;
    cast_elements(value_, Elem::boolean, batch.values, truth.data(), batch.n);
    for (std::size_t i = 0; i < batch.n; ++i) {
      if ((truth[i] != std::byte{0}) != all_) holds_[static_cast<std::size_t>(batch.out[i])] = !all_;
    }
  }
  void store(Tensor& out) const override {
    store_all<bool>(Elem::boolean, out, [&](std::size_t i) -> bool { return holds_[i]; });
  }

 private:
  bool all_;
  Elem value_;
  std::vector<bool> holds_;
};

template <class T>
class OnlyFolder : public Folder {
 public:
  OnlyFolder(Elem value, std::int64_t outputs) : value_(value), values_(static_cast<std::size_t>(outputs), Box{T{}}) {}

  void add(const Batch& batch) override {
    const T* x = reinterpret_cast<const T*>(batch.values);
    for (std::size_t i = 0; i < batch.n; ++i) values_[static_cast<std::size_t>(batch.out[i])].value = x[i];
  }
  void store(Tensor& out) const override {
    store_all<T>(value_, out, [&](std::size_t i) { return values_[i].value; });
  }

 private:
  struct Box {
    T value;  // vector<bool> would have no references
  };
  Elem value_;
  std::vector<Box> values_;
};

template <class T>
class ArgFolder : public Folder {
 public:
  ArgFolder(bool max, bool last_wins, std::int64_t nothing, std::int64_t outputs)
      : max_(max), last_wins_(last_wins), best_(static_cast<std::size_t>(outputs), Best{T{}, nothing, false}) {}

  void add(const Batch& batch) override {
    const T* x = reinterpret_cast<const T*>(batch.values);
    for (std::size_t i = 0; i < batch.n; ++i) {
      Best& best = best_[static_cast<std::size_t>(batch.out[i])];
      if (!best.any || beats(x[i], best.value)) best = {x[i], batch.report[i], true};
    }
  }
  void store(Tensor& out) const override {
    store_all<std::int64_t>(Elem::i64, out, [&](std::size_t i) { return best_[i].report; });
  }

 private:
  struct Best {
    T value;
    std::int64_t report;
    bool any;
  };
  bool beats(T x, T best) const {
    if (best != best) return x != x && last_wins_;
    if (x != x || (max_ ? x > best : x < best)) return true;
    return last_wins_ && x == best;
  }
  bool max_, last_wins_;
  std::vector<Best> best_;
};

template <class T>
constexpr bool is_ordered = std::is_arithmetic_v<T>;
template <class T>
constexpr bool is_summable = !std::is_same_v<T, Text> && !std::is_same_v<T, bool>;

}  // namespace

Result<std::unique_ptr<Folder>> Folder::make(Fold fold, Elem value, const Tensor& out, bool last_wins, bool no_points) {
  std::unique_ptr<Folder> folder;
  const std::int64_t outputs = out.count();
  const Elem sum = compute_elem(out.elem());
  switch (fold) {
    case Fold::sum:
    case Fold::prod:
      if (!cast_elements(value, sum, nullptr, nullptr, 0)) break;
      with_register_type(sum, [&]<class T>() {
        if constexpr (is_summable<T>) folder = std::make_unique<SumFolder<T>>(fold == Fold::prod, value, sum, outputs);
        return true;
      });
      break;
    case Fold::max:
    case Fold::min:
      if (!cast_elements(value, sum, nullptr, nullptr, 0)) break;
      with_register_type(value, [&]<class T>() {
        if constexpr (is_ordered<T>) folder = std::make_unique<ExtremeFolder<T>>(fold == Fold::max, value, outputs);
        return true;
      });
      break;
    case Fold::any:
    case Fold::all:
      if (cast_elements(value, Elem::boolean, nullptr, nullptr, 0)) {
        folder = std::make_unique<TruthFolder>(fold == Fold::all, value, outputs);
      }
      break;
    case Fold::only:
      with_register_type(value, [&]<class T>() {
        if constexpr (!std::is_same_v<T, Text>) folder = std::make_unique<OnlyFolder<T>>(value, outputs);
        return true;
      });
      break;
    case Fold::argmax:
    case Fold::argmin:
      with_register_type(value, [&]<class T>() {
        if constexpr (is_ordered<T>) {
          folder = std::make_unique<ArgFolder<T>>(fold == Fold::argmax, last_wins, no_points ? 0 : -1, outputs);
        }
        return true;
      });
      break;
  }
  if (!folder)
    return fail(Code::unsupported, "a fold from {} to {} is not defined", name_of(value), name_of(out.elem()));
  return folder;
}

}  // namespace frazil::ref
