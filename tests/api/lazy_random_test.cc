// Random programs of lazy arrays: alone, read after each operator, and in batches with others, against plain loops.
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <frazil/frazil.h>
#include <gtest/gtest.h>

namespace frazil {
namespace {

constexpr std::size_t kWidth = 6, kWords = 9;

/// Weights that all programs share, once as parameters and once as they are.
struct Weights {
  explicit Weights(std::size_t rows, std::size_t columns, unsigned seed) : columns_(columns), values(rows * columns) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-0.7F, 0.7F);
    for (float& value : values) value = uniform(random);
    array = parameter(Array::of<float>({static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)},
                                       std::span<const float>(values)));
  }
  double at(std::size_t row, std::size_t column) const { return values[row * columns_ + column]; }

 private:
  std::size_t columns_;

 public:
  std::vector<float> values;
  LazyArray array;
};

struct RandomModel {
  Weights words{kWords, kWidth, 1}, square{kWidth, kWidth, 2}, joined{2 * kWidth, kWidth, 3};
};

const RandomModel& model() {
  static const RandomModel model;
  return model;
}

/// Plain loops over vectors.
struct Plain {
  using V = std::vector<double>;

  V word(std::size_t i) const {
    V row(kWidth);
    for (std::size_t k = 0; k < kWidth; ++k) row[k] = model().words.at(i, k);
    return row;
  }
  V squash(V x) const {
    for (double& e : x) e = std::tanh(e);
    return x;
  }
  V gate(V x) const {
    for (double& e : x) e = 1 / (1 + std::exp(-e));
    return x;
  }
  V mix(const V& x, const V& y, double by) const {
    V z(x);
    for (std::size_t k = 0; k < z.size(); ++k) z[k] = x[k] * y[k] + by * x[k] - y[k];
    return z;
  }
  V product(const V& x) const { return times(x, model().square); }
  V joined(const V& x, const V& y) const {
    V both(x);
    both.insert(both.end(), y.begin(), y.end());
    return squash(times(both, model().joined));
  }
  V swapped(const V& x) const {
    V z(x.begin() + kWidth / 2, x.end());
    z.insert(z.end(), x.begin(), x.begin() + kWidth / 2);
    return z;
  }
  V cell(const V& x, const V& y) const { return mix(gate(product(x)), joined(x, y), 0.5); }
  double total(const V& x) const { return std::accumulate(x.begin(), x.end(), 0.0); }

 private:
  static V times(const V& x, const Weights& w) {
    V z(kWidth);
    for (std::size_t k = 0; k < kWidth; ++k) {
      for (std::size_t i = 0; i < x.size(); ++i) z[k] += x[i] * w.at(i, k);
    }
    return z;
  }
};

/// The same by recorded operators.
struct Lazy {
  using V = LazyArray;

  V word(std::size_t i) const { return model().words.array[static_cast<std::int64_t>(i)]; }
  V squash(const V& x) const { return tanh(x); }
  V gate(const V& x) const { return sigmoid(x); }
  V mix(const V& x, const V& y, double by) const { return x * y + x * by - y; }
  V product(const V& x) const { return matmul(x, model().square.array); }
  V joined(const V& x, const V& y) const { return tanh(matmul(concatenate({x, y}), model().joined.array)); }
  V swapped(const V& x) const {
    const auto halves = split(x, 2);
    return concatenate({halves[1], halves[0]});
  }
  V cell(const V& x, const V& y) const {
    static const auto recorded = function("cell", [](const LazyArray& a, const LazyArray& b) {
      const Lazy lazy;
      return lazy.mix(lazy.gate(lazy.product(a)), lazy.joined(a, b), 0.5);
    });
    return recorded(x, y);
  }
  double total(const V& x) const { return sum(x).item<float>(); }
};

