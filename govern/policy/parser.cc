#include "govern/policy/parser.h"

#include <algorithm>
#include <limits>

#include "govern/policy/lexer.h"
#include "govern/policy/shown.h"

namespace frazil::govern {
namespace {

/// Words of CEL that a name may not be.
constexpr std::string_view kReserved[] = {"as",       "break",   "const",  "continue", "else", "false", "for",
                                          "function", "if",      "import", "in",       "let",  "loop",  "namespace",
                                          "null",     "package", "return", "true",     "var",  "void",  "while"};

bool is_reserved(std::string_view word) { return std::ranges::find(kReserved, word) != std::end(kReserved); }

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : lexer_(text, file) { token_ = lexer_.next(); }

  PolicySyntax policy();
  Expr whole_expression() {
    Expr expr = expression();
    if (token_.kind != TokenKind::end) expected("an operator or the end");
    return expr;
  }

 private:
  [[noreturn]] void expected(std::string_view what) const {
    fail_at(lexer_.file(), token_.at, "expected {}, got {}", what, token_.shown());
  }
  Token take() {
    Token token = std::move(token_);
    token_ = lexer_.next();
    return token;
  }
  bool take_if(std::string_view symbol) {
    if (!token_.is(symbol)) return false;
    take();
    return true;
  }
  bool take_word(std::string_view word) {
    if (!token_.is_word(word)) return false;
    take();
    return true;
  }
  void need(std::string_view symbol) {
    if (!take_if(symbol)) expected(fmt::format("'{}'", symbol));
  }
  void need_word(std::string_view word) {
    if (!take_word(word)) expected(fmt::format("'{}'", word));
  }
  SyntaxName name(std::string_view what) {
    if (token_.kind != TokenKind::name) expected(what);
    if (is_reserved(token_.text)) {
      fail_at(lexer_.file(), token_.at, "'{}' is a reserved word and cannot be {}", token_.text, what);
    }
    const Place at = token_.at;
    return {take().text, at};
  }
  SyntaxName text(std::string_view what) {
    if (token_.kind != TokenKind::text) expected(what);
    const Place at = token_.at;
    return {take().text, at};
  }

  Expr make(Form form, Place at, std::string text, std::vector<Expr> parts);
  Expr expression();
  Expr binary(std::size_t level);
  Expr unary();
  Expr member();
  Expr primary();
  Expr number(bool negative, Place at);
  Expr map_literal();
  std::vector<Expr> list_until(std::string_view close);

  std::int64_t serial();
  ConstantSyntax constant();
  RuleSyntax rule(bool permits);
  CaseSyntax test_case();
  Expectation expectation();
  Json json_of(const Expr& expr) const;

