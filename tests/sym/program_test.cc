// Dims as straight-line programs.
#include <gtest/gtest.h>

#include "tree.h"

namespace frazil::test {
namespace {

using Op = DimProgram::Op;

struct Compiled {
  Scope scope;
  DimProgram program;
  DimRegisters known;

  std::uint32_t emit(const char* text) { return scope.emit(dim(scope, text), program, known); }

  std::vector<std::int64_t> run(std::vector<std::int64_t> values) {
    values.resize(program.registers);
    EXPECT_TRUE(program.run(values, 0, program.code.size()));
    return values;
  }
};

Compiled with_symbols(std::initializer_list<const char*> names) {
  Compiled c;
  for (const char* name : names) c.scope.symbol(name, {Dim::kMin, Dim::kMax});
  return c;
}

TEST(DimProgram, SymbolsAreTheFirstRegisters) {
  Compiled c = with_symbols({"A", "B"});
  EXPECT_EQ(c.emit("B"), 1u);
  EXPECT_EQ(c.program.registers, 2u);
  EXPECT_TRUE(c.program.code.empty());
}

TEST(DimProgram, CodeIsShort) {
  const struct {
    const char* text;
    std::size_t instructions;
  } cases[] = {
      {"7", 1},
      {"A", 0},
      {"A + B", 1},
      {"A - B", 1},
      {"A + 3", 2},
      {"3 - A", 2},
      {"-A", 2},
      {"2*A - 2*B", 4},
      {"A*A*B", 2},
      {"floordiv(A + 1, B)", 3},
      {"max(A, B, 4)", 3},
  };
  for (const auto& [text, instructions] : cases) {
    Compiled c = with_symbols({"A", "B"});
    c.emit(text);
    EXPECT_EQ(c.program.code.size(), instructions) << text;
  }
}

TEST(DimProgram, CommonPartsAreComputedOnce) {
  Compiled c = with_symbols({"A", "B"});
  const auto product = c.emit("A*B");
  const auto quotient = c.emit("floordiv(A*B, 3)");
  const std::size_t size = c.program.code.size();
  EXPECT_EQ(c.emit("floordiv(B*A, 3)"), quotient);
  EXPECT_EQ(c.program.code.size(), size);
  const auto sum = c.emit("A*B + floordiv(A*B, 3)");
  EXPECT_EQ(c.program.code.size(), size + 1);
  const auto regs = c.run({5, 7});
  EXPECT_EQ(regs[product], 35);
  EXPECT_EQ(regs[quotient], 11);
  EXPECT_EQ(regs[sum], 46);
}

TEST(DimProgram, RunsInParts) {
  Compiled c = with_symbols({"A"});
  const auto first = c.emit("A*A");
  const std::size_t split = c.program.code.size();
  const auto second = c.emit("A*A + A");
  std::vector<std::int64_t> regs(c.program.registers);
  regs[0] = 6;
  EXPECT_TRUE(c.program.run(regs, 0, split));
  EXPECT_EQ(regs[first], 36);
  EXPECT_EQ(regs[second], 0);
  EXPECT_TRUE(c.program.run(regs, split, c.program.code.size()));
  EXPECT_EQ(regs[second], 42);
}

TEST(DimProgram, DivisionByZeroIsAFaultAndGivesZero) {
  Compiled c = with_symbols({"A", "B"});
  const auto quotient = c.emit("floordiv(A, B)");
  const auto after = c.emit("A + B");
  std::vector<std::int64_t> regs(c.program.registers);
  regs[0] = 6;
  EXPECT_FALSE(c.program.run(regs, 0, c.program.code.size()));
  EXPECT_EQ(regs[quotient], 0);
  EXPECT_EQ(regs[after], 6);
}

TEST(DimProgram, EveryInstruction) {
  const struct {
    Op op;
    std::int64_t a, b, want;
  } cases[] = {
      {Op::add, 2, 3, 5},
      {Op::sub, 2, 3, -1},
      {Op::mul, 2, 3, 6},
      {Op::min, 2, 3, 2},
      {Op::max, 2, 3, 3},
      {Op::floordiv, 7, 2, 3},
      {Op::floordiv, -7, 2, -4},
      {Op::floordiv, 7, -2, -4},
      {Op::floordiv, -7, -2, 3},
      {Op::floordiv, INT64_MIN, -1, Dim::kMax},
      {Op::mod, 7, 3, 1},
      {Op::mod, -7, 3, 2},
      {Op::mod, 7, -3, -2},
      {Op::mod, INT64_MIN, -1, 0},
      {Op::add, Dim::kMax, 1, Dim::kMax},
      {Op::add, INT64_MAX, INT64_MAX, Dim::kMax},
      {Op::sub, Dim::kMin, 1, Dim::kMin},
      {Op::sub, 0, INT64_MIN, Dim::kMax},
      {Op::mul, Dim::kMax, -2, Dim::kMin},
      {Op::mul, INT64_MIN, INT64_MIN, Dim::kMax},
  };
  for (const auto& c : cases) {
    const DimProgram program{.code = {{c.op, 2, 0, 1, 0}}, .registers = 3};
    std::int64_t regs[] = {c.a, c.b, -99};
    EXPECT_TRUE(program.run(regs, 0, 1));
    EXPECT_EQ(regs[2], c.want) << static_cast<int>(c.op) << " of " << c.a << ", " << c.b;
  }
}

}  // namespace
}  // namespace frazil::test
