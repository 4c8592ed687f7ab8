// The text form: names, spacing, errors and limits. (What expressions print as: canonical_test.)
#include <gtest/gtest.h>

#include "tree.h"

namespace frazil::test {
namespace {

TEST(DimText, NamesThatAreNoIdentifiersAreQuoted) {
  const struct {
    std::string name;
    std::string text;
  } cases[] = {
      {"N", "N"},
      {"seq_len.1$", "seq_len.1$"},
      {"?0", "?0"},
      {"", "``"},
      {"2N", "`2N`"},
      {"a b", "`a b`"},
      {"a+b", "`a+b`"},
      {"min", "`min`"},
      {"floordiv", "`floordiv`"},
      {"minimum", "minimum"},
      {"a`b\\c", "`a\\`b\\\\c`"},
      {"line\nbreak", "`line\\x0abreak`"},
      {std::string("\0", 1), "`\\x00`"},
      {"größe", "`größe`"},
  };
  for (const auto& [name, text] : cases) {
    Scope s;
    const Dim d = s.add(s.mul(s.symbol(name), 2), 1);
    EXPECT_EQ(s.str(d), "2*" + text + " + 1");
    EXPECT_EQ(dim(s, s.str(d)), d);
    Scope other;
    dim(other, text);
    EXPECT_EQ(other.find_symbol(name), SymbolId{0}) << text;
  }
}

TEST(DimText, SpacesAreFree) {
  Scope s;
  EXPECT_EQ(dim(s, " 2*N*M+floordiv( N+1 ,2 )-3 "), dim(s, "2 * N * M + floordiv(N + 1, 2) - 3"));
  EXPECT_EQ(dim(s, "((N))"), dim(s, "N"));
  EXPECT_EQ(dim(s, "min(N, M, 4)"), dim(s, "min(min(4, M), N)"));
}

TEST(DimText, UnknownNamesBecomeSymbolsAndKnownOnesKeepTheirBounds) {
  Scope s;
  s.symbol("Z", {-5, 5});
  EXPECT_EQ(s.bounds(dim(s, "Z")), (Bounds{-5, 5}));
  EXPECT_EQ(s.bounds(dim(s, "N")), Bounds{});
  EXPECT_EQ(s.symbol_count(), 2u);
}

TEST(DimText, ErrorsSayWhatAndWhere) {
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"", "dimension '', column 1: expected a number, a name or '(', got the end"},
      {"N +", "dimension 'N +', column 4: expected a number, a name or '(', got the end"},
      {"N M", "dimension 'N M', column 3: expected an operator, got 'M'"},
      {"(N", "dimension '(N', column 3: expected ')', got the end"},
      {"N)", "dimension 'N)', column 2: expected an operator, got ')'"},
      {"min(N)", "dimension 'min(N)', column 6: expected ',', got ')'"},
      {"floordiv(N, 2, 3)", "dimension 'floordiv(N, 2, 3)', column 14: expected ')', got ', 3)'"},
      {"min", "dimension 'min', column 4: expected '(', got the end"},
      {"3.5", "dimension '3.5', column 2: expected an operator, got '.5'"},
      {"N % 2", "dimension 'N % 2', column 3: expected an operator, got '% 2'"},
      {"`N", "dimension '`N', column 3: expected a closing '`', got the end"},
      {"`\\q`", "dimension '`\\q`', column 3: a bad escape"},
      {"`\\x4", "dimension '`\\x4', column 3: a bad escape"},
      {"9223372036854775808", "dimension '9223372036854775808', column 1: a number out of range"},
      {"2305843009213693952", "dimension '2305843009213693952', column 1: a number out of range"},
      {"N\n", "dimension 'N\\n', column 2: expected an operator, got '\\n'"},
      {std::string("N\0M", 3), "dimension 'N\\x00M', column 2: expected an operator, got '\\x00M'"},
  };
  for (const auto& [text, message] : cases) {
    Scope s;
    const auto d = parse_dim(s, text);
    ASSERT_FALSE(d) << text;
    EXPECT_EQ(d.error().text(), message);
    EXPECT_EQ(d.error().code, Code::bad_model);
  }
}

TEST(DimText, NestingIsLimited) {
  const auto nested = [](std::size_t n) { return std::string(n, '(') + "N" + std::string(n, ')'); };
  Scope s;
  EXPECT_TRUE(parse_dim(s, nested(200)));
  for (std::size_t n : {std::size_t{201}, std::size_t{1'000'000}}) {
    const auto d = parse_dim(s, nested(n));
    ASSERT_FALSE(d);
    EXPECT_EQ(d.error().code, Code::limit);
    EXPECT_NE(d.error().text().find("nested deeper than 200 levels"), std::string::npos);
  }
  EXPECT_EQ(dim(s, std::string(1'000'000, '-') + "N"), dim(s, "N"));
  EXPECT_FALSE(parse_dim(s, std::string(1'000'000, '-')));
}

TEST(DimText, GarbageIsAnErrorOrAnExpression) {
  Trees random(11);
  const std::string_view alphabet = "NM09 +-*(),`\\xmin.$?\xc3\xa4";
  for (int run = 0; run < 20'000; ++run) {
    std::string text;
    for (auto n = random.pick(0, 12); n > 0; --n)
      text += alphabet[static_cast<std::size_t>(random.pick(0, static_cast<std::int64_t>(alphabet.size()) - 1))];
    Scope s;
    const auto d = parse_dim(s, text);
    if (!d)
      ASSERT_FALSE(d.error().text().empty());
    else
      ASSERT_EQ(dim(s, s.str(*d)), *d) << text;
  }
}

}  // namespace
}  // namespace frazil::test