/// Lazy arrays of which each is read at once.
struct Eager : Lazy {
  V read(V x) const {
    (void)x.value();
    return x;
  }
  V squash(const V& x) const { return read(Lazy::squash(x)); }
  V gate(const V& x) const { return read(Lazy::gate(x)); }
  V mix(const V& x, const V& y, double by) const { return read(Lazy::mix(x, y, by)); }
  V product(const V& x) const { return read(Lazy::product(x)); }
  V joined(const V& x, const V& y) const { return read(Lazy::joined(x, y)); }
  V swapped(const V& x) const { return read(Lazy::swapped(x)); }
  V cell(const V& x, const V& y) const { return read(Lazy::cell(x, y)); }
};

/// A program that a seed draws, with branches on values. Sets `tie` where a branch hangs on the last digits.
template <class Machine>
typename Machine::V run(unsigned seed, const Machine& on, bool* tie = nullptr) {
  std::mt19937 random(seed);
  const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
  std::vector<typename Machine::V> values{on.word(draw(kWords)), on.word(draw(kWords))};
  for (std::size_t step = 3 + draw(20); step > 0; --step) {
    const auto x = values[draw(values.size())], y = values[draw(values.size())];
    switch (draw(9)) {
      case 0: values.push_back(on.word(draw(kWords))); break;
      case 1: values.push_back(on.squash(x)); break;
      case 2: values.push_back(on.gate(x)); break;
      case 3: values.push_back(on.squash(on.mix(x, y, 0.25))); break;
      case 4: values.push_back(on.squash(on.product(x))); break;
      case 5: values.push_back(on.joined(x, y)); break;
      case 6: values.push_back(on.swapped(x)); break;
      case 7: values.push_back(on.cell(x, y)); break;
      default: {
        const double total = on.total(x);
        if (tie != nullptr && std::abs(total - 0.1) < 1e-3) *tie = true;
        values.push_back(total > 0.1 ? on.cell(x, on.word(draw(kWords))) : on.gate(y));
      }
    }
  }
  return on.joined(values.back(), values[values.size() / 2]);
}

void expect_equal(const LazyArray& got, const std::vector<double>& wanted, const std::string& what) {
  const Array value = got.value();
  const auto values = value.values<float>();
  ASSERT_EQ(values.size(), wanted.size()) << what;
  for (std::size_t k = 0; k < wanted.size(); ++k) EXPECT_NEAR(values[k], wanted[k], 2e-5) << what << ", element " << k;
}

std::string program_name(unsigned seed) { return "program " + std::to_string(seed); }

TEST(RandomPrograms, GiveAloneWhatPlainLoopsGive) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    bool tie = false;
    const auto wanted = run(seed, Plain(), &tie);
    if (tie) continue;
    expect_equal(run(seed, Lazy()), wanted, program_name(seed));
    expect_equal(run(seed, Eager()), wanted, program_name(seed) + ", each operator read");
  }
}

TEST(RandomPrograms, GiveTogetherWhatPlainLoopsGive) {
  for (const std::size_t count : {1U, 2U, 7U, 64U}) {
    for (unsigned first = 0; first < 320; first += 64) {
      std::vector<unsigned> seeds(count);
      std::iota(seeds.begin(), seeds.end(), first);
      const auto results = batch(seeds, [](unsigned seed) { return run(seed, Lazy()); });
      for (std::size_t i = 0; i < count; ++i) {
        bool tie = false;
        const auto wanted = run(seeds[i], Plain(), &tie);
        if (!tie) expect_equal(results[i], wanted, program_name(seeds[i]) + " among " + std::to_string(count));
      }
    }
  }
}

TEST(RandomPrograms, ThatAreEqualGiveTheSameBitsTogether) {
  std::vector<unsigned> seeds(32, 5);
  const auto results = batch(seeds, [](unsigned seed) { return run(seed, Lazy()); });
  const Array first = results[0].value();
  for (const LazyArray& each : results) {
    const Array value = each.value();
    EXPECT_TRUE(std::ranges::equal(value.values<float>(), first.values<float>()));
  }
}

}  // namespace
}  // namespace frazil
