// What must hold for every expression, tried on seeded random ones against evaluation by definition.
#include <algorithm>

#include <gtest/gtest.h>

#include "tree.h"

namespace frazil::test {
namespace {

constexpr int kRuns = 2500;

struct TreeCase {
  Tree tree;
  Dim dim;
};

TreeCase random_case(Trees& trees, Scope& s) {
  TreeCase c{trees.tree(static_cast<int>(trees.pick(1, 4))), {}};
  c.dim = c.tree.build(s);
  return c;
}

TEST(DimProperty, ProgramEvalAndBoundsAgreeWithDefinition) {
  Trees trees(1);
  const auto points = all_points();
  for (int run = 0; run < kRuns; ++run) {
    Scope s = small_scope();
    const auto [tree, d] = random_case(trees, s);
    DimProgram program;
    DimRegisters known;
    const std::uint32_t result = s.emit(d, program, known);
    std::vector<std::int64_t> regs(program.registers);
    const Bounds b = s.bounds(d);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto want = tree.eval(points[i]);
      if (!want) continue;
      std::ranges::copy(points[i], regs.begin());
      ASSERT_TRUE(program.run(regs, 0, program.code.size())) << s.str(d);
      ASSERT_EQ(regs[result], *want) << s.str(d);
      ASSERT_TRUE(b.min <= *want && *want <= b.max)
          << s.str(d) << ": " << b.min << ".." << b.max << " without " << *want;
      if (i % 17 != 0) continue;
      ASSERT_EQ(eval(s, d, points[i]), want) << s.str(d);
    }
  }
}

TEST(DimProperty, ProofsHoldForAllValues) {
  Trees trees(2);
  const auto points = all_points();
  int decided = 0;
  for (int run = 0; run < kRuns; ++run) {
    Scope s = small_scope();
    const TreeCase a = random_case(trees, s);
    const TreeCase b = random_case(trees, s);
    const Proof equal = s.equal(a.dim, b.dim);
    const Proof less = s.less(a.dim, b.dim);
    const Proof less_equal = s.less_equal(a.dim, b.dim);
    decided += less != Proof::maybe;
    const auto consistent = [](Proof p, bool holds) { return p == Proof::maybe || (p == Proof::yes) == holds; };
    for (const Point& p : points) {
      const auto x = a.tree.eval(p);
      const auto y = b.tree.eval(p);
      if (!x || !y) continue;
      ASSERT_TRUE(consistent(equal, *x == *y)) << s.str(a.dim) << " == " << s.str(b.dim);
      ASSERT_TRUE(consistent(less, *x < *y)) << s.str(a.dim) << " < " << s.str(b.dim);
      ASSERT_TRUE(consistent(less_equal, *x <= *y)) << s.str(a.dim) << " <= " << s.str(b.dim);
    }
  }
  EXPECT_GT(decided, kRuns / 5);
}

TEST(DimProperty, ConstantHoldsForAllValues) {
  Trees trees(3);
  const auto points = all_points();
  for (int run = 0; run < kRuns; ++run) {
    Scope s = small_scope();
    const auto [tree, d] = random_case(trees, s);
    const auto c = constant_of(s, d);
    if (!c) continue;
    for (const Point& p : points) ASSERT_EQ(tree.eval(p).value_or(*c), *c) << s.str(d);
  }
}

TEST(DimProperty, CommutedAndReassociatedFormsHaveEqualBits) {
  Trees trees(4);
  for (int run = 0; run < kRuns; ++run) {
    Scope s = small_scope();
    const Dim a = random_case(trees, s).dim;
    const Dim b = random_case(trees, s).dim;
    const Dim c = random_case(trees, s).dim;
    ASSERT_EQ(s.add(a, b), s.add(b, a));
    ASSERT_EQ(s.mul(a, b), s.mul(b, a));
    ASSERT_EQ(s.min(a, b), s.min(b, a));
    ASSERT_EQ(s.max(a, b), s.max(b, a));
    ASSERT_EQ(s.add(s.add(a, b), c), s.add(a, s.add(b, c)));
    ASSERT_EQ(s.sub(s.add(a, b), b), a) << s.str(a) << " and " << s.str(b);
    ASSERT_EQ(s.sub(a, b), s.mul(s.sub(b, a), -1));
  }
}

TEST(DimProperty, OrderOfLinearTermsDoesNotMatter) {
  Trees trees(5);
  for (int run = 0; run < 300; ++run) {
    Scope s;
    std::vector<Dim> terms;
    for (int i = 0; i < 12; ++i)
      terms.push_back(s.mul(s.symbol(std::string(1, static_cast<char>('a' + trees.pick(0, 7)))), trees.pick(-3, 3)));
    const auto sum = [&] {
      Dim r = 0;
      for (Dim t : terms) r = s.add(r, t);
      return r;
    };
    const Dim first = sum();
    trees.shuffle(terms);
    ASSERT_EQ(sum(), first);
  }
}

TEST(DimProperty, TextRoundTrips) {
  Trees trees(6);
  for (int run = 0; run < kRuns; ++run) {
    Scope s = small_scope();
    const Dim d = random_case(trees, s).dim;
    ASSERT_EQ(dim(s, s.str(d)), d) << s.str(d);
  }
}

TEST(DimProperty, TextDoesNotDependOnTheOrderOfSymbols) {
  Trees trees(7);
  for (int run = 0; run < kRuns; ++run) {
    Scope s = small_scope();
    const Dim d = random_case(trees, s).dim;
    Scope other;
    for (int i = 2; i >= 0; --i) other.symbol(kNames[i], kSmall[i]);
    const std::string text = s.str(d);
    ASSERT_EQ(other.str(dim(other, text)), text);
  }
}

TEST(DimProperty, NarrowedBoundsStayTrue) {
  Trees trees(9);
  const auto points = all_points();
  for (int run = 0; run < kRuns / 5; ++run) {
    Scope s;
    for (const char* name : kNames) s.symbol(name, {Dim::kMin, Dim::kMax});
    const Tree tree = trees.tree(3);
    const Dim d = tree.build(s);  // narrows each symbol on first use
    for (const Point& p : points) {
      const auto want = tree.eval(p);
      if (!want) continue;
      ASSERT_EQ(eval(s, d, p), want) << s.str(d);
      ASSERT_TRUE(s.bounds(d).min <= *want && *want <= s.bounds(d).max) << s.str(d);
    }
  }
}

}  // namespace
}  // namespace frazil::test
