#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "govern/policy/value.h"

namespace frazil::govern {

struct RecordType;

/// A static type with its bounds. Types refer to the types of their parts, which must outlive them.
struct ValueType {
  ValueKind kind = ValueKind::boolean;
  std::uint32_t bound = 0;             ///< most bytes of a text, elements of a list, entries of a map
  std::uint32_t key_bound = 0;         ///< most bytes of a key of a map
  const ValueType* element = nullptr;  ///< of a list or a map; nullptr for the literals [] and {}
  const RecordType* record = nullptr;
};

/// A field of a record.
struct Field {
  const char* name;
  ValueType type;
  const char* doc;
  bool optional = false;     ///< has() is meant to be asked before the field is read
  bool per_request = false;  ///< differs between requests of the same model version and tenant
};

struct RecordType {
  const char* name;
  std::vector<Field> fields;

  /// Returns the index of a field.
  std::optional<std::uint32_t> find(std::string_view field) const;
  /// Returns "tenant, model, version".
  std::string field_names() const;
};

/// Returns whether values of the types can be compared. Bounds do not count; the element type of [] fits every other.
bool is_same(const ValueType& a, const ValueType& b);
/// Returns "int", "list<string>", "map<string, int>", "record signature".
std::string name_of(const ValueType& type);
/// Returns the type with its bounds: "list<string<=64><=100>".
std::string bounded_name_of(const ValueType& type);

}  // namespace frazil::govern
