#include "server/config/text_proto.h"

#include <algorithm>
#include <utility>

#include <frazil/error.h>

#include "server/config/yaml.h"
#include "server/core/characters.h"

namespace frazil::server {
namespace {

constexpr std::size_t kMaxMessageDepth = 100;
constexpr std::size_t kMaxFieldName = 200;  // a name is stored with each item of a list

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_octal(char c) { return c >= '0' && c <= '7'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_word(char c) { return is_letter(c) || is_digit(c); }

unsigned digit_of(char c) {
  if (is_digit(c)) return static_cast<unsigned>(c - '0');
  return static_cast<unsigned>((c | 0x20) - 'a') + 10;
}

bool is_surrogate(std::uint32_t code) { return code >= 0xd800 && code < 0xe000; }

void append_utf8(std::string& to, std::uint32_t code) {
  const unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned kLead[] = {0, 0xc0, 0xe0, 0xf0};
  to += static_cast<char>(kLead[more] | code >> (6 * more));
  for (unsigned i = more; i-- > 0;) to += static_cast<char>(0x80U | (code >> (6 * i) & 0x3fU));
}

struct SourcePosition {
  std::size_t at, line, column;
};

/// The characters of the text with a line and column position.
class Cursor {
 public:
  Cursor(std::string_view text, const std::string& name) : text_(text), name_(name) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  }

  /// Returns the next character, or 0 at the end. is_end() distinguishes the end from a zero in the text.
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool is_end() const { return at_ >= text_.size(); }
  char take() {
    const char c = peek();
    if (c == '\n') {
      ++line_;
      first_ = at_ + 1;
    }
    ++at_;
    return c;
  }
  bool take_if(char c) {
    if (is_end() || peek() != c) return false;
    take();
    return true;
  }
  template <class Is>
  std::string_view take_while(Is is) {
    const std::size_t from = at_;
    while (!is_end() && is(peek())) take();
    return text_.substr(from, at_ - from);
  }
  SourcePosition inline_slot() const { return {.at = at_, .line = line_, .column = at_ - first_ + 1}; }
  std::string_view since(const SourcePosition& inline_slot) const {
    return text_.substr(inline_slot.at, at_ - inline_slot.at);
  }

  void skip_space();
  [[noreturn]] void fail(const SourcePosition& inline_slot, const std::string& message) const {
    throw api::Error(api::Code::bad_input, name_ + ":" + std::to_string(inline_slot.line) + ":" +
                                               std::to_string(inline_slot.column) + ": " + message);
  }
  [[noreturn]] void expected(const std::string& what) const {
    fail(inline_slot(), "expected " + what + ", got " + (is_end() ? "the end" : next_text()));
  }

 private:
  std::string next_text() const {
    std::size_t end = at_;
    while (end < text_.size() && end - at_ < 100 && is_word(text_[end])) ++end;
    return shown(text_.substr(at_, std::max<std::size_t>(end - at_, 1)));
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0, line_ = 1, first_ = 0;
};

void Cursor::skip_space() {
  for (;;) {
    take_while([](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); });
    if (peek() != '#') return;
    take_while([](char c) { return c != '\n'; });
  }
}

/// A tokenizer.
class Tokens : public Cursor {
 public:
  using Cursor::Cursor;

  /// Reads a name, or a.b or a.b/c.d in brackets.
  std::string field_name();
  std::string identifier(const char* what);
  /// Reads one literal without its sign.
  std::string number();
  /// Reads adjacent string literals.
  std::string strings();
  bool is_string() const { return peek() == '"' || peek() == '\''; }
  bool is_number() const { return is_digit(peek()) || (peek() == '.' && is_digit(peek(1))); }

