#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace frazil::govern {

using Json = nlohmann::json;

/// Returns the canonical text of RFC 8785: no spaces, keys in the order of their UTF-16 code units, numbers as
/// ECMAScript writes them. Texts that are equal mean equal values, so a digest of the text identifies the value. Throws
/// Code::bad_input for a number that is not finite, for an integer beyond 2^53, and for a text that is not UTF-8.
std::string canonical(const Json& value);

/// Reads one JSON value (RFC 8259). `what` names the text in errors: "file 'policy.sig'". Throws Code::bad_input for a
/// text that is not JSON, for a key that occurs twice in an object, for nesting deeper than 64, and for bytes after the
/// value.
Json parse_json(std::string_view text, std::string_view what);

/// Returns a member of an object. Throw Code::bad_input, with `what` and the name of the member, if the value is not an
/// object, has no such member, or the member has another type.
const Json& member(const Json& object, const char* name, std::string_view what);
const std::string& text_member(const Json& object, const char* name, std::string_view what);
std::uint64_t number_member(const Json& object, const char* name, std::string_view what);

}  // namespace frazil::govern
