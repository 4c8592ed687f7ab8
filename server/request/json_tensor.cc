#include "server/request/json_tensor.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "server/core/datatype.h"

namespace frazil::server {
namespace {

using api::Array;
using api::Dtype;

constexpr std::size_t kMaxNesting = 100;

// JSON has no numbers for these values. Python's json module writes and reads them as unquoted words.
constexpr std::pair<std::string_view, double> kWords[] = {{"NaN", std::numeric_limits<double>::quiet_NaN()},
                                                          {"Infinity", std::numeric_limits<double>::infinity()},
                                                          {"-Infinity", -std::numeric_limits<double>::infinity()}};

std::optional<double> number_of_word(std::string_view word) {
  const auto* const at = std::ranges::find(kWords, word, [](const auto& one) { return one.first; });
  return at == std::end(kWords) ? std::nullopt : std::optional(at->second);
}

/// Returns the string literal at the beginning of the text, including its quotes.
std::string_view string_at(std::string_view text) {
  std::size_t end = 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return text.substr(0, end + 1);
}

/// Returns the text with quotes around the words, or nullopt if it contains none.
std::optional<std::string> with_quoted_words(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n,:[]{}";
  std::string quoted;
  bool found = false;
  while (!text.empty()) {
    std::string_view part =
        text.substr(0, std::max<std::size_t>(std::min(text.find_first_of(kBetween), text.size()), 1));
    if (text.front() == '"') part = string_at(text);
    const bool word = number_of_word(part).has_value();
    if (word) quoted += '"';
    quoted += part;
    if (word) quoted += '"';
    found |= word;
    text.remove_prefix(part.size());
  }
  return found ? std::optional(std::move(quoted)) : std::nullopt;
}

/// Fills a tensor from the same number of numbers, booleans or strings, nested or flat, in row-major order.
class Filler {
 public:
  Filler(Array& to, const std::string& what) : to_(to), what_(what) {}

  void fill(dom::element data) { add(data); }

 private:
  void add(dom::element element) {
    dom::array array;
    if (element.get(array) == simdjson::SUCCESS) {
      for (const dom::element inner : array) add(inner);
      return;
    }
    put(element);
    ++at_;
  }

  void put(dom::element element) {
    switch (to_.dtype()) {
      case Dtype::boolean: return put_truth(element);
      case Dtype::i8: return put_integer<std::int8_t>(element);
      case Dtype::i16: return put_integer<std::int16_t>(element);
      case Dtype::i32: return put_integer<std::int32_t>(element);
      case Dtype::i64: return put_integer<std::int64_t>(element);
      case Dtype::u8: return put_integer<std::uint8_t>(element);
      case Dtype::u16: return put_integer<std::uint16_t>(element);
      case Dtype::u32: return put_integer<std::uint32_t>(element);
      case Dtype::u64: return put_integer<std::uint64_t>(element);
      case Dtype::f32: return store(static_cast<float>(real(element)));
      case Dtype::f64: return store(real(element));
      case Dtype::string: return store(std::string(get<std::string_view>(element, what_, "strings")));
      default:
        refuse(what_ + ": " + std::string(datatype_of(to_.dtype())) + " has no JSON form; send it as binary data");
    }
  }

  template <class T>
  void store(T value) {
    if (at_ == 0) memory_ = to_.mutable_data();
    static_cast<T*>(memory_)[at_] = std::move(value);
  }

  double real(dom::element element) const {
    std::string_view word;
    if (element.get(word) == simdjson::SUCCESS) {
      if (const auto value = number_of_word(word)) return *value;
    }
    return get<double>(element, what_, "numbers");
  }

  void put_truth(dom::element element) {
    bool truth = false;
    std::int64_t number = 0;
    if (element.get(truth) == simdjson::SUCCESS) return store(truth);
    if (element.get(number) == simdjson::SUCCESS && (number == 0 || number == 1)) return store(number == 1);
    refuse(what_ + ": expected true, false, 0 or 1");
  }