 private:
  void string_into(std::string& to);
  void escape_into(std::string& to);
  std::uint32_t digits(std::size_t least, std::size_t most, unsigned base);
  std::uint32_t code_point(const SourcePosition& start, std::size_t size);
  void float_tail();
};

std::string Tokens::identifier(const char* what) {
  if (!is_letter(peek())) expected(what);
  return std::string(take_while(is_word));
}

std::string Tokens::field_name() {
  if (!take_if('[')) return identifier("a field's name");
  std::string name = "[";
  for (bool first = true; first || peek() == '.' || peek() == '/' || peek() == '-'; first = false) {
    if (!first) name += take();
    skip_space();
    const auto part = take_while(is_word);
    if (part.empty()) expected("a name in brackets");
    name += part;
    skip_space();
  }
  if (!take_if(']')) expected("']'");
  return name + "]";
}

void Tokens::float_tail() {
  take_while(is_digit);
  if (take_if('.')) take_while(is_digit);
  if (peek() == 'e' || peek() == 'E') {
    take();
    if (peek() == '+' || peek() == '-') take();
    if (take_while(is_digit).empty()) expected("digits of an exponent");
  }
  if (peek() == 'f' || peek() == 'F') take();
}

std::string Tokens::number() {
  const SourcePosition start = inline_slot();
  if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
    take(), take();
    if (take_while(is_hex).empty()) expected("hexadecimal digits");
  } else {
    float_tail();
  }
  std::string text(since(start));
  if (is_word(peek()) || peek() == '.') fail(start, "expected a number, got " + shown(text + peek()));
  const bool octal = text.size() > 1 && text[0] == '0' && std::ranges::all_of(text, is_digit);
  if (octal && !std::ranges::all_of(text, is_octal)) fail(start, "expected an octal number, got " + shown(text));
  return text;
}

std::string Tokens::strings() {
  std::string text;
  while (is_string()) {
    string_into(text);
    skip_space();
  }
  return text;
}

void Tokens::string_into(std::string& to) {
  const SourcePosition start = inline_slot();
  const char quote = take();
  for (;;) {
    if (is_end() || peek() == '\n' || peek() == '\0') fail(start, "expected a string that ends in its line");
    if (take_if(quote)) return;
    if (peek() == '\\') {
      escape_into(to);
    } else {
      to += take();
    }
  }
}

std::uint32_t Tokens::digits(std::size_t least, std::size_t most, unsigned base) {
  std::uint32_t value = 0;
  std::size_t count = 0;
  for (; count < most && (base == 8 ? is_octal(peek()) : is_hex(peek())); ++count)
    value = value * base + digit_of(take());
  if (count < least) expected("a digit of an escape");
  return value;
}

std::uint32_t Tokens::code_point(const SourcePosition& start, std::size_t size) {
  std::uint32_t code = digits(size, size, 16);
  const bool paired = code >= 0xd800 && code < 0xdc00 && peek() == '\\' && (peek(1) == 'u' || peek(1) == 'U');
  if (paired) {
    take();
    const std::uint32_t low = take() == 'u' ? digits(4, 4, 16) : digits(8, 8, 16);
    if (low >= 0xdc00 && low < 0xe000) code = 0x10000 + ((code - 0xd800) << 10U) + (low - 0xdc00);
  }
  if (is_surrogate(code) || code > 0x10ffff) fail(start, "expected a character of Unicode, got another code");
  return code;
}

void Tokens::escape_into(std::string& to) {
  constexpr std::string_view kNames = "abfnrtv?\\'\"", kMeanings = "\a\b\f\n\r\t\v?\\'\"";
  const SourcePosition start = inline_slot();
  take();
  const char c = peek();
  if (is_octal(c)) {
    const std::uint32_t value = digits(1, 3, 8);
    if (value > 0xff) fail(start, "expected an escape of at most \\377");
    to += static_cast<char>(value);
    return;
  }
  if (is_end()) expected("an escape");
  take();
  if (c == 'x' || c == 'X') {
    to += static_cast<char>(digits(1, 2, 16));
  } else if (c == 'u' || c == 'U') {
    append_utf8(to, code_point(start, c == 'u' ? 4 : 8));
  } else if (const auto at = kNames.find(c); at != std::string_view::npos) {
    to += kMeanings[at];
  } else {
    fail(start, "expected an escape, got " + shown({&c, 1}) + " after a backslash");
  }
}

/// The parser on top of the tokenizer.
class TextProtoParser {
 public:
  TextProtoParser(std::string_view text, const std::string& name) : in_(text, name) {}

