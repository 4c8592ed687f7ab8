#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "sym/dim.h"

namespace frazil::test {

/// Three symbols that can take few enough values to try all of them: N in [1, 6], M in [0, 5], K in [-4, 4].
inline constexpr Bounds kSmall[] = {{1, 6}, {0, 5}, {-4, 4}};
inline constexpr const char* kNames[] = {"N", "M", "K"};

using Point = std::vector<std::int64_t>;

inline std::vector<Point> all_points() {
  std::vector<Point> points;
  for (std::int64_t n = kSmall[0].min; n <= kSmall[0].max; ++n)
    for (std::int64_t m = kSmall[1].min; m <= kSmall[1].max; ++m)
      for (std::int64_t k = kSmall[2].min; k <= kSmall[2].max; ++k) points.push_back({n, m, k});
  return points;
}

/// An expression as it was written, and its value by definition: the oracle of Scope.
struct Tree {
  enum class Op { constant, symbol, add, sub, mul, floordiv, ceildiv, mod, min, max };
  Op op = Op::constant;
  std::int64_t value = 0;  ///< the constant, or the symbol's number
  std::shared_ptr<const Tree> a, b;

  /// nullopt: a division by zero, or a value too large to be worth testing.
  std::optional<std::int64_t> eval(std::span<const std::int64_t> point) const {
    constexpr std::int64_t kLarge = 1 << 24;
    if (op == Op::constant) return value;
    if (op == Op::symbol) return point[static_cast<std::size_t>(value)];
    const auto x = a->eval(point);
    const auto y = b->eval(point);
    if (!x || !y) return std::nullopt;
    const auto r = apply(*x, *y);
    return r && std::abs(*r) < kLarge ? r : std::nullopt;
  }

  Dim build(Scope& s) const {
    if (op == Op::constant) return value;
    if (op == Op::symbol) return s.symbol(kNames[value], kSmall[value]);
    const Dim x = a->build(s);
    const Dim y = b->build(s);
    switch (op) {
      case Op::add: return s.add(x, y);
      case Op::sub: return s.sub(x, y);
      case Op::mul: return s.mul(x, y);
      case Op::floordiv: return s.floordiv(x, y);
      case Op::ceildiv: return ceildiv(s, x, y);
      case Op::mod: return mod(s, x, y);
      case Op::min: return s.min(x, y);
      default: return s.max(x, y);
    }
  }

 private:
  static std::int64_t floor(std::int64_t x, std::int64_t y) {
    std::int64_t q = x / y;
    while (y > 0 ? q * y > x : q * y < x) --q;
    return q;
  }

  std::optional<std::int64_t> apply(std::int64_t x, std::int64_t y) const {
    if ((op == Op::floordiv || op == Op::ceildiv || op == Op::mod) && y == 0) return std::nullopt;
    switch (op) {
      case Op::add: return x + y;
      case Op::sub: return x - y;
      case Op::mul: return x * y;
      case Op::floordiv: return floor(x, y);
      case Op::ceildiv: return -floor(-x, y);
      case Op::mod: return x - y * floor(x, y);
      case Op::min: return x < y ? x : y;
      default: return x > y ? x : y;
    }
  }
};

/// Seeded random trees.
class Trees {
 public:
  explicit Trees(std::uint32_t seed) : random_(seed) {}

  std::int64_t pick(std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(to - from + 1));
  }

  Tree tree(int depth) {
    if (depth == 0 || pick(0, 9) == 0) return leaf();
    Tree t;
    t.op = static_cast<Tree::Op>(pick(static_cast<int>(Tree::Op::add), static_cast<int>(Tree::Op::max)));
    t.a = std::make_shared<Tree>(tree(depth - 1));
    t.b = std::make_shared<Tree>(tree(depth - 1));
    return t;
  }

  template <class T>
  void shuffle(std::vector<T>& v) {
    for (std::size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[random_() % i]);
  }

 private:
  Tree leaf() {
    if (pick(0, 2) == 0) return {.op = Tree::Op::constant, .value = pick(-4, 8), .a = {}, .b = {}};
    return {.op = Tree::Op::symbol, .value = pick(0, 2), .a = {}, .b = {}};
  }

  std::mt19937_64 random_;
};

/// A Scope with N, M and K as symbols 0, 1 and 2.
inline Scope small_scope() {
  Scope s;
  for (int i = 0; i < 3; ++i) s.symbol(kNames[i], kSmall[i]);
  return s;
}

/// Dim of a text; throws where it does not parse, which fails the test.
inline Dim dim(Scope& s, std::string_view text) {
  const auto d = parse_dim(s, text);
  return d ? *d : (throw std::runtime_error(d.error().text()));
}

}  // namespace frazil::test
