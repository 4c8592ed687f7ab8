#include "server/pipeline/expression.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <stdexcept>
#include <vector>

#include "server/core/json_text.h"

namespace frazil::server {

/// A node of the formula: a constant, a parameter, or a function of values or of a tensor.
struct Expression::Term {
  using Apply = std::function<Scalar(const Term&, const Values&)>;
  Apply apply;
  std::vector<std::shared_ptr<const Term>> operands = {};
  Scalar constant = 0.0;  ///< also a parameter's default
  std::string name = {};  ///< name of the function or the parameter
  std::size_t tensor = 0;
};

namespace {

using Term = Expression::Term;
using Values = Expression::Values;
using TermPtr = std::shared_ptr<const Term>;

constexpr std::size_t kMaxExpressionDepth = 64;

double number(const Scalar& scalar) {
  if (const auto* value = std::get_if<double>(&scalar)) return *value;
  throw Refusal(Http::bad_request, "the text '" + std::get<std::string>(scalar) + "' is not a number");
}

bool is_true(const Scalar& scalar) {
  if (const auto* value = std::get_if<double>(&scalar)) return *value != 0;
  return !std::get<std::string>(scalar).empty();
}

Scalar evaluate(const TermPtr& node, const Values& values) { return node->apply(*node, values); }
double evaluate_number(const TermPtr& node, const Values& values) { return number(evaluate(node, values)); }

// ---- functions of a tensor ----

double fold(const api::Array& tensor, const std::string& name, double start, double (*step)(double, double)) {
  if (tensor.count() == 0) throw Refusal(Http::bad_request, name + " of a tensor without elements");
  double folded = start;
  for (std::int64_t i = 0; i < tensor.count(); ++i) folded = step(folded, tensor.number(i));
  return folded;
}

double sum_of(const api::Array& tensor) {
  double sum = 0;
  for (std::int64_t i = 0; i < tensor.count(); ++i) sum += tensor.number(i);
  return sum;
}

double nonzero(const api::Array& tensor) {
  double count = 0;
  for (std::int64_t i = 0; i < tensor.count(); ++i) count += tensor.number(i) != 0 ? 1 : 0;
  return count;
}

double argmax_of(const api::Array& tensor) {
  if (tensor.count() == 0) throw Refusal(Http::bad_request, "argmax of a tensor without elements");
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < tensor.count(); ++i) {
    if (tensor.number(i) > tensor.number(best)) best = i;
  }
  return static_cast<double>(best);
}

struct Reduction {
  std::string_view name;
  double (*apply)(const api::Array&);
};

constexpr Reduction kReductions[] = {
    {"max",
     [](const api::Array& t) {
       return fold(t, "max", t.count() == 0 ? 0 : t.number(0), [](double a, double b) { return std::max(a, b); });
     }},
    {"min",
     [](const api::Array& t) {
       return fold(t, "min", t.count() == 0 ? 0 : t.number(0), [](double a, double b) { return std::min(a, b); });
     }},
    {"mean",
     [](const api::Array& t) {
       return fold(t, "mean", 0, [](double a, double b) { return a + b; }) / static_cast<double>(t.count());
     }},
    {"sum", sum_of},
    {"argmax", argmax_of},
    {"count", nonzero},
    {"any", [](const api::Array& t) { return nonzero(t) > 0 ? 1.0 : 0.0; }},
    {"all", [](const api::Array& t) { return nonzero(t) == static_cast<double>(t.count()) ? 1.0 : 0.0; }},
    {"item",
     [](const api::Array& t) {
       if (t.count() == 1) return t.number(0);
       throw Refusal(Http::bad_request, "item of a tensor with " + std::to_string(t.count()) + " elements");
     }},
};

const api::Array& operand_tensor(const Term& node, const Values& values) {
  const api::Array& tensor = values.tensor(node.tensor);
  const bool numbers = tensor.is_tensor() && tensor.dtype() != api::Dtype::string;
  if (!numbers) throw Refusal(Http::bad_request, node.name + ": the value is not a tensor of numbers");
  return tensor;
}

Scalar size_of(const Term& node, const Values& values) {
  const api::Sizes& sizes = operand_tensor(node, values).sizes();
  const double axis = evaluate_number(node.operands.front(), values);
  if (axis < 0 || axis >= static_cast<double>(sizes.size())) {
    throw Refusal(Http::bad_request, "size: the tensor has no axis " + text_of(Scalar(axis)));
  }
  return static_cast<double>(sizes[static_cast<std::size_t>(axis)]);
}

Scalar parameter_scalar(const Term& node, const Values& values) {
  const auto at = values.parameters->find(node.name);
  if (at == values.parameters->end()) return node.constant;
  if (const auto* truth = std::get_if<bool>(&at->second)) return *truth ? 1.0 : 0.0;
  if (const auto* integer = std::get_if<std::int64_t>(&at->second)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&at->second)) return *real;
  return std::get<std::string>(at->second);
}

