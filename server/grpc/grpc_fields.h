#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>
#include <simdjson.h>

#include "server/core/message.h"

// Reading of protobuf messages. Functions throw Refusal (bad_request) that names a damaged field.
namespace frazil::server::proto {

using Tag = protozero::pbf_tag_type;

/// Refuses an item beyond the limit of a list, whose items take more memory than their bytes in the message.
template <class List>
void expect_room(const List& list, std::size_t most, const char* what) {
  if (list.size() >= most) refuse(std::string(what) + ": more than " + std::to_string(most));
}

/// The fields of one message, in their order in the bytes. The name of a field is used in the error for a damaged one.
class Fields {
 public:
  Fields(std::string_view bytes, std::string_view message)
      : reader_(protozero::data_view(bytes.data(), bytes.size())), message_(message) {}

  bool next() {
    return whole([&] { return reader_.next(); });
  }
  Tag tag() { return last_ = reader_.tag(); }
  void skip() {
    whole([&] { reader_.skip(); });
  }

  std::string_view bytes(const char* name) {
    return read(name, protozero::pbf_wire_type::length_delimited, [&] { return view(); });
  }
  std::string_view text(const char* name) {
    const std::string_view text = bytes(name);
    if (!simdjson::validate_utf8(text.data(), text.size())) refuse(at(name) + " is not valid UTF-8");
    return text;
  }
  std::uint64_t varint(const char* name) {
    return read(name, protozero::pbf_wire_type::varint, [&] { return reader_.get_uint64(); });
  }
  bool truth(const char* name) { return varint(name) != 0; }
  double real(const char* name) {
    return read(name, protozero::pbf_wire_type::fixed64, [&] { return reader_.get_double(); });
  }

  /// Calls `item` for each varint of the current field: many if it is packed, otherwise one.
  template <class F>
  void each_varint(const char* name, F item) {
    if (!packed()) return item(varint(name));
    read(name, protozero::pbf_wire_type::length_delimited, [&] {
      const std::string_view all = view();
      const char *at = all.data(), *const end = at + all.size();
      while (at != end) item(protozero::decode_varint(&at, end));
    });
  }
  /// Does the same as each_varint() for float and double.
  template <class T, class F>
  void each_fixed(const char* name, F item) {
    constexpr bool is_wide = sizeof(T) == sizeof(double);
    if (!packed()) {
      return item(read(name, is_wide ? protozero::pbf_wire_type::fixed64 : protozero::pbf_wire_type::fixed32, [&] {
        return is_wide ? static_cast<T>(reader_.get_double()) : static_cast<T>(reader_.get_float());
      }));
    }
    std::string_view all = bytes(name);
    if (all.size() % sizeof(T) != 0) refuse(at(name) + " is damaged");
    for (; !all.empty(); all.remove_prefix(sizeof(T))) {
      T value;
      std::memcpy(&value, all.data(), sizeof value);  // NOLINT(bugprone-suspicious-stringview-data-usage): it has them
      item(value);
    }
  }

 private:
  bool packed() const { return reader_.has_wire_type(protozero::pbf_wire_type::length_delimited); }
  std::string_view view() {
    const auto view = reader_.get_view();
    return {view.data(), view.size()};
  }
  std::string at(const char* name) const { return std::string(message_) + ": field '" + name + "'"; }

  template <class F>
  std::invoke_result_t<F> whole(F f) {
    try {
      return f();
    } catch (const protozero::exception&) {
      refuse(std::string(message_) + ": damaged at or after field " + std::to_string(last_));
    }
  }

  template <class F>
  std::invoke_result_t<F> read(const char* name, protozero::pbf_wire_type wanted, F get) {
    if (!reader_.has_wire_type(wanted)) refuse(at(name) + " has another wire type");
    try {
      return get();
    } catch (const protozero::exception&) {
      refuse(at(name) + " is damaged");
    }
  }

  protozero::pbf_reader reader_;
  std::string_view message_;
  Tag last_ = 0;
};

/// A value of a parameter.
using Given = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;

inline Given read_value(std::string_view bytes) {
  Fields fields(bytes, "InferParameter");
  Given given;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1: given = fields.truth("bool_param"); break;
      case 2: given = static_cast<std::int64_t>(fields.varint("int64_param")); break;
      case 3: given = std::string(fields.text("string_param")); break;
      case 4: given = fields.real("double_param"); break;
      case 5: given = fields.varint("uint64_param"); break;
      default: fields.skip();
    }
  }
  return given;
}

/// Reads an entry of a map of parameters.
inline std::pair<std::string_view, std::string_view> read_entry(std::string_view bytes, std::string_view map) {
  Fields fields(bytes, map);
  std::pair<std::string_view, std::string_view> entry;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1: entry.first = fields.text("key"); break;
      case 2: entry.second = fields.bytes("value"); break;
      default: fields.skip();
    }
  }
  return entry;
}

[[noreturn]] inline void refuse_parameter(std::string_view key, const char* expected) {
  refuse("parameter " + std::string(key) + ": expected " + expected);
}

inline std::uint64_t unsigned_of(std::string_view key, const Given& given) {
  if (const auto* value = std::get_if<std::uint64_t>(&given)) return *value;
  const auto* value = std::get_if<std::int64_t>(&given);
  if (value == nullptr || *value < 0) refuse_parameter(key, "an integer that is not negative");
  return static_cast<std::uint64_t>(*value);
}

inline bool truth_of(std::string_view key, const Given& given) {
  if (const auto* value = std::get_if<bool>(&given)) return *value;
  refuse_parameter(key, "a bool");
}

}  // namespace frazil::server::proto
