#include <algorithm>
#include <charconv>
#include <string>

#include "base/value/text.h"
#include "sym/dim.h"
#include "sym/name.h"

namespace frazil {
namespace {

constexpr int kMaxNesting = 200;
constexpr std::size_t kShownText = 60;
constexpr std::size_t kShownNext = 12;

/// A recursive-descent parser for:
///   sum = product {("+" | "-") product}
///   product = factor {"*" factor}
///   factor = {"-"} (number | name | call | "(" sum ")")
class Parser {
 public:
  Parser(Scope& scope, std::string_view text) : scope_(scope), text_(text) {}

  Result<Dim> parse() {
    FRAZIL_TRY(Dim d, sum());
    if (at_ != text_.size()) return expected("an operator");
    return d;
  }

 private:
  using Combine = Dim (*)(Scope&, Dim, Dim);

  Result<Dim> sum() {
    FRAZIL_TRY(Dim left, product());
    for (;;) {
      const bool plus = take('+');
      if (!plus && !take('-')) return left;
      FRAZIL_TRY(const Dim right, product());
      left = plus ? scope_.add(left, right) : scope_.sub(left, right);
    }
  }

  Result<Dim> product() {
    FRAZIL_TRY(Dim left, factor());
    while (take('*')) {
      FRAZIL_TRY(const Dim right, factor());
      left = scope_.mul(left, right);
    }
    return left;
  }

  Result<Dim> factor() {
    bool negative = false;
    while (take('-')) negative = !negative;
    FRAZIL_TRY(const Dim d, primary());
    return negative ? scope_.mul(d, -1) : d;
  }

  Result<Dim> primary() {
    if (take('(')) return nested();
    const char c = peek();
    if (sym::is_digit(c)) return number();
    if (c == '`') return quoted();
    if (sym::starts_name(c)) return name_or_call();
    return expected("a number, a name or '('");
  }

  Result<Dim> nested() {
    FRAZIL_CHECK(enter());
    FRAZIL_TRY(const Dim d, sum());
    FRAZIL_CHECK(leave());
    return d;
  }

  Result<Dim> number() {
    std::int64_t v = 0;
    const char* const end = text_.data() + text_.size();
    const auto [next, error] = std::from_chars(text_.data() + at_, end, v);
    if (error != std::errc() || v > Dim::kMax) return fault("a number out of range");
    at_ = static_cast<std::size_t>(next - text_.data());
    return v;
  }

  Result<Dim> name_or_call() {
    const std::size_t from = at_;
    while (at_ < text_.size() && sym::continues_name(text_[at_])) ++at_;
    const std::string_view name = text_.substr(from, at_ - from);
    if (name == "floordiv") return call([](Scope& s, Dim a, Dim b) { return s.floordiv(a, b); }, false);
    if (name == "mod") return call(mod, false);
    if (name == "min") return call([](Scope& s, Dim a, Dim b) { return s.min(a, b); }, true);
    if (name == "max") return call([](Scope& s, Dim a, Dim b) { return s.max(a, b); }, true);
    return symbol(name);
  }

  /// Parses the operands of a call: two or more for min and max, exactly two for the others.
  Result<Dim> call(Combine combine, bool many) {
    if (!take('(')) return expected("'('");
    FRAZIL_CHECK(enter());
    FRAZIL_TRY(Dim d, sum());
    bool more = false;
    while ((many || !more) && take(',')) {
      FRAZIL_TRY(const Dim operand, sum());
      d = combine(scope_, d, operand);
      more = true;
    }
    if (!more) return expected("','");
    FRAZIL_CHECK(leave());
    return d;
  }

  Result<Dim> quoted() {
    std::string name;
    for (++at_; at_ < text_.size() && text_[at_] != '`'; ++at_) {
      if (text_[at_] == '\\') {
        FRAZIL_TRY(const char c, escape());
        name += c;
      } else {
        name += text_[at_];
      }
    }
    if (at_ == text_.size()) return expected("a closing '`'");
    ++at_;
    return symbol(name);
  }

  /// Reads an escape from its backslash. Leaves `at_` at the last character of the escape.
  Result<char> escape() {
    ++at_;
    if (peek_raw() == '`' || peek_raw() == '\\') return text_[at_];
    unsigned value = 0;
    const std::string_view digits = text_.substr(std::min(at_ + 1, text_.size()), 2);
    const auto [next, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (peek_raw() != 'x' || error != std::errc() || next != digits.data() + 2) return fault("a bad escape");
    at_ += 2;
    return static_cast<char>(value);
  }

  Dim symbol(std::string_view name) {
    const auto known = scope_.find_symbol(name);
    return known ? scope_.symbol_dim(*known) : scope_.symbol(name);
  }

  Status enter() {
    if (++nesting_ > kMaxNesting) return fail(Code::limit, "{}: nested deeper than {} levels", where(), kMaxNesting);
    return {};
  }

  Status leave() {
    --nesting_;
    if (!take(')')) return expected("')'");
    return {};
  }

  char peek_raw() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  char peek() {
    while (peek_raw() == ' ' || peek_raw() == '\t') ++at_;
    return peek_raw();
  }

  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }

  std::string where() const { return fmt::format("dimension '{}', column {}", printable(text_, kShownText), at_ + 1); }

  std::unexpected<Fault> fault(std::string_view what) const { return fail(Code::bad_model, "{}: {}", where(), what); }

  std::unexpected<Fault> expected(std::string_view what) {
    peek();
    if (at_ == text_.size()) return fail(Code::bad_model, "{}: expected {}, got the end", where(), what);
    return fail(Code::bad_model, "{}: expected {}, got '{}'", where(), what, printable(text_.substr(at_), kShownNext));
  }

  Scope& scope_;
  std::string_view text_;
  std::size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace

Result<Dim> parse_dim(Scope& scope, std::string_view text) { return Parser(scope, text).parse(); }

}  // namespace frazil
