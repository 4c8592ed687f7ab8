#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// A parser for protobuf's text format without a schema.
namespace frazil::server {

struct TextField;

struct TextMessage {
  std::vector<TextField> fields;  ///< in the order of the text; one per value of a repeated field
};

struct TextField {
  enum class Kind : std::uint8_t {
    word,    ///< an identifier: an enumerator, true, inf
    number,  ///< as written, with its sign: -12, 0x1F, 017, 1.5e3f
    string,  ///< without quotes and escapes; any bytes
    message,
    none,  ///< an empty list: a field without values
  };
  std::string name;  ///< of an extension or an Any: [domain/type.name]
  Kind kind = Kind::none;
  std::string text;                  ///< of a scalar; a word may have a sign
  TextMessage message;               ///< of a message
  std::size_t line = 1, column = 1;  ///< of the field's name or the list's item; in bytes from 1
};

/// Parses a text of at most 1 MiB with at most 100 levels of messages. Throws api::Error (bad_input):
/// "NAME:LINE:COLUMN: expected ..., got ...". Fields are not checked for unknown names or repetition.
TextMessage read_text_proto(std::string_view text, const std::string& name);

}  // namespace frazil::server
