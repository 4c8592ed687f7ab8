#include "govern/base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "govern/base/error.h"

namespace frazil::govern {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::int64_t kMaxInteger = std::int64_t{1} << 53;

/// Appends a finite number in the form of ECMAScript's Number::toString (ECMA-262, 6.1.6.1.20).
void append_double(std::string& to, double number) {
  if (!std::isfinite(number)) fail(Code::bad_input, "JSON has no number for an infinity or a NaN");
  if (number == 0) return void(to += '0');
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, std::abs(number), std::chars_format::scientific).ptr;
  const std::string_view shortest(text, static_cast<std::size_t>(end - text));
  const std::size_t e = shortest.find('e');
  int exponent = 0;
  const char* sign = shortest.data() + e + 1;
  std::from_chars(sign + (*sign == '+' ? 1 : 0), end, exponent);
  std::string digits(1, shortest[0]);
  if (e > 2) digits += shortest.substr(2, e - 2);
  const int count = static_cast<int>(digits.size()), point = exponent + 1;
  if (number < 0) to += '-';
  if (point > 21 || point <= -6) {
    to += digits[0];
    if (count > 1) (to += '.') += digits.substr(1);
    (to += 'e') += exponent < 0 ? '-' : '+';
    to += std::to_string(std::abs(exponent));
  } else if (point <= 0) {
    to.append("0.").append(static_cast<std::size_t>(-point), '0') += digits;
  } else if (point >= count) {
    (to += digits).append(static_cast<std::size_t>(point - count), '0');
  } else {
    to += digits.insert(static_cast<std::size_t>(point), 1, '.');
  }
}

void append_integer(std::string& to, const Json& value) {
  const bool fits = value.is_number_unsigned() ? value.get<std::uint64_t>() <= std::uint64_t{kMaxInteger}
                                               : std::abs(value.get<std::int64_t>()) <= kMaxInteger;
  if (!fits) fail(Code::bad_input, "the integer {} is beyond 2^53, which JSON readers may round", value.dump());
  to += value.dump();
}

/// Returns whether a text is written as it is.
bool is_plain(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

void append_string(std::string& to, const std::string& text) {
  if (is_plain(text)) {
    ((to += '"') += text) += '"';
    return;
  }
  try {
    to += Json(text).dump(-1, ' ', false, Json::error_handler_t::strict);
  } catch (const Json::type_error&) {
    fail(Code::bad_input, "a text in JSON is not UTF-8");
  }
}

/// Returns the UTF-16 code units of a text in UTF-8, big-endian, as a key whose byte order is theirs.
std::string utf16_key(const std::string& text) {
  std::string key;
  const auto add = [&key](std::uint32_t unit) { (key += static_cast<char>(unit >> 8)) += static_cast<char>(unit); };
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    std::uint32_t point = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (std::size_t k = 1; k < length && i + k < text.size(); ++k) {
      point = point << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3fu);
    }
    i += length;
    if (point < 0x10000) {
      add(point);
    } else {
      add(0xd800 + ((point - 0x10000) >> 10));
      add(0xdc00 + ((point - 0x10000) & 0x3ff));
    }
  }
  return key;
}

/// Returns the names and values of an object in the order of RFC 8785.
std::vector<Json::const_iterator> sorted_members(const Json& object) {
  std::vector<Json::const_iterator> members;
  members.reserve(object.size());
  for (auto at = object.begin(); at != object.end(); ++at) members.push_back(at);
  // Json sorts names by their bytes, which is the same order for plain ones.
  if (!std::ranges::all_of(members, is_plain, [](const auto& at) -> const std::string& { return at.key(); })) {
    std::ranges::sort(members, {}, [](const auto& at) { return utf16_key(at.key()); });
  }
  return members;
}

void append(std::string& to, const Json& value, int depth) {
  if (depth > kMaxDepth) fail(Code::bad_input, "JSON is nested deeper than {}", kMaxDepth);
  if (value.is_object()) {
    to += '{';
    bool first = true;
    for (const auto& member : sorted_members(value)) {
      if (!std::exchange(first, false)) to += ',';
      append_string(to, member.key());
      append(to += ':', member.value(), depth + 1);
    }
    to += '}';
  } else if (value.is_array()) {
    to += '[';
    for (std::size_t i = 0; i < value.size(); ++i) append(i == 0 ? to : to += ',', value[i], depth + 1);
    to += ']';
  } else if (value.is_string()) {
    append_string(to, value.get_ref<const std::string&>());
  } else if (value.is_number_float()) {
    append_double(to, value.get<double>());
  } else if (value.is_number()) {
    append_integer(to, value);
  } else {
    to += value.is_null() ? "null" : value.get<bool>() ? "true" : "false";
  }
}

/// Refuses what RFC 8259 leaves to the reader: repeated keys and any depth.
class StrictKeys {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth) fail(Code::bad_input, "nested deeper than {}", kMaxDepth);
    if (event == Json::parse_event_t::object_start) open_.emplace_back();
    if (event == Json::parse_event_t::object_end) open_.pop_back();
    if (event == Json::parse_event_t::key && !open_.back().insert(parsed.get<std::string>()).second) {
      fail(Code::bad_input, "the key {} occurs twice", parsed.dump());
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> open_;
};

}  // namespace

std::string canonical(const Json& value) {
  std::string text;
  append(text, value, 0);
  return text;
}

Json parse_json(std::string_view text, std::string_view what) {
  try {
    return Json::parse(text,
                       [keys = std::make_shared<StrictKeys>()](int depth, Json::parse_event_t event, Json& parsed) {
                         return (*keys)(depth, event, parsed);
                       });
  } catch (const Json::parse_error& error) {
    fail(Code::bad_input, "{}: expected JSON; byte {} is wrong", what, error.byte);
  } catch (const Json::exception&) {
    fail(Code::bad_input, "{}: a number is too large", what);
  } catch (const Error& error) {
    fail(Code::bad_input, "{}: {}", what, error.what());
  }
}

const Json& member(const Json& object, const char* name, std::string_view what) {
  if (!object.is_object())
    fail(Code::bad_input, "{}: expected an object with '{}', got {}", what, name, object.type_name());
  const auto found = object.find(name);
  if (found == object.end()) fail(Code::bad_input, "{}: '{}' is missing", what, name);
  return *found;
}

const std::string& text_member(const Json& object, const char* name, std::string_view what) {
  const Json& value = member(object, name, what);
  if (!value.is_string()) fail(Code::bad_input, "{}: '{}': expected a string, got {}", what, name, value.type_name());
  return value.get_ref<const std::string&>();
}

std::uint64_t number_member(const Json& object, const char* name, std::string_view what) {
  const Json& value = member(object, name, what);
  if (!value.is_number_unsigned()) {
    fail(Code::bad_input, "{}: '{}': expected an integer of at least 0, got {}", what, name, value.type_name());
  }
  return value.get<std::uint64_t>();
}

}  // namespace frazil::govern
