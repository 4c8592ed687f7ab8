#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/value/error.h"

namespace frazil {

/// Returns true for characters of names, keywords and numbers.
constexpr bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '$' || c == '/' || c == '?';
}

struct Token {
  enum class Kind : std::uint8_t { word, value, weight, string, symbol, punct, end };
  Kind kind = Kind::end;
  std::uint32_t begin = 0, end = 0;
  std::uint32_t match = 0;  ///< brackets: index of the matching token
};

/// The tokens of a text and a read position. Brackets () [] {} are matched when the text is read. `;` starts a comment.
class Tokens {
 public:
  /// Returns Code::limit for texts above 64 MiB.
  static Result<Tokens> read(std::string_view text);

  std::size_t at = 0;

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at + ahead, tokens_.size() - 1)]; }
  std::string_view str(const Token& token) const { return text_.substr(token.begin, token.end - token.begin); }
  std::string_view peek_str(std::size_t ahead = 0) const { return str(peek(ahead)); }
  const Token& next() { return tokens_[at + 1 < tokens_.size() ? at++ : at]; }
  bool is(std::string_view text, std::size_t ahead = 0) const;
  bool take(std::string_view text);
  Status expect(std::string_view text);
  /// Returns the text between two tokens, exclusive.
  std::string_view between(const Token& open, const Token& close) const {
    return text_.substr(open.end, close.begin - open.end);
  }
  const Token& operator[](std::size_t i) const { return tokens_[i]; }

  std::string where(std::size_t offset) const;  ///< returns "line 3, column 5: "
  template <class... A>
  [[nodiscard]] std::unexpected<Fault> error(const Token& token, fmt::format_string<A...> format, A&&... args) const {
    return fail(Code::bad_model, "{}{}", where(token.begin), plain(fmt::format(format, std::forward<A>(args)...)));
  }
  /// Returns an error "expected ..., got ..." at the next token.
  [[nodiscard]] std::unexpected<Fault> expected(std::string_view what) const;

 private:
  explicit Tokens(std::string_view text) : text_(text) {}
  static std::string plain(std::string_view message);  ///< escaped to one line
  friend class Lexer;
  std::string_view text_;
  std::vector<Token> tokens_;
};

}  // namespace frazil
