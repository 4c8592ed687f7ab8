#include "server/replay/environment.h"

#include <set>

#include "govern/base/json.h"
#include "server/core/digest.h"

namespace frazil::server {

std::string Environment::text() const { return parts.empty() ? "" : govern::canonical(parts); }

std::string Environment::digest() const { return parts.empty() ? "" : "sha256:" + sha256(text()); }

Environment environment_of(const std::string& text) {
  return {govern::parse_json(text, "environment").get<std::map<std::string, std::string>>()};
}

std::string differences(const Environment& there, const Environment& here) {
  const auto value_in = [](const Environment& of, const std::string& name) {
    const auto at = of.parts.find(name);
    return at == of.parts.end() ? std::string("unset") : at->second;
  };
  std::set<std::string> names;
  for (const Environment* of : {&there, &here}) {
    for (const auto& [name, value] : of->parts) names.insert(name);
  }
  std::string text;
  for (const std::string& name : names) {
    const std::string was = value_in(there, name), is = value_in(here, name);
    if (was != is) text += (text.empty() ? "" : "; ") + name + ": " + was + " there, " + is + " here";
  }
  return text;
}

}  // namespace frazil::server
