#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <frazil/frazil.h>

// Shared code of the programs in this folder: weights, and the comparison of two ways to compute the same results.
namespace lazy_examples {

/// A random generator that gives the same numbers with every compiler.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  /// Returns a number in [0, 1).
  float uniform() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<float>(state_ >> 40U) / static_cast<float>(1U << 24U);
  }
  /// Returns a number in [-scale, scale).
  float around_zero(float scale) { return (2 * uniform() - 1) * scale; }
  std::int64_t below(std::int64_t bound) { return static_cast<std::int64_t>(uniform() * static_cast<float>(bound)); }

 private:
  std::uint64_t state_;
};

/// A matrix of weights under construction.
struct Matrix {
  Matrix(std::int64_t rows_, std::int64_t cols_)
      : rows(rows_), cols(cols_), values(static_cast<std::size_t>(rows_ * cols_)) {}
  /// Returns random weights of a layer, scaled so that products keep the magnitude of their operand.
  static Matrix layer(std::int64_t rows, std::int64_t cols, Random& random) {
    Matrix made(rows, cols);
    const float scale = std::sqrt(3.F / static_cast<float>(rows));
    for (float& value : made.values) value = random.around_zero(scale);
    return made;
  }
  float& operator()(std::int64_t row, std::int64_t col) { return values[static_cast<std::size_t>(row * cols + col)]; }
  std::span<float> row(std::int64_t index) {
    return std::span(values).subspan(static_cast<std::size_t>(index * cols), static_cast<std::size_t>(cols));
  }
  frazil::Array array() const { return frazil::Array::of<float>({rows, cols}, std::span<const float>(values)); }

  std::int64_t rows, cols;
  std::vector<float> values;
};

inline frazil::Array vector_of(std::span<const float> values) {
  return frazil::Array::of<float>({static_cast<std::int64_t>(values.size())}, values);
}
inline void append(std::vector<float>& to, const frazil::Array& values) {
  const auto all = values.values<float>();
  to.insert(to.end(), all.begin(), all.end());
}

/// An affine layer whose weights are parameters.
struct Affine {
  Affine(const Matrix& weights, const Matrix& biases)
      : w(frazil::parameter(weights.array())), bias(frazil::parameter(vector_of(biases.values))) {}
  frazil::LazyArray operator()(const frazil::LazyArray& x) const { return matmul(x, w) + bias; }
  frazil::LazyArray w, bias;
};

/// The results of one way, and the amount of work that it computed.
struct Outcome {
  std::vector<float> results;
  std::uint64_t work = 0;
};
struct Way {
  std::string name;
  std::function<Outcome()> run;
};

inline float largest_difference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) throw std::runtime_error("the two ways give different numbers of results");
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest =
        std::max(largest, std::isfinite(a[i] - b[i]) ? std::abs(a[i] - b[i]) : std::numeric_limits<float>::infinity());
  }
  return largest;
}

inline double milliseconds(const std::function<Outcome()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// Returns the shortest times of both in half a second of alternating runs. Compilation must be complete.
inline std::pair<double, double> shortest(const Way& lazily, const Way& statically) {
  constexpr int kMinimum = 3;
  double ours = std::numeric_limits<double>::infinity(), theirs = ours, spent = 0;
  for (int turn = 0; turn < kMinimum || spent < 500; ++turn) {
    const double now = milliseconds(lazily.run), then = milliseconds(statically.run);
    ours = std::min(ours, now);
    theirs = std::min(theirs, then);
    spent += now + then;
  }
  return {ours, theirs};
}

/// Prints the times of both; throws if their results differ. The last line is a row of the table of run.sh.
inline void side_by_side(const char* example, const char* unit, const Way& lazily, const Way& statically) {
  const Outcome ours = lazily.run(), theirs = statically.run();
  const float difference = largest_difference(ours.results, theirs.results);
  if (!(difference <= 1e-4F)) throw std::runtime_error("results differ by " + std::to_string(difference));
  const auto [our_ms, their_ms] = shortest(lazily, statically);
  std::printf("\n%-28s %10llu %s %10.2f ms\n", lazily.name.c_str(), static_cast<unsigned long long>(ours.work), unit,
              our_ms);
  std::printf("%-28s %10llu %s %10.2f ms\n", statically.name.c_str(), static_cast<unsigned long long>(theirs.work),
              unit, their_ms);
  std::printf("results differ by at most %.1e\n\n", static_cast<double>(difference));
  std::printf("| %s | %s | %llu | %llu | %.2f | %.2f | %.1f |\n", example, unit,
              static_cast<unsigned long long>(ours.work), static_cast<unsigned long long>(theirs.work), our_ms,
              their_ms, their_ms / our_ms);
}

/// Runs the body of main() and returns its exit status.
inline int run_example(const char* example, void (*body)()) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", example, error.what());
    return 1;
  }
}

}  // namespace lazy_examples
