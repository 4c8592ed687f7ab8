#include "server/grpc/descriptors.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace frazil::server::proto {
namespace {

using protozero::pbf_writer;

// Values of FieldDescriptorProto.Type and Label.
constexpr std::int32_t kMessageType = 11, kEnumType = 14, kOptional = 1, kRepeated = 3;

struct Scalar {
  std::string_view name;
  std::int32_t type;
};
constexpr Scalar kScalars[] = {{"double", 1}, {"float", 2},  {"int64", 3},  {"uint64", 4}, {"int32", 5},
                               {"bool", 8},   {"string", 9}, {"bytes", 12}, {"uint32", 13}};

/// Returns the part of a list up to a separator and removes it.
std::string_view take(std::string_view& list, char separator) {
  const std::size_t end = std::min(list.find(separator), list.size());
  const std::string_view part = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return part;
}

std::int32_t number_of(std::string_view text) {
  std::int32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Returns the last part of "Outer.Inner".
std::string_view own_name(std::string_view name) { return name.substr(name.rfind('.') + 1); }

bool is_within(std::string_view inner, std::string_view outer) {
  return inner.size() == outer.size() + 1 + own_name(inner).size() && inner.starts_with(outer) &&
         inner[outer.size()] == '.';
}

bool is_outermost(std::string_view name) { return name.find('.') == std::string_view::npos; }

std::string full_name(const ProtoFile& file, std::string_view name) {
  return std::string(file.package) + "." + std::string(name);
}

/// Returns the name of the entry type of a map, "ParametersEntry".
std::string entry_name(std::string_view field) {
  std::string name;
  bool upper = true;
  for (const char c : field) {
    if (c != '_') name += upper ? static_cast<char>(c - 'a' + 'A') : c;
    upper = c == '_';
  }
  return name + "Entry";
}

struct Field {
  char mark = 0;  ///< '*', '%', '?' or 0
  std::string_view name, type;
  std::int32_t number = 0;
};

std::vector<Field> fields_of(std::string_view list) {
  std::vector<Field> fields;
  while (!list.empty()) {
    std::string_view text = take(list, ' ');
    Field field;
    if (text.front() == '*' || text.front() == '%' || text.front() == '?') {
      field.mark = text.front();
      text.remove_prefix(1);
    }
    field.name = take(text, ':');
    field.number = number_of(take(text, ':'));
    field.type = text;
    fields.push_back(field);
  }
  return fields;
}

/// Writes a FieldDescriptorProto.
void add_field(pbf_writer& message, const ProtoFile& file, std::string_view outer, const Field& field) {
  pbf_writer to(message, 2);
  to.add_string(1, field.name.data(), field.name.size());
  to.add_int32(3, field.number);
  to.add_enum(4, field.mark == '*' || field.mark == '%' ? kRepeated : kOptional);
  const auto* const scalar = std::ranges::find(kScalars, field.type, &Scalar::name);
  if (field.mark == '%') {
    to.add_enum(5, kMessageType);
    to.add_string(6, "." + full_name(file, outer) + "." + entry_name(field.name));
  } else if (scalar != std::end(kScalars)) {
    to.add_enum(5, scalar->type);
  } else {
    const bool is_enum = field.type.starts_with('#');
    to.add_enum(5, is_enum ? kEnumType : kMessageType);
    to.add_string(6, "." + full_name(file, field.type.substr(is_enum ? 1 : 0)));
  }
  if (field.mark == '?') to.add_int32(9, 0);
}

/// Writes the entry type of a map: a DescriptorProto with the option map_entry.
void add_entry(pbf_writer& message, const ProtoFile& file, const Field& map) {
  pbf_writer to(message, 3);
  to.add_string(1, entry_name(map.name));
  add_field(to, file, "", {.name = "key", .type = "string", .number = 1});
  add_field(to, file, "", {.name = "value", .type = map.type, .number = 2});
  pbf_writer(to, 7).add_bool(7, true);
}

void add_enum(pbf_writer& outer, protozero::pbf_tag_type tag, const EnumRow& row) {
  pbf_writer to(outer, tag);
  const std::string_view name = own_name(row.name);
  to.add_string(1, name.data(), name.size());
  for (std::string_view list = row.values; !list.empty();) {
    std::string_view text = take(list, ' ');
    const std::string_view value = take(text, ':');
    pbf_writer inner(to, 2);
    inner.add_string(1, value.data(), value.size());
    inner.add_int32(2, number_of(text));
  }
}

/// Writes a DescriptorProto with its nested messages and enumerations.
void add_message(pbf_writer& outer, protozero::pbf_tag_type tag, const ProtoFile& file, const MessageRow& row) {
  pbf_writer to(outer, tag);
  const std::string_view name = own_name(row.name);
  const std::vector<Field> fields = fields_of(row.fields);
  to.add_string(1, name.data(), name.size());
  for (const Field& field : fields) add_field(to, file, row.name, field);
  for (const Field& field : fields) {
    if (field.mark == '%') add_entry(to, file, field);
  }
  for (const MessageRow& inner : file.messages) {
    if (is_within(inner.name, row.name)) add_message(to, 3, file, inner);
  }
  for (const EnumRow& inner : file.enums) {
    if (is_within(inner.name, row.name)) add_enum(to, 4, inner);
  }
  if (std::ranges::any_of(fields, [](const Field& field) { return field.mark == '?'; })) {
    pbf_writer(to, 8).add_string(1, "choice");
  }
}

void add_service(pbf_writer& outer, const ProtoFile& file, const ServiceRow& row) {
  pbf_writer to(outer, 6);
  to.add_string(1, row.name.data(), row.name.size());
  for (const MethodRow& method : row.methods) {
    pbf_writer inner(to, 2);
    inner.add_string(1, method.name.data(), method.name.size());
    inner.add_string(2, "." + full_name(file, method.request));
    inner.add_string(3, "." + full_name(file, method.response));
    if (method.client_streams) inner.add_bool(5, true);
    if (method.server_streams) inner.add_bool(6, true);
  }
}

bool declares(const ServiceRow& service, std::string_view name) {
  return name == service.name || std::ranges::any_of(service.methods, [&](const MethodRow& method) {
           return name == std::string(service.name) + "." + std::string(method.name);
         });
}

bool declares(const ProtoFile& file, std::string_view name) {
  return std::ranges::any_of(file.messages, [&](const MessageRow& row) { return row.name == name; }) ||
         std::ranges::any_of(file.enums, [&](const EnumRow& row) { return row.name == name; }) ||
         std::ranges::any_of(file.services, [&](const ServiceRow& row) { return declares(row, name); });
}

}  // namespace

std::string descriptor_of(const ProtoFile& file) {
  std::string bytes;
  pbf_writer to(bytes);
  to.add_string(1, file.name.data(), file.name.size());
  to.add_string(2, file.package.data(), file.package.size());
  for (const MessageRow& row : file.messages) {
    if (is_outermost(row.name)) add_message(to, 4, file, row);
  }
  for (const EnumRow& row : file.enums) {
    if (is_outermost(row.name)) add_enum(to, 5, row);
  }
  for (const ServiceRow& row : file.services) add_service(to, file, row);
  to.add_string(12, "proto3");
  return bytes;
}

const ProtoFile* file_of_symbol(std::string_view symbol) {
  for (const ProtoFile& file : proto_files()) {
    if (!symbol.starts_with(file.package) || symbol.substr(file.package.size()).substr(0, 1) != ".") continue;
    if (declares(file, symbol.substr(file.package.size() + 1))) return &file;
  }
  return nullptr;
}

}  // namespace frazil::server::proto
