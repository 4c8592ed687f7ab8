#include "server/pipeline/formula.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <span>
#include <stdexcept>

#include "server/pipeline/formula_parts.h"

namespace frazil::server {
namespace {

using Part = Formula::Part;
using PartPtr = std::shared_ptr<const Part>;
using PartKind = Part::Kind;
using Type = Part::Type;

constexpr std::size_t kMaxFormulaDepth = 64;
constexpr int kNegation = 3;  // "not a == b" is not (a == b)

class FormulaParser {
 public:
  FormulaParser(std::string_view text, const Formula::Find& find, std::vector<Slot>& reads)
      : text_(text), find_(find), reads_(reads) {}

  PartPtr read() {
    PartPtr root = binary(1, 0);
    skip();
    if (at_ != text_.size()) fail("expected an operator");
    return root;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { fail_at(at_, why); }
  [[noreturn]] static void fail_at(std::size_t at, const std::string& why) {
    throw std::invalid_argument("column " + std::to_string(at + 1) + ": " + why);
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

  PartPtr binary(int level, std::size_t depth) {
    if (depth > kMaxFormulaDepth) fail("nested too deeply");
    PartPtr left = unary(depth);
    for (;;) {
      skip();
      const std::size_t at = at_;
      const auto next =
          std::ranges::find_if(binary_operators(), [&](const auto& o) { return o.level >= level && take(o.text); });
      if (next == binary_operators().end()) return left;
      left = joined(at, *next, left, binary(next->level + 1, depth + 1));
    }
  }

  static PartPtr joined(std::size_t at, const BinaryOperator& by, PartPtr left, PartPtr right) {
    const bool text = left->type == Type::text, other = right->type == Type::text;
    if (by.group == BinaryOperator::Group::comparison) {
      if (text != other) fail_at(at, "a text is compared with a number");
      if (text && !by.takes_texts) fail_at(at, "texts are compared by == and != only");
    } else if (by.group == BinaryOperator::Group::arithmetic && (text || other)) {
      fail_at(at, "'" + std::string(by.text) + "' needs numbers, not a text");
    }
    const Type type = by.group == BinaryOperator::Group::arithmetic ? Type::number : Type::truth;
    return std::make_shared<Part>(
        Part{.kind = PartKind::binary, .type = type, .operands = {std::move(left), std::move(right)}, .by = &by});
  }

  PartPtr unary(std::size_t depth) {
    if (depth > kMaxFormulaDepth) fail("nested too deeply");
    if (take("not")) {
      return std::make_shared<Part>(
          Part{.kind = PartKind::invert, .type = Type::truth, .operands = {binary(kNegation, depth + 1)}});
    }
    if (take("-")) {
      const std::size_t at = at_;
      PartPtr of = unary(depth + 1);
      if (of->type == Type::text) fail_at(at, "'-' needs a number, not a text");
      return std::make_shared<Part>(Part{.kind = PartKind::negate, .operands = {std::move(of)}});
    }
    if (take("(")) {
      PartPtr inner = binary(1, depth + 1);
      expect(")");
      return inner;
    }
    return atom(depth);
  }

  PartPtr atom(std::size_t depth) {
    skip();
    if (at_ == text_.size()) fail("the formula ends too early");
    if (is_quote()) return text_part(quoted());
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) return number_part(digits());
    const std::string name = word();
    if (name == "true" || name == "false") return number_part(name == "true" ? 1.0 : 0.0);
    expect("(");
    PartPtr made = name == "param" ? parameter() : function(name, depth);
    expect(")");
    return made;
  }

  PartPtr parameter() {
    const std::string name = quoted();
    expect(",");
    skip();
    const PartPtr otherwise = is_quote() ? text_part(quoted()) : number_part(digits());
    return std::make_shared<Part>(
        Part{.kind = PartKind::parameter, .type = otherwise->type, .operands = {otherwise}, .text = name});
  }

  PartPtr function(const std::string& name, std::size_t depth) {
    const bool size = name == "size";
    if (!size && !is_reduction(name)) fail("there is no function '" + name + "'");
    const std::string of = word();
    const auto tensor = find_(of);
    if (!tensor) fail("there is no value '" + of + "'");
    if (tensor->dtype == api::Dtype::string) fail("'" + of + "' is a tensor of texts, not of numbers");
    add_slots(reads_, {*tensor});
    Part made{.kind = size ? PartKind::size : PartKind::reduction, .text = name, .of = of, .slot = *tensor};
    if (size) {
      expect(",");
      made.operands.push_back(binary(1, depth + 1));
      if (made.operands.front()->type == Type::text) fail("the axis is a text: expected a number");
    }
    return std::make_shared<Part>(std::move(made));
  }

  static PartPtr number_part(double value) {
    return std::make_shared<Part>(Part{.kind = PartKind::number, .number = value});
  }
  static PartPtr text_part(std::string value) {
    return std::make_shared<Part>(Part{.kind = PartKind::text, .type = Type::text, .text = std::move(value)});
  }

  bool is_quote() const { return at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\''); }

  std::string word() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    if (begin == at_) fail("expected a name or a number");
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted() {
    skip();
    if (!is_quote()) fail("expected a text in quotes");
    const std::size_t end = text_.find(text_[at_], at_ + 1);
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
  const Formula::Find& find_;
  std::vector<Slot>& reads_;
  std::size_t at_ = 0;
};

void collect_parameters(const Part& part, std::vector<std::string>& names) {
  if (part.kind == PartKind::parameter && std::ranges::find(names, part.text) == names.end()) {
    names.push_back(part.text);
  }
  for (const PartPtr& operand : part.operands) collect_parameters(*operand, names);
}

}  // namespace

Formula Formula::parse(std::string_view text, const Find& find) {
  Formula formula;
  formula.text_ = text;
  formula.root_ = FormulaParser(text, find, formula.reads_).read();
  collect_parameters(*formula.root_, formula.parameters_);
  return formula;
}

bool Formula::is_text() const { return root_->type == Type::text; }
namespace {

void add_uses(const Formula::Part& part, std::vector<Formula::Use>& uses) {
  using Kind = Formula::Part::Kind;
  if (part.kind == Kind::parameter) uses.push_back({.function = {}, .of = part.text});
  if (part.kind == Kind::reduction) uses.push_back({.function = part.text, .of = part.of, .slot = part.slot});
  for (const auto& operand : part.operands) add_uses(*operand, uses);
}

}  // namespace

std::vector<Formula::Use> Formula::uses() const {
  std::vector<Use> uses;
  add_uses(*root_, uses);
  return uses;
}

const std::vector<BinaryOperator>& binary_operators() {
  using enum BinaryOperator::Group;
  static const std::vector<BinaryOperator> list = {
      {"or", 1, logic, "Or"},
      {"and", 2, logic, "And"},
      {"==", 3, comparison, "Equal", true},
      {"!=", 3, comparison, "Equal", true, true},
      {"<=", 3, comparison, "LessOrEqual"},
      {">=", 3, comparison, "GreaterOrEqual"},
      {"<", 3, comparison, "Less"},
      {">", 3, comparison, "Greater"},
      {"+", 4, arithmetic, "Add"},
      {"-", 4, arithmetic, "Sub"},
      {"*", 5, arithmetic, "Mul"},
      {"/", 5, arithmetic, "Div"},
  };
  return list;
}

}  // namespace frazil::server
