#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// ONNX's protobuf messages as trees that can be edited and written, including damaged ones.
namespace frazil::fuzz {

enum class Message : std::uint8_t {
  none,
  model,
  graph,
  node,
  attribute,
  tensor,
  sparse,
  value_info,
  type,
  tensor_type,
  shape,
  dimension,
  item_type,  ///< TypeProto.Sequence and TypeProto.Optional
  map_type,
  function,
  opset,
  pair,
  sequence,  ///< SequenceProto
  optional,  ///< OptionalProto
  map        ///< MapProto
};

/// The meaning of a field for mutations.
enum class Role : std::uint8_t {
  other,
  message,
  value_name,
  op_type,
  domain,
  attr_name,
  dim_name,
  function_name,
  text,
  raw,
  real,
  integer,
  extent,
  data_type,
  attr_type,
  version
};

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  std::uint32_t tag = 0;
  Wire wire = Wire::bytes;
  Role role = Role::other;
  Message message = Message::none;  ///< not none: the content is `fields`
  bool packed = false;              ///< the content is `fields`: numbers without tags
  std::uint64_t number = 0;
  std::string bytes;
  std::vector<Field> fields;
  int skew = 0;  ///< error added to the written length

  bool nested() const { return message != Message::none || packed; }
};

/// The kind of field `tag` of a message.
struct FieldKind {
  Message message = Message::none;
  Role role = Role::other;
  Wire packed = Wire::bytes;  ///< other than bytes: may be packed numbers of this kind
};
FieldKind kind_of(Message in, std::uint32_t tag);

Field text_field(std::uint32_t tag, Role role, std::string text);
Field number_field(std::uint32_t tag, Role role, std::uint64_t number);
Field message_field(std::uint32_t tag, Message message, std::vector<Field> fields);

/// Reads the message's fields below a root; returns nullopt if the bytes are not a sequence of fields.
std::optional<Field> read_tree(Message root, std::span<const std::uint8_t> bytes);
std::string write_tree(const Field& root);

}  // namespace frazil::fuzz