  Lexer lexer_;
  Token token_;
  std::uint32_t depth_ = 0;
};

Expr Parser::make(Form form, Place at, std::string text, std::vector<Expr> parts) {
  Expr expr;
  expr.form = form;
  expr.at = at;
  expr.text = std::move(text);
  expr.parts = std::move(parts);
  for (const Expr& part : expr.parts) expr.depth = std::max(expr.depth, part.depth + 1);
  if (expr.depth > kMaxExpressionDepth)
    fail_at(lexer_.file(), at, "the expression is nested deeper than {}", kMaxExpressionDepth);
  return expr;
}

Expr Parser::expression() {
  if (++depth_ > kMaxExpressionDepth)
    fail_at(lexer_.file(), token_.at, "the expression is nested deeper than {}", kMaxExpressionDepth);
  Expr condition = binary(0);
  if (token_.is("?")) {
    const Place at = take().at;
    Expr yes = binary(0);
    need(":");
    Expr no = expression();
    std::vector<Expr> parts;
    parts.push_back(std::move(condition));
    parts.push_back(std::move(yes));
    parts.push_back(std::move(no));
    condition = make(Form::choice, at, "?", std::move(parts));
  }
  --depth_;
  return condition;
}

/// Operators by precedence; those of one level associate to the left.
bool is_operator(const Token& token, std::size_t level) {
  constexpr std::string_view kLevels[5][7] = {
      {"||"}, {"&&"}, {"==", "!=", "<", "<=", ">", ">=", "in"}, {"+", "-"}, {"*", "/", "%"}};
  if (token.kind != TokenKind::symbol && !token.is_word("in")) return false;
  return std::ranges::any_of(kLevels[level], [&](std::string_view op) { return !op.empty() && op == token.text; });
}

Expr Parser::binary(std::size_t level) {
  constexpr std::size_t kUnaryLevel = 5;
  if (level == kUnaryLevel) return unary();
  Expr left = binary(level + 1);
  while (is_operator(token_, level)) {
    Token op = take();
    Expr right = binary(level + 1);
    std::vector<Expr> parts;
    parts.push_back(std::move(left));
    parts.push_back(std::move(right));
    left = make(Form::binary, op.at, std::move(op.text), std::move(parts));
  }
  return left;
}

Expr Parser::unary() {
  std::vector<Token> operators;
  while (token_.is("!") || token_.is("-")) {
    if (operators.size() >= kMaxExpressionDepth)
      fail_at(lexer_.file(), token_.at, "the expression is nested deeper than {}", kMaxExpressionDepth);
    const bool pair = !operators.empty() && operators.back().text == token_.text;  // CEL: two of them cancel out
    operators.push_back(take());
    if (pair) operators.resize(operators.size() - 2);
  }
  const bool number_next = token_.kind == TokenKind::integer || token_.kind == TokenKind::real;
  const bool negative = number_next && !operators.empty() && operators.back().is("-");
  Expr expr;
  if (negative) {
    expr = number(true, operators.back().at);
    operators.pop_back();
  } else {
    expr = member();
  }
  for (; !operators.empty(); operators.pop_back()) {
    std::vector<Expr> parts;
    parts.push_back(std::move(expr));
    expr = make(Form::unary, operators.back().at, operators.back().text, std::move(parts));
  }
  return expr;
}

std::vector<Expr> Parser::list_until(std::string_view close) {
  std::vector<Expr> items;
  while (!token_.is(close)) {
    items.push_back(expression());
    if (!take_if(",")) break;
  }
  need(close);
  return items;
}

Expr Parser::member() {
  Expr expr = primary();
  while (token_.is(".") || token_.is("[")) {
    const Place at = token_.at;
    std::vector<Expr> parts;
    if (take_if("[")) {
      Expr index = expression();
      need("]");
      parts.push_back(std::move(expr));
      parts.push_back(std::move(index));
      expr = make(Form::index, at, "", std::move(parts));
      continue;
    }
    take();
    if (token_.kind != TokenKind::name || token_.text == "in" || token_.text == "true" || token_.text == "false" ||
        token_.text == "null") {
      expected("the name of a field");
    }
    Token field = take();
    const bool called = take_if("(");
    if (called) parts = list_until(")");
    parts.insert(parts.begin(), std::move(expr));
    expr = make(called ? Form::method : Form::select, field.at, std::move(field.text), std::move(parts));
  }
  return expr;
}

Expr Parser::number(bool negative, Place at) {
  const Token token = take();
  Expr expr = make(token.kind == TokenKind::real ? Form::real : Form::integer, at, "", {});
  if (token.kind == TokenKind::real) {
    expr.real = negative ? -token.real : token.real;
    return expr;
  }
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (token.integer > kMost + (negative ? 1 : 0)) {
    fail_at(lexer_.file(), at, "the number {} is beyond 64 bits", token.integer);
  }
  expr.integer = static_cast<std::int64_t>(negative ? 0 - token.integer : token.integer);
  return expr;
}

Expr Parser::map_literal() {
  const Place at = take().at;
  std::vector<Expr> parts;
  while (!token_.is("}")) {
    parts.push_back(expression());
    need(":");
    parts.push_back(expression());
    if (!take_if(",")) break;
  }
  need("}");
  return make(Form::map, at, "", std::move(parts));
}

Expr Parser::primary() {
  const Place at = token_.at;
  if (token_.kind == TokenKind::integer || token_.kind == TokenKind::real) return number(false, at);
  if (token_.kind == TokenKind::text) return make(Form::text, at, take().text, {});
  if (token_.is("{")) return map_literal();
  if (take_if("[")) return make(Form::list, at, "", list_until("]"));
  if (take_if("(")) {
    Expr expr = expression();
    need(")");
    return expr;
  }
  if (token_.is_word("true") || token_.is_word("false")) {
    Expr expr = make(Form::boolean, at, "", {});
    expr.boolean = take().text == "true";
    return expr;
  }
  if (token_.is_word("null")) fail_at(lexer_.file(), at, "there is no null; use has(FIELD)");
  std::string word = name("an expression").text;
  if (!take_if("(")) return make(Form::name, at, std::move(word), {});
  return make(Form::call, at, std::move(word), list_until(")"));
}

// The file.

std::int64_t Parser::serial() {
  if (token_.kind != TokenKind::integer || token_.integer == 0 || token_.integer >> 53 != 0) {
    expected("a serial number from 1 to 2^53");
  }
  return static_cast<std::int64_t>(take().integer);
}

ConstantSyntax Parser::constant() {
  SyntaxName of = name("the name of a constant");
  need("=");
  Expr value = expression();
  need(";");
  return {std::move(of), std::move(value)};
}

RuleSyntax Parser::rule(bool permits) {
  RuleSyntax rule;
  rule.permits = permits;
  rule.name = name("the name of a rule");
  need_word("on");
  do {
    rule.hooks.push_back(name("the name of a hook"));
  } while (take_if(","));
  if (take_word("mode")) {
    const SyntaxName mode = name("'enforce' or 'shadow'");
    if (mode.text != "enforce" && mode.text != "shadow") {
      fail_at(lexer_.file(), mode.at, "expected 'enforce' or 'shadow', got '{}'", mode.text);
    }
    rule.shadow = mode.text == "shadow";
  }
  if (take_word("when")) rule.condition = expression();
  need_word("reason");
  rule.reason = text("the reason as a string").text;
  need(";");
  return rule;
}

Json Parser::json_of(const Expr& expr) const {
  switch (expr.form) {
    case Form::boolean: return expr.boolean;
    case Form::integer: return expr.integer;
    case Form::real: return expr.real;
    case Form::text: return expr.text;
    case Form::list: {
      Json list = Json::array();
      for (const Expr& part : expr.parts) list.push_back(json_of(part));
      return list;
    }
    case Form::map: {
      Json object = Json::object();
      for (std::size_t i = 0; i < expr.parts.size(); i += 2) {
        const Expr& key = expr.parts[i];
        if (key.form != Form::text) fail_at(lexer_.file(), key.at, "expected the name of a field as a string");
        if (object.contains(key.text)) fail_at(lexer_.file(), key.at, "the key \"{}\" occurs twice", shown(key.text));
        object[key.text] = json_of(expr.parts[i + 1]);
      }
      return object;
    }
    default: break;
  }
  fail_at(lexer_.file(), expr.at, "the input of a case consists of literals only");
}

Expectation Parser::expectation() {
  if (take_word("permit")) return Expectation::permit;
  if (take_word("deny")) return Expectation::deny;
  if (take_word("error")) return Expectation::error;
  expected("'permit', 'deny' or 'error'");
}

CaseSyntax Parser::test_case() {
  CaseSyntax test;
  SyntaxName title = text("the name of the case as a string");
  test.name = std::move(title.text);
  test.at = title.at;
  need_word("on");
  test.hook = name("the name of a hook");
  need_word("with");
  const Expr input = expression();
  if (input.form != Form::map) fail_at(lexer_.file(), input.at, "expected the input as {{\"FIELD\": VALUE, ...}}");
  test.input = json_of(input);
  need_word("expect");
  test.expectation = expectation();
  if (take_word("by")) test.rule = name("the name of a rule");
  need(";");
  return test;
}

PolicySyntax Parser::policy() {
  PolicySyntax policy;
  need_word("policy");
  policy.name = text("the name of the policy as a string").text;
  need_word("serial");
  policy.serial = serial();
  if (take_word("until")) policy.until = text("a time as a string, \"2027-06-30T00:00:00Z\"");
  need(";");
  while (token_.kind != TokenKind::end) {
    if (take_word("const")) {
      policy.constants.push_back(constant());
    } else if (token_.is_word("permit") || token_.is_word("forbid")) {
      policy.rules.push_back(rule(take().text == "permit"));
    } else if (take_word("case")) {
      policy.cases.push_back(test_case());
    } else {
      expected("'const', 'permit', 'forbid' or 'case'");
    }
    if (policy.rules.size() > kMaxRules) fail(Code::limit, "{}: more than {} rules", lexer_.file(), kMaxRules);
  }
  return policy;
}

}  // namespace

PolicySyntax parse_policy(std::string_view text, std::string_view file) {
  if (text.size() > kMaxPolicyBytes) {
    fail(Code::limit, "{}: {} bytes, but a policy has at most {}", file, text.size(), kMaxPolicyBytes);
  }
  return Parser(text, file).policy();
}

Expr parse_expression(std::string_view text, std::string_view file) { return Parser(text, file).whole_expression(); }

std::string text_of(const Expr& expr) {
  std::string inside;
  for (const Expr& part : expr.parts) inside += fmt::format("{}{}", inside.empty() ? "" : " ", text_of(part));
  switch (expr.form) {
    case Form::boolean: return expr.boolean ? "true" : "false";
    case Form::integer: return fmt::format("{}", expr.integer);
    case Form::real: return fmt::format("{}d", expr.real);
    case Form::text: return Json(expr.text).dump();
    case Form::name: return expr.text;
    default: return fmt::format("({} {} {})", static_cast<int>(expr.form), expr.text, inside);
  }
}

}  // namespace frazil::govern