// ---- operators ----

struct Operator {
  std::string_view text;
  int level;  ///< precedence; higher levels bind more tightly
  Term::Apply apply;
};

template <class F>
Term::Apply compare(F f) {
  return [f](const Term& node, const Values& values) -> Scalar {
    const Scalar a = evaluate(node.operands[0], values), b = evaluate(node.operands[1], values);
    if (a.index() != b.index()) throw Refusal(Http::bad_request, "a text is compared with a number");
    return f(a, b) ? 1.0 : 0.0;
  };
}

template <class F>
Term::Apply arithmetic(F f) {
  return [f](const Term& node, const Values& values) -> Scalar {
    return f(evaluate_number(node.operands[0], values), evaluate_number(node.operands[1], values));
  };
}

const std::vector<Operator>& operators() {
  static const std::vector<Operator> list = {
      {"or", 1,
       [](const Term& n, const Values& v) -> Scalar {
         return is_true(evaluate(n.operands[0], v)) || is_true(evaluate(n.operands[1], v)) ? 1.0 : 0.0;
       }},
      {"and", 2,
       [](const Term& n, const Values& v) -> Scalar {
         return is_true(evaluate(n.operands[0], v)) && is_true(evaluate(n.operands[1], v)) ? 1.0 : 0.0;
       }},
      {"==", 3, compare(std::equal_to<>())},
      {"!=", 3, compare(std::not_equal_to<>())},
      {"<=", 3, compare(std::less_equal<>())},
      {">=", 3, compare(std::greater_equal<>())},
      {"<", 3, compare(std::less<>())},
      {">", 3, compare(std::greater<>())},
      {"+", 4, arithmetic(std::plus<>())},
      {"-", 4, arithmetic(std::minus<>())},
      {"*", 5, arithmetic(std::multiplies<>())},
      {"/", 5, arithmetic(std::divides<>())},
  };
  return list;
}

constexpr int kNegation = 3;  // "not a == b" is not (a == b)

