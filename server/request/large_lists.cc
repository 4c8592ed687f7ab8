#include "server/request/large_lists.h"

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <type_traits>

#include "server/request/json_place.h"

namespace frazil::server {
namespace {

using api::Array;
using api::Dtype;

constexpr std::size_t kLeast = 4096;  // bytes of a large list

enum class ByteKind : std::uint8_t { other, space, item, comma, open, close };

/// The kinds of the characters outside of strings. Letters belong to true, false, NaN and Infinity.
constexpr auto kKinds = [] {
  std::array<ByteKind, 256> kinds{};
  for (const char c : std::string_view(" \t\r\n")) kinds[static_cast<unsigned char>(c)] = ByteKind::space;
  for (const char c : std::string_view("0123456789+-.eEtrufalsNIniy"))
    kinds[static_cast<unsigned char>(c)] = ByteKind::item;
  kinds[','] = ByteKind::comma;
  kinds['['] = ByteKind::open;
  kinds[']'] = ByteKind::close;
  return kinds;
}();

ByteKind kind_of_byte(char c) { return kKinds[static_cast<unsigned char>(c)]; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

// ---- finding ----

/// Copies the text without its large lists.
class LargeLists::Finder {
 public:
  Finder(std::string_view text, LargeLists& to) : text_(text), to_(to) {}

  /// Returns false if the text has a string that may be a placeholder's, or that does not end.
  bool run() {
    while (at_ < text_.size()) {
      switch (text_[at_]) {
        case '"':
          if (!pass_string()) return false;
          continue;
        case '[':
          if (take_list()) continue;
          [[fallthrough]];
        case '{': ++depth_; break;
        case ']':
        case '}': --depth_; break;
        default: break;
      }
      ++at_;
    }
    to_.shortened_ += text_.substr(copied_);
    return true;
  }

 private:
  bool pass_string() {
    static constexpr std::string_view kEscapedMark = "\"\\u0001";
    if (text_.substr(at_).starts_with(kEscapedMark)) return false;
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    at_ = end + 1;
    return end < text_.size();
  }

  /// Replaces the list that begins here. Returns false if it is small or contains something else.
  bool take_list() {
    if (at_ < searched_) return false;  // so that each byte is read at most twice
    List list;
    std::size_t depth = 0, deepest = 0, end = at_;
    for (bool in_item = false; end < text_.size(); ++end) {
      const ByteKind kind = kind_of_byte(text_[end]);
      if (kind == ByteKind::other) break;
      list.count += static_cast<std::uint64_t>(kind == ByteKind::item && !in_item);
      in_item = kind == ByteKind::item;
      if (kind == ByteKind::open) deepest = std::max(deepest, ++depth);
      if (kind == ByteKind::close && --depth == 0) break;
    }
    searched_ = end;
    if (end == text_.size() || text_[end] != ']' || end - at_ < kLeast || depth_ + deepest > kMaxNesting) return false;
    list.text = text_.substr(at_, end + 1 - at_);
    to_.shortened_ += text_.substr(copied_, at_ - copied_);
    to_.shortened_ += "[\"\\u0001\"," + std::to_string(to_.lists_.size()) + ']';
    to_.lists_.push_back(list);
    copied_ = at_ = end + 1;
    return true;
  }

  const std::string_view text_;
  LargeLists& to_;
  std::size_t at_ = 0, copied_ = 0, searched_ = 0, depth_ = 0;
};

LargeLists::LargeLists(std::string_view text) {
  if (text.size() < kLeast || Finder(text, *this).run()) return;
  lists_.clear();
}

// ---- reading ----

namespace {

/// Reads the items of a list whose brackets match. Functions return false for items that they do not read.
class ListReader {
 public:
  ListReader(Array& to, const LargeLists::List& list)
      : to_(to), at_(list.text.data()), end_(at_ + list.text.size()), left_(list.count) {}

  bool fill() {
    switch (to_.dtype()) {
      case Dtype::boolean: return fill_with<bool>();
      case Dtype::i8: return fill_with<std::int8_t>();
      case Dtype::i16: return fill_with<std::int16_t>();
      case Dtype::i32: return fill_with<std::int32_t>();
      case Dtype::i64: return fill_with<std::int64_t>();
      case Dtype::u8: return fill_with<std::uint8_t>();
      case Dtype::u16: return fill_with<std::uint16_t>();
      case Dtype::u32: return fill_with<std::uint32_t>();
      case Dtype::u64: return fill_with<std::uint64_t>();
      case Dtype::f32: return fill_with<float>();
      case Dtype::f64: return fill_with<double>();
      default: return false;
    }
  }

 private:
  /// A number in the text.
  struct Number {
    bool negative = false, integer = true;
    std::uint64_t digits = 0;  ///< of an integer
  };

  template <class T>
  bool fill_with() {
    T* to = static_cast<T*>(to_.mutable_data());
    for (std::size_t depth = 0;;) {
      pass_spaces();
      if (*at_ == '[') {
        ++depth;
        ++at_;
        pass_spaces();
        if (*at_ != ']') continue;
      } else {
        if (left_ == 0 || !take(*to++)) return false;
        --left_;
      }
      for (pass_spaces(); *at_ == ']'; pass_spaces()) {
        ++at_;
        if (--depth == 0) return at_ == end_ && left_ == 0;
      }
      if (*at_++ != ',') return false;
    }
  }

  void pass_spaces() {
    while (at_ != end_ && kind_of_byte(*at_) == ByteKind::space) ++at_;
  }
  bool pass_word(std::string_view word) {
    if (!std::string_view(at_, end_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  bool pass_digits() {
    const char* const begin = at_;
    while (is_digit(*at_)) ++at_;
    return at_ != begin;
  }

  /// Passes a number in JSON's grammar. Integers have at most 19 digits, so that they fit 64 bits.
  std::optional<Number> pass_number() {
    constexpr std::ptrdiff_t kMaxDigits = 19;
    constexpr std::uint64_t kMostNegative = std::uint64_t{1} << 63U;
    Number number;
    if (*at_ == '-') number.negative = true, ++at_;
    const char* const begin = at_;
    for (; is_digit(*at_); ++at_) number.digits = number.digits * 10 + static_cast<std::uint64_t>(*at_ - '0');
    if (at_ == begin || (*begin == '0' && at_ - begin > 1)) return std::nullopt;
    const std::ptrdiff_t digits = at_ - begin;
    if (*at_ == '.') {
      number.integer = false;
      ++at_;
      if (!pass_digits()) return std::nullopt;
    }
    if (*at_ == 'e' || *at_ == 'E') {
      number.integer = false;
      ++at_;
      if (*at_ == '+' || *at_ == '-') ++at_;
      if (!pass_digits()) return std::nullopt;
    }
    const bool fits = digits <= kMaxDigits && (!number.negative || number.digits <= kMostNegative);
    return number.integer && !fits ? std::nullopt : std::optional(number);
  }

  template <class T>
  bool take(T& to) {
    if constexpr (std::is_same_v<T, bool>) {
      return take_truth(to);
    } else if constexpr (std::is_floating_point_v<T>) {
      return take_real(to);
    } else {
      return take_integer(to);
    }
  }

  template <class T>
  bool take_integer(T& to) {
    const auto number = pass_number();
    if (!number || !number->integer) return false;
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    if (!number->negative || number->digits == 0) return to = static_cast<T>(number->digits), number->digits <= kMost;
    if (std::is_unsigned_v<T> || number->digits > kMost + 1) return false;
    return to = static_cast<T>(-static_cast<std::int64_t>(number->digits - 1) - 1), true;
  }

  /// Integers become floats by way of 64 bits, as in the document's model: "-0" is 0.
  template <class T>
  bool take_real(T& to) {
    if (const auto word = pass_words()) return to = static_cast<T>(*word), true;
    const char* const begin = at_;
    const auto number = pass_number();
    if (!number) return false;
    double value = static_cast<double>(number->digits);
    if (!number->integer) {
      const auto read = std::from_chars(begin, at_, value);
      return to = static_cast<T>(value), read.ec == std::errc() && read.ptr == at_;
    }
    return to = static_cast<T>(number->negative && value != 0 ? -value : value), true;
  }
  std::optional<double> pass_words() {
    if (is_digit(*at_)) return std::nullopt;
    for (const auto& [word, value] : kNumberWords) {
      if (pass_word(word)) return value;
    }
    return std::nullopt;
  }

  bool take_truth(bool& to) {
    if (pass_word("true")) return to = true, true;
    if (pass_word("false")) return to = false, true;
    const auto number = pass_number();
    return number && number->integer && (to = number->digits != 0, number->digits <= (number->negative ? 0 : 1));
  }

  Array& to_;
  const char* at_;
  const char* const end_;
  std::uint64_t left_;
};

}  // namespace

bool fill(Array& to, const LargeLists::List& list) { return ListReader(to, list).fill(); }

}  // namespace frazil::server
