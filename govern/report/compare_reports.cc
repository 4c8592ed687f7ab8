#include "govern/report/compare_reports.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace frazil::govern {
namespace {

/// Returns the value without members whose name is "digest".
Json without_digests(const Json& value) {
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& item : value) list.push_back(without_digests(item));
    return list;
  }
  if (!value.is_object()) return value;
  Json object = Json::object();
  for (const auto& [name, member] : value.items()) {
    if (name != "digest") object[name] = without_digests(member);
  }
  return object;
}

std::string joined_names(const Json& names) {
  std::string text;
  for (const Json& name : names) (text += text.empty() ? "" : ", ") += name.get_ref<const std::string&>();
  return text;
}

std::string item_text(const std::string& member, const Json& item) {
  if (member == "selections") return selection_text(item);
  if (member == "operators") {
    const std::string domain = item.value("domain", "");
    return fmt::format("{}{} ({})", domain.empty() ? "" : domain + ".", item.value("name", ""), item.value("count", 0));
  }
  if (member == "unbounded") {
    return fmt::format("{} of {}: {}", item.value("of", ""), item.value("where", ""), item.value("why", ""));
  }
  if (member == "passes") return fmt::format("{} after {}", item.value("to", ""), joined_names(item.at("always")));
  return item.is_string() ? item.get<std::string>() : canonical(item);
}

/// Returns the contents of a member as texts: the items of a list, "key: source" of a map, and the value of a number.
std::set<std::string> texts_of(const std::string& member, const Json& value) {
  std::set<std::string> texts;
  if (value.is_array()) {
    for (const Json& item : value) texts.insert(item_text(member, without_digests(item)));
  } else if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) {
      const bool texts_only =
          inner.is_array() && std::ranges::all_of(inner, [](const Json& i) { return i.is_string(); });
      if (!texts_only) texts.insert(key + ": " + canonical(inner));
      if (texts_only && inner.empty()) texts.insert(key + ": nothing");
      for (const Json& item : texts_only ? inner : Json::array()) texts.insert(key + ": " + item.get<std::string>());
    }
  } else {
    texts.insert(value.is_null() ? "none" : canonical(value));
  }
  return texts;
}

}  // namespace

std::string selection_text(const Json& selection) {
  std::string text = selection.at("node");
  std::string before = ": ";
  for (const Json& one : selection.at("compares")) {
    text += fmt::format("{}{} compares {} with {}", before, one.at("node").get<std::string>(),
                        joined_names(one.at("inputs")), one.at("with").get<std::string>());
    before = "; ";
  }
  return selection.contains("more") ? text + "; and more" : text;
}

std::vector<std::string> differences(const Json& approved, const Json& now) {
  constexpr const char* kMembers[] = {"operators",
                                      "models",
                                      "endpoints",
                                      "code",
                                      "influence",
                                      "reaches",
                                      "selections",
                                      "passes",
                                      "always",
                                      "branches",
                                      "steps",
                                      "pipelines",
                                      "paths",
                                      "extents",
                                      "unbounded",
                                      "worst_operations",
                                      "worst_memory_bytes",
                                      "worst_output_bytes",
                                      "draws",
                                      "max_steps"};
  std::vector<std::string> lines;
  for (const std::string member : kMembers) {
    const auto texts_in = [&](const Json& report) {
      return report.contains(member) ? texts_of(member, report.at(member)) : std::set<std::string>();
    };
    const std::set<std::string> before = texts_in(approved), after = texts_in(now);
    for (const std::string& text : after) {
      if (!before.contains(text)) lines.push_back(fmt::format("+ {}: {}", member, text));
    }
    for (const std::string& text : before) {
      if (!after.contains(text)) lines.push_back(fmt::format("- {}: {}", member, text));
    }
  }
  return lines;
}

}  // namespace frazil::govern