// ---- parser ----

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const Expression::Find& find) : text_(text), find_(find) {}

  TermPtr read() {
    TermPtr root = binary(1, 0);
    skip();
    if (at_ != text_.size()) fail("expected an operator");
    return root;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::invalid_argument("column " + std::to_string(at_ + 1) + ": " + why);
  }

  static bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    const std::size_t end = at_ + token.size();
    if (in_word(token.back()) && end < text_.size() && in_word(text_[end])) return false;
    at_ = end;
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail("expected '" + std::string(token) + "'");
  }

  TermPtr binary(int level, std::size_t depth) {
    if (depth > kMaxExpressionDepth) fail("nested too deeply");
    TermPtr left = unary(depth);
    for (;;) {
      const auto next =
          std::ranges::find_if(operators(), [&](const Operator& o) { return o.level >= level && take(o.text); });
      if (next == operators().end()) return left;
      left = std::make_shared<Term>(Term{.apply = next->apply, .operands = {left, binary(next->level + 1, depth + 1)}});
    }
  }

  TermPtr unary(std::size_t depth) {
    if (depth > kMaxExpressionDepth) fail("nested too deeply");
    if (take("not")) {
      return std::make_shared<Term>(Term{.apply = [](const Term& n, const Values& v) -> Scalar {
                                           return is_true(evaluate(n.operands[0], v)) ? 0.0 : 1.0;
                                         },
                                         .operands = {binary(kNegation, depth + 1)}});
    }
    if (take("-")) {
      return std::make_shared<Term>(
          Term{.apply = [](const Term& n, const Values& v) -> Scalar { return -evaluate_number(n.operands[0], v); },
               .operands = {unary(depth + 1)}});
    }
    if (take("(")) {
      TermPtr inner = binary(1, depth + 1);
      expect(")");
      return inner;
    }
    return atom(depth);
  }

  TermPtr atom(std::size_t depth) {
    skip();
    if (at_ == text_.size()) fail("the formula ends too early");
    if (text_[at_] == '"' || text_[at_] == '\'') return constant(quoted());
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) return constant(digits());
    const std::string name = word();
    if (name == "true" || name == "false") return constant(name == "true" ? 1.0 : 0.0);
    expect("(");
    TermPtr node = name == "param" ? parameter() : function(name, depth);
    expect(")");
    return node;
  }

  TermPtr parameter() {
    const std::string name = quoted();
    expect(",");
    skip();
    Scalar standard = 0.0;
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\''))
      standard = quoted();
    else
      standard = digits();
    return std::make_shared<Term>(Term{.apply = parameter_scalar, .constant = standard, .name = name});
  }

  TermPtr function(const std::string& name, std::size_t depth) {
    const bool size = name == "size";
    const auto reduction = std::ranges::find(kReductions, name, &Reduction::name);
    if (!size && reduction == std::end(kReductions)) fail("there is no function '" + name + "'");
    const std::string of = word();
    const auto tensor = find_(of);
    if (!tensor) fail("there is no value '" + of + "'");
    Term node{.apply = size_of, .name = name + "(" + of + ")", .tensor = *tensor};
    if (size) {
      expect(",");
      node.operands.push_back(binary(1, depth + 1));
    } else {
      node.apply = [apply = reduction->apply](const Term& n, const Values& v) -> Scalar {
        return apply(operand_tensor(n, v));
      };
    }
    return std::make_shared<Term>(std::move(node));
  }

  static TermPtr constant(Scalar value) {
    return std::make_shared<Term>(
        Term{.apply = [](const Term& n, const Values&) { return n.constant; }, .constant = std::move(value)});
  }

  std::string word() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    if (begin == at_) fail("expected a name or a number");
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '"' && quote != '\'') fail("expected a text in quotes");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("the text has no end");
    std::string inner(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return inner;
  }

  double digits() {
    double value = 0;
    const char* const begin = text_.data() + at_;
    const auto parsed = std::from_chars(begin, text_.data() + text_.size(), value);
    if (parsed.ec != std::errc()) fail("expected a number");
    at_ += static_cast<std::size_t>(parsed.ptr - begin);
    return value;
  }

  std::string_view text_;
  const Expression::Find& find_;
  std::size_t at_ = 0;
};

}  // namespace

std::string text_of(const Scalar& scalar) {
  if (const auto* text = std::get_if<std::string>(&scalar)) return *text;
  std::string text;
  append_number(text, std::get<double>(scalar));
  return text;
}

Expression Expression::parse(std::string_view text, const Find& find) {
  return {std::string(text), ExpressionParser(text, find).read()};
}

Scalar Expression::value(const Values& values) const { return evaluate(root_, values); }

Scalar Expression::subject(const Values& values) const {
  const bool comparison = root_->name.empty() && root_->operands.size() == 2;
  return evaluate(comparison ? root_->operands.front() : root_, values);
}

bool Expression::is_true_for(const Values& values) const { return is_true(value(values)); }

}  // namespace frazil::server
