#include "govern/policy/lexer.h"

#include <charconv>

namespace frazil::govern {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

int digit_of(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

bool is_utf8_text(std::string_view text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

void append_utf8(std::string& to, std::uint32_t code) {
  const auto byte = [&](std::uint32_t bits) { to += static_cast<char>(bits); };
  const auto tail = [&](int shift) { byte(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xc0 | code >> 6);
    return tail(0);
  }
  if (code < 0x10000) {
    byte(0xe0 | code >> 12);
  } else {
    byte(0xf0 | code >> 18);
    tail(12);
  }
  tail(6);
  tail(0);
}

}  // namespace

std::string Token::shown() const {
  switch (kind) {
    case TokenKind::end: return "the end of the file";
    case TokenKind::text: return "a string";
    case TokenKind::integer:
    case TokenKind::real: return "a number";
    case TokenKind::name:
    case TokenKind::symbol: break;
  }
  return fmt::format("'{}'", text);
}

Lexer::Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {
  if (!is_utf8_text(text)) fail(Code::bad_input, "{}: the text is not UTF-8", file);
}

void Lexer::advance() {
  place_.column += 1;
  if (text_[at_++] == '\n') place_ = {place_.line + 1, 1};
}

void Lexer::skip_space() {
  while (at_ < text_.size()) {
    const char c = peek();
    if (c == '/' && peek(1) == '/') {
      while (at_ < text_.size() && peek() != '\n') advance();
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
      advance();
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  skip_space();
  Token token;
  token.at = place_;
  if (at_ >= text_.size()) return token;
  const char c = peek();
  if ((c == 'r' || c == 'R') && (peek(1) == '"' || peek(1) == '\'')) {
    advance();
    return literal(std::move(token), true);
  }
  if (is_letter(c)) return name(std::move(token));
  if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number(std::move(token));
  if (c == '"' || c == '\'') return literal(std::move(token), false);
  return symbol(std::move(token));
}

Token Lexer::name(Token token) {
  token.kind = TokenKind::name;
  while (is_letter(peek()) || is_digit(peek())) {
    token.text += peek();
    advance();
  }
  return token;
}

Token Lexer::number(Token token) {
  const bool hex = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X');
  std::size_t end = at_ + (hex ? 2 : 0);
  bool real = false;
  const auto digits = [&] {
    while (end < text_.size() && (hex ? digit_of(text_[end]) < 16 : is_digit(text_[end]))) ++end;
  };
  const auto is_digit_at = [&](std::size_t at) { return at < text_.size() && is_digit(text_[at]); };
  digits();
  if (!hex && end < text_.size() && text_[end] == '.' && is_digit_at(end + 1)) {
    real = true;
    ++end;
    digits();
  }
  if (!hex && end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    const std::size_t sign = end + 1 < text_.size() && (text_[end + 1] == '+' || text_[end + 1] == '-') ? 2 : 1;
    if (!is_digit_at(end + sign)) fail_at(file_, token.at, "a number has an exponent without digits");
    real = true;
    end += sign;
    digits();
  }
  const char* const first = text_.data() + at_ + (hex ? 2 : 0);
  const char* const last = text_.data() + end;
  token.kind = real ? TokenKind::real : TokenKind::integer;
  const auto result =
      real ? std::from_chars(first, last, token.real) : std::from_chars(first, last, token.integer, hex ? 16 : 10);
  if (result.ec != std::errc() || result.ptr != last) {
    fail_at(file_, token.at, "the number {} is out of range", text_.substr(at_, std::min<std::size_t>(end - at_, 40)));
  }
  while (at_ < end) advance();
  if (is_letter(peek()))
    fail_at(file_, token.at, "a number may not end in '{}'; there are int and double only", peek());
  return token;
}

std::uint32_t Lexer::digits(int count, int base) {
  std::uint32_t code = 0;
  for (int i = 0; i < count; ++i) {
    const int digit = digit_of(peek());
    if (digit >= base) fail_at(file_, place_, "an escape needs {} digits of base {}", count, base);
    code = code * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit);
    advance();
  }
  return code;
}

void Lexer::escape(std::string& to) {
  constexpr std::string_view kFrom = "abfnrtv\\\"'`?", kTo = "\a\b\f\n\r\t\v\\\"'`?";
  const Place at = place_;
  const char c = peek();
  if (const std::size_t found = c == '\0' ? std::string_view::npos : kFrom.find(c); found != std::string_view::npos) {
    to += kTo[found];
    return advance();
  }
  std::uint32_t code = 0;
  if (c >= '0' && c <= '3') {
    code = digits(3, 8);
  } else if (c == 'x' || c == 'X' || c == 'u' || c == 'U') {
    advance();
    code = digits(c == 'U' ? 8 : c == 'u' ? 4 : 2, 16);
  } else {
    fail_at(file_, at, "there is no such escape in a string");
  }
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) fail_at(file_, at, "an escape is not a Unicode character");
  append_utf8(to, code);
}

Token Lexer::literal(Token token, bool raw) {
  token.kind = TokenKind::text;
  const char quote = peek();
  advance();
  while (peek() != quote || at_ >= text_.size()) {
    if (at_ >= text_.size() || peek() == '\n' || peek() == '\r')
      fail_at(file_, token.at, "a string has no closing {}", quote);
    const bool escaped = peek() == '\\' && !raw;
    if (!escaped) token.text += peek();
    advance();
    if (escaped) escape(token.text);
  }
  advance();
  return token;
}

Token Lexer::symbol(Token token) {
  constexpr std::string_view kPairs[] = {"&&", "||", "==", "!=", "<=", ">="};
  constexpr std::string_view kSingle = "=!<>+-*/%?:.,;()[]{}";
  token.kind = TokenKind::symbol;
  for (const std::string_view pair : kPairs) {
    if (text_.substr(at_, 2) == pair) token.text = pair;
  }
  if (token.text.empty()) {
    const char c = peek();
    if (c == '\0' || !kSingle.contains(c)) {
      if (c > ' ' && c < 0x7f) fail_at(file_, token.at, "the character '{}' has no meaning here", c);
      fail_at(file_, token.at, "byte {:#04x} has no meaning here",
              static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
    token.text = c;
  }
  for (std::size_t i = 0; i < token.text.size(); ++i) advance();
  return token;
}

}  // namespace frazil::govern
