#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "govern/base/error.h"
#include "govern/policy/syntax.h"

namespace frazil::govern {

/// Throws Code::bad_input: "models.policy:3:7: ...".
template <class... A>
[[noreturn]] void fail_at(std::string_view file, Place at, fmt::format_string<A...> format, A&&... args) {
  fail(Code::bad_input, "{}:{}:{}: {}", file, at.line, at.column, fmt::format(format, std::forward<A>(args)...));
}

enum class TokenKind : std::uint8_t { end, name, integer, real, text, symbol };

struct Token {
  TokenKind kind = TokenKind::end;
  Place at;
  std::string text;           ///< a name, a symbol, or the value of a text
  std::uint64_t integer = 0;  ///< without a sign
  double real = 0;

  bool is(std::string_view symbol) const { return kind == TokenKind::symbol && text == symbol; }
  bool is_word(std::string_view word) const { return kind == TokenKind::name && text == word; }
  /// Returns the token as errors show it.
  std::string shown() const;
};

/// Splits the text of a policy into tokens. Comments begin with // and end with the line.
class Lexer {
 public:
  /// Both must outlive the lexer. Throws Code::bad_input if the text is not UTF-8.
  Lexer(std::string_view text, std::string_view file);
  Token next();
  std::string_view file() const { return file_; }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void advance();
  void skip_space();
  Token name(Token token);
  Token number(Token token);
  Token literal(Token token, bool raw);
  void escape(std::string& to);
  std::uint32_t digits(int count, int base);
  Token symbol(Token token);

  std::string_view text_, file_;
  std::size_t at_ = 0;
  Place place_;
};

}  // namespace frazil::govern
