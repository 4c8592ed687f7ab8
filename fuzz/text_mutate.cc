#include "text_mutate.h"

#include <functional>
#include <vector>

#include "base/value/elem.h"
#include "vocabulary.h"

namespace frazil::fuzz {
namespace {

enum class Kind : std::uint8_t { blank, word, number, value, weight, string, punct };

struct Token {
  Kind kind;
  std::string text;
};
using Tokens = std::vector<Token>;
using Lines = std::vector<Tokens>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || std::string_view("_.$/?").contains(c);
}

std::size_t end_of_token(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  const auto quoted = [&](std::size_t from) {
    for (end = from; end < text.size() && text[end] != '"' && text[end] != '\n'; ++end) continue;
    return std::min(end + 1, text.size());
  };
  if (text[at] == '"') return quoted(at + 1);
  if ((text[at] == '%' || text[at] == '@') && end < text.size() && text[end] == '"') return quoted(end + 1);
  if (text[at] != '%' && text[at] != '@' && text[at] != '-' && !is_name(text[at])) return end;
  while (end < text.size() && is_name(text[end])) ++end;
  return end;
}

Kind kind_of(std::string_view token) {
  const char c = token[0];
  if (c == ' ') return Kind::blank;
  if (c == '"') return Kind::string;
  if (c == '%') return Kind::value;
  if (c == '@') return Kind::weight;
  if (is_digit(c) || (c == '-' && token.size() > 1)) return Kind::number;
  return is_name(c) ? Kind::word : Kind::punct;
}

Lines read_lines(std::string_view text) {
  Lines lines(1);
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      lines.emplace_back();
      ++at;
      continue;
    }
    const std::size_t end = end_of_token(text, at);
    const std::string_view token = text.substr(at, end - at);
    lines.back().push_back({kind_of(token), std::string(token)});
    at = end;
  }
  return lines;
}

std::string write_lines(const Lines& lines) {
  std::string text;
  for (const Tokens& line : lines) {
    if (&line != lines.data()) text += '\n';
    for (const Token& t : line) text += t.text;
  }
  return text;
}

std::string elem_name(Choices& c) { return std::string(name_of(static_cast<Elem>(c.below(kElemCount)))); }

/// One change of a text.
class Change {
 public:
  Change(Lines& lines, const Lines& other, Choices& choices) : lines_(lines), other_(other), c_(choices) {}

  void apply() {
    switch (c_.weighted({25, 25, 6, 6, 6, 6, 6, 16, 10})) {
      case 0: return replace_alike();
      case 1: return replace_by_word();
      case 2: return drop_token();
      case 3: return double_token();
      case 4: return drop_line();
      case 5: return move_line();
      case 6: return take_line();
      case 7: return add_node();
      default: return drop_types();
    }
  }

 private:
  Tokens* some_line() {
    for (int tries = 0; tries < 8; ++tries) {
      Tokens& line = lines_[c_.below(lines_.size())];
      if (!line.empty()) return &line;
    }
    return nullptr;
  }
  Token* some_token() {
    Tokens* line = some_line();
    return line == nullptr ? nullptr : &(*line)[c_.below(line->size())];
  }
  const Token* alike(const Lines& lines, Kind kind) {
    std::vector<const Token*> fit;
    for (const Tokens& line : lines) {
      for (const Token& t : line) {
        if (t.kind == kind) fit.push_back(&t);
      }
    }
    return fit.empty() ? nullptr : c_.pick(fit);
  }

  void replace_alike() {
    Token* token = some_token();
    if (token == nullptr || token->kind == Kind::blank) return;
    const Token* from = alike(c_.chance(80) ? lines_ : other_, token->kind);
    if (from != nullptr) token->text = std::string(from->text);
  }
  void replace_by_word() {
    Token* token = some_token();
    if (token == nullptr) return;
    switch (token->kind) {
      case Kind::word: token->text = word(); break;
      case Kind::number:
        token->text = c_.chance(70) ? std::to_string(some_integer(c_)) : fmt::format("{}", some_real(c_));
        break;
      case Kind::string: token->text = '"' + c_.pick(attribute_texts()) + '"'; break;
      case Kind::value: token->text = c_.chance(50) ? "%" + std::to_string(c_.below(9)) : "_"; break;
      case Kind::punct:
        token->text = c_.pick({",", ":", "=", "(", ")", "[", "]", "{", "}", "+", "-", "*", "<", ">"});
        break;
      default: break;
    }
  }
  std::string word() {
    switch (c_.weighted({35, 20, 20, 15, 10})) {
      case 0: return some_operator(c_);
      case 1: return elem_name(c_);
      case 2: return c_.pick(attribute_names());
      case 3: return c_.pick({"N", "M", "?0", "?1", "max(N, 2)", "floordiv(N, 2)", "mod(N, M)", "N*M", "..."});
      default:
        return c_.pick({"true", "false", "inf", "nan", "0x7fc00001", "_", "seq", "opt", "map", "dim", "graph", "return",
                        "yield", "assume", "in", "body", "then_branch", "else_branch"});
    }
  }
  void drop_token() {
    Tokens* line = some_line();
    if (line != nullptr) line->erase(line->begin() + static_cast<std::ptrdiff_t>(c_.below(line->size())));
  }
  void double_token() {
    Tokens* line = some_line();
    if (line == nullptr) return;
    const std::size_t at = c_.below(line->size());
    const Token copy = (*line)[at];
    line->insert(line->begin() + static_cast<std::ptrdiff_t>(at), copy);
  }

