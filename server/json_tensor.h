#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <frazil/array.h>
#include <simdjson.h>

#include "server/json_text.h"
#include "server/request.h"

// Requests' JSON: objects, and tensors as lists. What does not fit throws Refusal (bad_request) that names it.
namespace frazil::server {

namespace dom = simdjson::dom;

/// A text as a JSON object, of at most 100 levels. NaN, Infinity and -Infinity without quotes become strings.
class JsonObject {
 public:
  explicit JsonObject(std::string_view text);
  dom::object root() const { return root_; }

 private:
  simdjson::padded_string text_;
  dom::parser parser_;
  dom::object root_;
};

/// `what` names the value, `expected` what it should be.
template <class T>
T get(dom::element element, const std::string& what, const char* expected) {
  T value;
  if (element.get(value) != simdjson::SUCCESS) refuse(what + ": expected " + expected);
  return value;
}

inline std::optional<dom::element> maybe(dom::object object, const char* key) {
  dom::element element;
  if (object[key].get(element) != simdjson::SUCCESS) return std::nullopt;
  return element;
}

/// Empty where the object has no such field.
std::string text_or_nothing(dom::object object, const char* key);

Parameter parameter_of(dom::element value, const std::string& what);

/// The number of elements that nested lists have.
std::uint64_t count_of(dom::element data);
/// Fills a tensor with as many elements, nested or flat, in row-major order. Floats may be the strings NaN, Infinity
/// and -Infinity.
void fill(api::Array& to, dom::element data, const std::string& what);
/// Writes the elements as values of an array that is open. NaN and infinities are written as Python's json reads them.
void write_elements(JsonText& json, const api::Array& array, const std::string& what);

}  // namespace frazil::server
