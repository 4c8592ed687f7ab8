#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <frazil/array.h>
#include <simdjson.h>

#include "server/core/json_text.h"
#include "server/request/large_lists.h"
#include "server/request/request.h"

// JSON of requests: objects, and tensors as lists. Functions throw Refusal (bad_request) that names the unfit value.
namespace frazil::server {

namespace dom = simdjson::dom;

/// A JSON object with at most 100 levels. Errors of the text name line, column and field. Unquoted NaN, Infinity and
/// -Infinity are read as strings.
class JsonObject {
 public:
  explicit JsonObject(std::string_view text);
  /// Makes the object of a document without its large lists, which outlive it. Errors have no place.
  explicit JsonObject(const LargeLists& lists);
  dom::object root() const { return root_; }

  /// Returns the number of elements of nested lists.
  std::uint64_t count_of(dom::element data) const;
  /// Fills a tensor with the same number of elements, nested or flat, in row-major order. Floats may be the strings
  /// NaN, Infinity and -Infinity.
  void fill(api::Array& to, dom::element data, const std::string& what);
  /// Returns true if fill() has read each large list.
  bool has_read_all() const { return lists_ == nullptr || read_ == lists_->size(); }

 private:
  simdjson::error_code parse(std::string_view text);
  const LargeLists::List* large_list(dom::element data) const;

  simdjson::padded_string text_;
  dom::parser parser_;
  dom::object root_;
  const LargeLists* lists_ = nullptr;
  std::size_t read_ = 0;
};

/// Returns the result of `read` for the JsonObject& of a text. Large lists of numbers take no memory then. If something
/// is wrong, `read` is called again with the whole document, whose errors have their places.
template <class F>
auto read_json(std::string_view text, F read) {
  if (const LargeLists lists(text); !lists.empty()) {
    try {
      JsonObject object(lists);
      auto result = read(object);
      if (object.has_read_all()) return result;
    } catch (const Refusal&) {  // NOLINT(bugprone-empty-catch): the whole document gives the reason
    }
  }
  JsonObject object(text);
  return read(object);
}

/// Returns "a list", "an object", "a string", "a number", "true or false" or "null".
std::string_view kind_of(dom::element element);

/// `what` names the value, `expected` describes the expected type.
template <class T>
T get(dom::element element, const std::string& what, const char* expected) {
  T value;
  if (element.get(value) != simdjson::SUCCESS) {
    refuse(what + ": expected " + expected + ", got " + std::string(kind_of(element)));
  }
  return value;
}

inline std::optional<dom::element> maybe(dom::object object, const char* key) {
  dom::element element;
  if (object[key].get(element) != simdjson::SUCCESS) return std::nullopt;
  return element;
}

/// Returns "" if the object has no such field.
std::string text_or_nothing(dom::object object, const char* key);

Parameter parameter_of(dom::element value, const std::string& what);

/// Writes the elements as values of an open array. NaN and infinities are written as Python's json module reads them.
void write_elements(JsonText& json, const api::Array& array, const std::string& what);

}  // namespace frazil::server