  template <class T>
  void put_integer(dom::element element) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    const auto value = get<Wide>(element, what_, std::is_signed_v<T> ? "integers" : "integers that are not negative");
    if (value < static_cast<Wide>(std::numeric_limits<T>::min()) ||
        value > static_cast<Wide>(std::numeric_limits<T>::max())) {
      refuse(what_ + ": " + std::to_string(value) + " is outside of " + std::string(datatype_of(to_.dtype())));
    }
    store(static_cast<T>(value));
  }

  Array& to_;
  const std::string& what_;
  std::size_t at_ = 0;
  void* memory_ = nullptr;
};

}  // namespace

JsonObject::JsonObject(std::string_view text) : text_(text) {
  if (parser_.allocate(text.size(), kMaxNesting) != simdjson::SUCCESS) throw std::bad_alloc();
  dom::element document;
  auto error = parser_.parse(text_).get(document);
  if (error != simdjson::SUCCESS) {
    if (const auto quoted = with_quoted_words(text)) {
      text_ = simdjson::padded_string(*quoted);
      if (parser_.allocate(quoted->size(), kMaxNesting) != simdjson::SUCCESS) throw std::bad_alloc();
      error = parser_.parse(text_).get(document);
    }
  }
  if (error != simdjson::SUCCESS) refuse(std::string("invalid JSON in the body: ") + simdjson::error_message(error));
  root_ = get<dom::object>(document, "the body", "a JSON object");
}

std::string text_or_nothing(dom::object object, const char* key) {
  const auto given = maybe(object, key);
  return given ? std::string(get<std::string_view>(*given, std::string("field \"") + key + '"', "a string")) : "";
}

Parameter parameter_of(dom::element value, const std::string& what) {
  bool truth = false;
  std::int64_t integer = 0;
  double number = 0;
  std::string_view text;
  if (value.get(truth) == simdjson::SUCCESS) return truth;
  if (value.get(integer) == simdjson::SUCCESS) return integer;
  if (value.get(number) == simdjson::SUCCESS) return number;
  if (value.get(text) == simdjson::SUCCESS) return std::string(text);
  refuse(what + ": expected a string, a number, true or false");
}

std::uint64_t count_of(dom::element data) {
  dom::array array;
  if (data.get(array) != simdjson::SUCCESS) return 1;
  std::uint64_t count = 0;
  for (const dom::element inner : array) count += count_of(inner);
  return count;
}

void fill(Array& to, dom::element data, const std::string& what) { Filler(to, what).fill(data); }

void write_elements(JsonText& json, const Array& array, const std::string& what) {
  const auto each = [&](auto values, auto write) {
    for (const auto& value : values) write(value);
  };
  const auto plain = [&](const auto& x) { json.value(x); };
  // JSON has no numbers for these values; Python's json module reads the words.
  const auto real = [&](auto x) {
    if (x == 0 && std::signbit(x)) return json.json("-0.0");  // "-0" reads as an integer
    if (std::isfinite(x)) return json.value(x);
    json.json(std::isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
  };
  switch (array.dtype()) {
    case Dtype::boolean: return each(array.values<bool>(), plain);
    case Dtype::i8: return each(array.values<std::int8_t>(), [&](std::int8_t x) { json.value(int{x}); });
    case Dtype::i16: return each(array.values<std::int16_t>(), plain);
    case Dtype::i32: return each(array.values<std::int32_t>(), plain);
    case Dtype::i64: return each(array.values<std::int64_t>(), plain);
    case Dtype::u8: return each(array.values<std::uint8_t>(), [&](std::uint8_t x) { json.value(unsigned{x}); });
    case Dtype::u16: return each(array.values<std::uint16_t>(), plain);
    case Dtype::u32: return each(array.values<std::uint32_t>(), plain);
    case Dtype::u64: return each(array.values<std::uint64_t>(), plain);
    case Dtype::f32: return each(array.values<float>(), real);
    case Dtype::f64: return each(array.values<double>(), real);
    case Dtype::string: return each(array.values<std::string>(), plain);
    default: refuse(what + " has no JSON form; ask for binary data");
  }
}

}  // namespace frazil::server