  TextMessage whole() { return fields('\0', 0); }

 private:
  TextMessage fields(char close, std::size_t depth);
  void field(TextMessage& into, std::size_t depth);
  void list(TextMessage& into, TextField item, bool messages_only, std::size_t depth);
  void value(TextField& field, bool message_only, std::size_t depth);
  void scalar(TextField& field);
  TextMessage message(std::size_t depth);
  bool is_message() const { return in_.peek() == '{' || in_.peek() == '<'; }

  Tokens in_;
};

TextMessage TextProtoParser::fields(char close, std::size_t depth) {
  TextMessage message;
  for (in_.skip_space(); !in_.is_end() && (close == '\0' || in_.peek() != close); in_.skip_space()) {
    field(message, depth);
  }
  return message;
}

void TextProtoParser::field(TextMessage& into, std::size_t depth) {
  const SourcePosition start = in_.inline_slot();
  TextField field{.name = in_.field_name(), .text = {}, .message = {}, .line = start.line, .column = start.column};
  if (field.name.size() > kMaxFieldName) in_.fail(start, "expected a name of at most 200 bytes");
  in_.skip_space();
  const bool colon = in_.take_if(':');
  in_.skip_space();
  if (in_.peek() == '[') {
    list(into, std::move(field), !colon, depth);
  } else {
    value(field, !colon, depth);
    into.fields.push_back(std::move(field));
  }
  in_.skip_space();
  if (in_.peek() == ',' || in_.peek() == ';') in_.take();
}

void TextProtoParser::list(TextMessage& into, TextField item, bool messages_only, std::size_t depth) {
  in_.take();
  in_.skip_space();
  if (in_.take_if(']')) return into.fields.push_back(std::move(item));
  do {
    in_.skip_space();
    const SourcePosition start = in_.inline_slot();
    TextField next = item;
    next.line = start.line;
    next.column = start.column;
    value(next, messages_only, depth);
    into.fields.push_back(std::move(next));
    in_.skip_space();
  } while (in_.take_if(','));
  if (!in_.take_if(']')) in_.expected("',' or ']'");
}

void TextProtoParser::value(TextField& field, bool message_only, std::size_t depth) {
  if (is_message()) {
    field.kind = TextField::Kind::message;
    field.message = message(depth + 1);
  } else if (message_only) {
    in_.expected("':' or a message");
  } else {
    scalar(field);
  }
}

void TextProtoParser::scalar(TextField& field) {
  if (in_.is_string()) {
    field.kind = TextField::Kind::string;
    field.text = in_.strings();
    return;
  }
  const bool negative = in_.take_if('-');
  if (negative) in_.skip_space();
  field.kind = in_.is_number() ? TextField::Kind::number : TextField::Kind::word;
  field.text = negative ? "-" : "";
  field.text += in_.is_number() ? in_.number() : in_.identifier(negative ? "a number" : "a value");
}

TextMessage TextProtoParser::message(std::size_t depth) {
  const SourcePosition start = in_.inline_slot();
  if (depth > kMaxMessageDepth) in_.fail(start, "expected at most 100 levels of messages");
  const char close = in_.take() == '{' ? '}' : '>';
  TextMessage message = fields(close, depth);
  if (!in_.take_if(close)) {
    in_.expected(std::string("a field or '") + close + "' for line " + std::to_string(start.line));
  }
  return message;
}

}  // namespace

TextMessage read_text_proto(std::string_view text, const std::string& name) {
  if (text.size() > kMaxConfigBytes) {
    throw api::Error(api::Code::bad_input,
                     name + ": expected at most 1 MiB, got " + std::to_string(text.size()) + " bytes");
  }
  return TextProtoParser(text, name).whole();
}

}  // namespace frazil::server
