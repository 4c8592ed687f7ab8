#include "govern/sign/statement.h"

#include <frazil/text.h>

#include "govern/base/error.h"

namespace frazil::govern {
namespace {

constexpr std::string_view kStatementType = "https://in-toto.io/Statement/v1";

void require_member(const Json& json, const char* name, std::string_view expected, std::string_view what) {
  const std::string& text = text_member(json, name, what);
  if (text != expected) {
    fail(Code::bad_input, "{}: '{}': expected '{}', got '{}'", what, name, expected, api::printable(text));
  }
}

}  // namespace

Json statement(const std::vector<Subject>& subjects, std::string_view predicate_type, Json predicate) {
  Json list = Json::array();
  for (const auto& [name, digest] : subjects) list.push_back({{"name", name}, {"digest", {{"sha256", digest}}}});
  return {{"_type", kStatementType},
          {"subject", std::move(list)},
          {"predicateType", predicate_type},
          {"predicate", std::move(predicate)}};
}

Statement read_statement(std::string_view payload, std::string_view predicate_type, std::string_view what) {
  const Json json = parse_json(payload, what);
  require_member(json, "_type", kStatementType, what);
  require_member(json, "predicateType", predicate_type, what);
  const Json& subjects = member(json, "subject", what);
  if (!subjects.is_array() || subjects.empty()) fail(Code::bad_input, "{}: 'subject': expected a list", what);
  Statement read{.subjects = {}, .predicate = member(json, "predicate", what)};
  for (const Json& subject : subjects) {
    read.subjects.push_back({.name = text_member(subject, "name", what),
                             .digest = text_member(member(subject, "digest", what), "sha256", what)});
  }
  return read;
}

}  // namespace frazil::govern
