#include "ir/text/text_lexer.h"

#include <algorithm>

#include "base/value/text.h"
#include "sym/name.h"

namespace frazil {
namespace {

constexpr std::size_t kMaxText = std::size_t{64} << 20;
constexpr std::size_t kMaxTokens = std::size_t{1} << 24;
constexpr std::size_t kShown = 24;

}  // namespace

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text), out_(text) {}

  Result<Tokens> run() {
    if (text_.size() > kMaxText)
      return fail(Code::limit, "a text of {} bytes is longer than {}", text_.size(), kMaxText);
    for (skip(); at_ < text_.size(); skip()) FRAZIL_CHECK(token());
    if (!open_.empty())
      return error(tokens()[open_.back()].begin, "'{}' is never closed", text_[tokens()[open_.back()].begin]);
    push(Token::Kind::end, at_);
    return std::move(out_);
  }

 private:
  std::vector<Token>& tokens() { return out_.tokens_; }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  template <class... A>
  std::unexpected<Fault> error(std::size_t at, fmt::format_string<A...> format, A&&... args) const {
    return fail(Code::bad_model, "{}{}", out_.where(at), fmt::format(format, std::forward<A>(args)...));
  }

  void skip() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == ';') {
        at_ = std::min(text_.find('\n', at_), text_.size() - 1);
      } else if (!std::string_view(" \t\r\n").contains(text_[at_])) {
        return;
      }
    }
  }

  void push(Token::Kind kind, std::size_t end) {
    tokens().push_back({kind, static_cast<std::uint32_t>(at_), static_cast<std::uint32_t>(end), 0});
    at_ = end;
  }

  Status token() {
    if (tokens().size() >= kMaxTokens) return fail(Code::limit, "{}more than {} tokens", out_.where(at_), kMaxTokens);
    const char c = peek();
    if (c == '"') return delimited(Token::Kind::string, at_);
    if (c == '`') return delimited(Token::Kind::symbol, at_);
    if (c == '%') return name(Token::Kind::value);
    if (c == '@') return name(Token::Kind::weight);
    if (is_name_char(c) || (c == '-' && is_name_char(peek(1)))) return word();
    if (std::string_view("()[]{}").contains(c)) return bracket(c);
    if (!std::string_view(",:=<>+-*").contains(c)) {
      return error(at_, "unexpected '{}'", printable(text_.substr(at_, 1), kShown));
    }
    push(Token::Kind::punct, at_ + 1);
    return {};
  }

  Status delimited(Token::Kind kind, std::size_t quote) {
    std::size_t end = quote + 1;
    for (; end < text_.size() && text_[end] != text_[quote] && text_[end] != '\n'; ++end) end += text_[end] == '\\';
    if (end >= text_.size() || text_[end] != text_[quote]) return error(quote, "a closing {} is missing", text_[quote]);
    push(kind, end + 1);
    return {};
  }

  Status name(Token::Kind kind) {
    if (peek(1) == '"') return delimited(kind, at_ + 1);
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_name_char(text_[end])) ++end;
    if (end == at_ + 1) return error(at_, "a name is missing after '{}'", peek());
    push(kind, end);
    return {};
  }

  /// Reads a name, keyword or number: a run of characters that may include the sign of an exponent.
  Status word() {
    std::size_t end = at_ + 1;
    const char first = peek() == '-' ? peek(1) : peek();
    const bool number = sym::is_digit(first) && peek(1) != 'x';
    const auto sign = [&](char c) {
      return number && (c == '+' || c == '-') && (text_[end - 1] == 'e' || text_[end - 1] == 'E');
    };
    while (end < text_.size() && (is_name_char(text_[end]) || sign(text_[end]))) ++end;
    push(Token::Kind::word, end);
    return {};
  }

  Status bracket(char c) {
    const auto id = static_cast<std::uint32_t>(tokens().size());
    push(Token::Kind::punct, at_ + 1);
    if (std::string_view("([{").contains(c)) {
      open_.push_back(id);
      return {};
    }
    const char opener = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (open_.empty() || text_[tokens()[open_.back()].begin] != opener) {
      return error(tokens()[id].begin, "'{}' has no opening bracket", c);
    }
    tokens()[id].match = open_.back();
    tokens()[open_.back()].match = id;
    open_.pop_back();
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Tokens out_;
  std::vector<std::uint32_t> open_;
};

Result<Tokens> Tokens::read(std::string_view text) { return Lexer(text).run(); }

bool Tokens::is(std::string_view text, std::size_t ahead) const {
  const Token& t = peek(ahead);
  return (t.kind == Token::Kind::punct || t.kind == Token::Kind::word) && str(t) == text;
}

bool Tokens::take(std::string_view text) {
  if (!is(text)) return false;
  next();
  return true;
}

Status Tokens::expect(std::string_view text) {
  if (take(text)) return {};
  return expected(fmt::format("'{}'", text));
}

std::string Tokens::where(std::size_t offset) const {
  const std::string_view before = text_.substr(0, offset);
  const std::size_t line = before.rfind('\n');
  return fmt::format("line {}, column {}: ", std::ranges::count(before, '\n') + 1,
                     offset - (line == before.npos ? 0 : line + 1) + 1);
}

std::string Tokens::plain(std::string_view message) { return printable(message); }

std::unexpected<Fault> Tokens::expected(std::string_view what) const {
  if (peek().kind == Token::Kind::end) return error(peek(), "expected {}, got the end", what);
  return error(peek(), "expected {}, got '{}'", what, printable(str(peek()), kShown));
}

}  // namespace frazil