  void drop_line() {
    if (lines_.size() > 1) lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(c_.below(lines_.size())));
  }
  void insert(Tokens line) {
    lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(c_.below(lines_.size() + 1)), std::move(line));
  }
  void move_line() {
    const std::size_t at = c_.below(lines_.size());
    Tokens line = lines_[at];
    if (c_.chance(70)) lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(at));
    insert(std::move(line));
  }
  void take_line() { insert(Tokens(other_[c_.below(other_.size())])); }

  /// Types may be left out: those that a change made wrong are not in its way.
  void drop_types() {
    for (Tokens& line : lines_) {
      const std::string text = write_lines({line});
      const std::size_t equals = text.find(" = ");
      const std::size_t first = text.find_first_not_of(' ');
      if (equals == text.npos || first == text.npos || text[first] != '%') continue;
      std::string results;
      for (std::size_t at = text.find('%'); at < equals; at = text.find('%', at + 1)) {
        results += (results.empty() ? "" : ", ") + text.substr(at, end_of_token(text, at) - at);
      }
      line = read_lines(std::string(first, ' ') + results + text.substr(equals))[0];
    }
  }

  // ---- a node that was not there ----

  std::string operand() {
    if (c_.chance(25)) return literal();
    const Token* value = alike(lines_, Kind::value);
    return value == nullptr ? "_" : value->text;
  }
  std::string literal() {
    if (c_.chance(40)) return fmt::format("{}[{}] {}", elem_name(c_), c_.below(4), c_.below(3));
    const std::size_t count = c_.below(4);
    return fmt::format("i64[{}] {}", count, integers(count));
  }
  std::string integers(std::size_t count) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(c_.chance(80) ? c_.between(-1, 4) : some_integer(c_));
    }
    return text + "]";
  }
  std::string attribute(const AttrField& field) {
    switch (field.kind) {
      case AttrKind::integer: return std::to_string(c_.chance(70) ? c_.between(-1, 3) : some_integer(c_));
      case AttrKind::real: return fmt::format("{:.3}", some_real(c_));
      case AttrKind::string: return '"' + c_.pick(attribute_texts()) + '"';
      case AttrKind::integers: return integers(c_.below(5));
      case AttrKind::reals: return fmt::format("[{:.3}, {:.3}]", some_real(c_), some_real(c_));
      case AttrKind::strings: return "[\"" + c_.pick(attribute_texts()) + "\"]";
      case AttrKind::tensor: return literal();
    }
    return "0";
  }
  std::string operands(const OpDef& op) {
    std::string text;
    for (const Port& port : op.inputs) {
      const bool given = port.use == Port::Use::required || c_.chance(60);
      const std::size_t times = port.use == Port::Use::variadic ? c_.below(4) : 1;
      for (std::size_t i = 0; i < times; ++i) text += (text.empty() ? "" : ", ") + (given ? operand() : "_");
    }
    return text;
  }
  void add_node() {
    const OpDef& op = *c_.pick(operators());
    std::string text = "  ";
    for (std::size_t i = 0; i < std::max<std::size_t>(1, op.outputs.size()); ++i) {
      text += fmt::format("{}%w{}", i == 0 ? "" : ", ", c_.below(100));
    }
    text += fmt::format(" = {}{}{}({})", op.domain, op.domain.empty() ? "" : "::", op.name, operands(op));
    std::string attrs;
    for (const AttrField& field : op.attrs.fields) {
      if (!field.required && c_.chance(60)) continue;
      attrs += fmt::format("{}{} = {}", attrs.empty() ? "" : ", ", field.name, attribute(field));
    }
    if (!attrs.empty()) text += " {" + attrs + "}";
    insert(read_lines(text)[0]);
  }

  Lines& lines_;
  const Lines& other_;
  Choices& c_;
};

}  // namespace

std::string mutate_text(std::string_view text, std::string_view other, Choices& choices) {
  Lines lines = read_lines(text);
  const Lines donor = read_lines(other);
  for (std::size_t changes = 1 + choices.below(4); changes > 0; --changes) {
    Change(lines, donor, choices).apply();
    if (lines.empty()) lines.emplace_back();
  }
  return write_lines(lines);
}

}  // namespace frazil::fuzz
