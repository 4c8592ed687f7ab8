#include "server/request/json_tensor.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "server/core/datatype.h"
#include "server/request/json_place.h"

namespace frazil::server {
namespace {

using api::Array;
using api::Dtype;

std::optional<double> number_of_word(std::string_view word) {
  const auto* const at = std::ranges::find(kNumberWords, word, [](const auto& one) { return one.first; });
  return at == std::end(kNumberWords) ? std::nullopt : std::optional(at->second);
}

/// Returns the text with quotes around the words, or nullopt if it contains none.
std::optional<std::string> with_quoted_words(std::string_view text) {
  if (!may_have_number_words(text)) return std::nullopt;
  std::string quoted;
  bool found = false;
  split_at_words(text, [&](std::string_view part, bool word) {
    const char* const quote = word ? "\"" : "";
    ((quoted += quote) += part) += quote;
    found |= word;
  });
  return found ? std::optional(std::move(quoted)) : std::nullopt;
}

/// Finds item number `left` of nested lists, and adds its indices to the path: "[0][3]".
bool find_item(dom::element data, std::size_t& left, std::string& path) {
  dom::array array;
  if (data.get(array) != simdjson::SUCCESS) return left-- == 0;
  std::size_t index = 0;
  const std::size_t before = path.size();
  for (const dom::element inner : array) {
    path += '[' + std::to_string(index++) + ']';
    if (find_item(inner, left, path)) return true;
    path.resize(before);
  }
  return false;
}

/// Fills a tensor from the same number of numbers, booleans or strings, nested or flat, in row-major order.
class Filler {
 public:
  Filler(Array& to, const std::string& what) : to_(to), what_(what) {}

  void fill(dom::element data) {
    root_ = data;
    add(data);
  }

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
      case Dtype::string: return store(std::string(value_of<std::string_view>(element, "strings")));
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
    return value_of<double>(element, "numbers");
  }

  void put_truth(dom::element element) {
    bool truth = false;
    std::int64_t number = 0;
    if (element.get(truth) == simdjson::SUCCESS) return store(truth);
    if (element.get(number) == simdjson::SUCCESS && (number == 0 || number == 1)) return store(number == 1);
    refuse(item() + ": expected true, false, 0 or 1, got " + std::string(kind_of(element)));
  }

  template <class T>
  void put_integer(dom::element element) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    const auto value = value_of<Wide>(element, std::is_signed_v<T> ? "integers" : "integers that are not negative");
    if (value < static_cast<Wide>(std::numeric_limits<T>::min()) ||
        value > static_cast<Wide>(std::numeric_limits<T>::max())) {
      refuse(item() + ": " + std::to_string(value) + " is outside of " + std::string(datatype_of(to_.dtype())));
    }
    store(static_cast<T>(value));
  }

  /// Returns the name of the current item: "input 'x': element [0][3]".
  std::string item() const {
    std::string path;
    std::size_t left = at_;
    find_item(root_, left, path);
    return what_ + (path.empty() ? "" : ": element " + path);
  }
  template <class T>
  T value_of(dom::element element, const char* expected) const {
    T value;
    if (element.get(value) != simdjson::SUCCESS) (void)get<T>(element, item(), expected);
    return value;
  }

  Array& to_;
  const std::string& what_;
  dom::element root_;
  std::size_t at_ = 0;
  void* memory_ = nullptr;
};

std::uint64_t items_of(dom::element data) {
  dom::array array;
  if (data.get(array) != simdjson::SUCCESS) return 1;
  std::uint64_t count = 0;
  for (const dom::element inner : array) count += items_of(inner);
  return count;
}

}  // namespace

simdjson::error_code JsonObject::parse(std::string_view text) {
  text_ = simdjson::padded_string(text);
  if (parser_.allocate(text.size(), kMaxNesting) != simdjson::SUCCESS) throw std::bad_alloc();
  dom::element document;
  if (const auto error = parser_.parse(text_).get(document); error != simdjson::SUCCESS) return error;
  root_ = get<dom::object>(document, "the body", "a JSON object");
  return simdjson::SUCCESS;
}

JsonObject::JsonObject(std::string_view text) {
  auto error = parse(text);
  if (error == simdjson::SUCCESS) return;
  if (const auto quoted = with_quoted_words(text)) error = parse(*quoted);
  if (error == simdjson::SUCCESS) return;
  const std::string fault = json_fault(text);
  refuse("invalid JSON in the body: " + (fault.empty() ? simdjson::error_message(error) : fault));
}

JsonObject::JsonObject(const LargeLists& lists) : lists_(&lists) {
  auto error = parse(lists.shortened());
  if (error == simdjson::SUCCESS) return;
  if (const auto quoted = with_quoted_words(lists.shortened())) error = parse(*quoted);
  if (error != simdjson::SUCCESS) refuse("invalid JSON in the body");
}

/// Returns null for other data.
const LargeLists::List* JsonObject::large_list(dom::element data) const {
  dom::array array;
  std::string_view mark;
  std::uint64_t index = 0;
  if (lists_ == nullptr || data.get(array) != simdjson::SUCCESS || array.size() != 2) return nullptr;
  if (array.at(0).get(mark) != simdjson::SUCCESS || mark != LargeLists::kMark) return nullptr;
  return array.at(1).get(index) == simdjson::SUCCESS ? &lists_->at(index) : nullptr;
}

std::uint64_t JsonObject::count_of(dom::element data) const {
  const LargeLists::List* const list = large_list(data);
  return list != nullptr ? list->count : items_of(data);
}

void JsonObject::fill(Array& to, dom::element data, const std::string& what) {
  const LargeLists::List* const list = large_list(data);
  if (list == nullptr) return Filler(to, what).fill(data);
  if (!server::fill(to, *list)) refuse(what + ": the list is invalid");
  ++read_;
}

std::string_view kind_of(dom::element element) {
  switch (element.type()) {
    case dom::element_type::ARRAY: return "a list";
    case dom::element_type::OBJECT: return "an object";
    case dom::element_type::STRING: return "a string";
    case dom::element_type::BOOL: return "true or false";
    case dom::element_type::NULL_VALUE: return "null";
    default: return "a number";
  }
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
