#include "govern/policy/type.h"

#include <fmt/format.h>

namespace frazil::govern {
namespace {

std::string type_text(const ValueType& type, bool bounds) {
  const auto bound = [&](std::uint32_t most) { return bounds ? fmt::format("<={}", most) : std::string(); };
  const auto element = [&] { return type.element == nullptr ? "?" : type_text(*type.element, bounds); };
  switch (type.kind) {
    case ValueKind::boolean: return "bool";
    case ValueKind::integer: return "int";
    case ValueKind::real: return "double";
    case ValueKind::text: return "string" + bound(type.bound);
    case ValueKind::list: return fmt::format("list<{}>{}", element(), bound(type.bound));
    case ValueKind::map: return fmt::format("map<string{}, {}>{}", bound(type.key_bound), element(), bound(type.bound));
    case ValueKind::record: return fmt::format("record {}", type.record->name);
    case ValueKind::absent:
    case ValueKind::error: break;
  }
  return "none";
}

}  // namespace

std::optional<std::uint32_t> RecordType::find(std::string_view field) const {
  for (std::uint32_t i = 0; i < fields.size(); ++i) {
    if (field == fields[i].name) return i;
  }
  return std::nullopt;
}

std::string RecordType::field_names() const {
  std::string names;
  for (const Field& field : fields) names += fmt::format("{}{}", names.empty() ? "" : ", ", field.name);
  return names;
}

bool is_same(const ValueType& a, const ValueType& b) {
  if (a.kind != b.kind || a.record != b.record) return false;
  if (a.element == nullptr || b.element == nullptr) return true;
  return is_same(*a.element, *b.element);
}

std::string name_of(const ValueType& type) { return type_text(type, false); }
std::string bounded_name_of(const ValueType& type) { return type_text(type, true); }

}  // namespace frazil::govern
