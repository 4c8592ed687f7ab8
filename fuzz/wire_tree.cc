#include "wire_tree.h"

#include <algorithm>
#include <utility>

namespace frazil::fuzz {
namespace {

constexpr int kMaxDepth = 64;

struct Row {
  Message in;
  std::uint32_t tag;
  FieldKind kind;
};

constexpr FieldKind message(Message m) { return {m, Role::message, Wire::bytes}; }
constexpr FieldKind plain(Role role) { return {Message::none, role, Wire::bytes}; }
constexpr FieldKind packed(Role role, Wire wire) { return {Message::none, role, wire}; }

constexpr Row kRows[] = {
    {Message::model, 1, plain(Role::version)},
    {Message::model, 7, message(Message::graph)},
    {Message::model, 8, message(Message::opset)},
    {Message::model, 14, message(Message::pair)},
    {Message::model, 25, message(Message::function)},
    {Message::graph, 1, message(Message::node)},
    {Message::graph, 2, plain(Role::text)},
    {Message::graph, 5, message(Message::tensor)},
    {Message::graph, 11, message(Message::value_info)},
    {Message::graph, 12, message(Message::value_info)},
    {Message::graph, 13, message(Message::value_info)},
    {Message::graph, 15, message(Message::sparse)},
    {Message::node, 1, plain(Role::value_name)},
    {Message::node, 2, plain(Role::value_name)},
    {Message::node, 3, plain(Role::text)},
    {Message::node, 4, plain(Role::op_type)},
    {Message::node, 5, message(Message::attribute)},
    {Message::node, 7, plain(Role::domain)},
    {Message::node, 8, plain(Role::text)},
    {Message::attribute, 1, plain(Role::attr_name)},
    {Message::attribute, 2, plain(Role::real)},
    {Message::attribute, 3, plain(Role::integer)},
    {Message::attribute, 4, plain(Role::text)},
    {Message::attribute, 5, message(Message::tensor)},
    {Message::attribute, 6, message(Message::graph)},
    {Message::attribute, 7, packed(Role::real, Wire::fixed32)},
    {Message::attribute, 8, packed(Role::integer, Wire::varint)},
    {Message::attribute, 9, plain(Role::text)},
    {Message::attribute, 10, message(Message::tensor)},
    {Message::attribute, 11, message(Message::graph)},
    {Message::attribute, 14, message(Message::type)},
    {Message::attribute, 15, message(Message::type)},
    {Message::attribute, 20, plain(Role::attr_type)},
    {Message::attribute, 21, plain(Role::attr_name)},
    {Message::attribute, 22, message(Message::sparse)},
    {Message::tensor, 1, packed(Role::extent, Wire::varint)},
    {Message::tensor, 2, plain(Role::data_type)},
    {Message::tensor, 4, packed(Role::real, Wire::fixed32)},
    {Message::tensor, 5, packed(Role::integer, Wire::varint)},
    {Message::tensor, 6, plain(Role::text)},
    {Message::tensor, 7, packed(Role::integer, Wire::varint)},
    {Message::tensor, 8, plain(Role::value_name)},
    {Message::tensor, 9, plain(Role::raw)},
    {Message::tensor, 10, packed(Role::real, Wire::fixed64)},
    {Message::tensor, 11, packed(Role::integer, Wire::varint)},
    {Message::tensor, 13, message(Message::pair)},
    {Message::tensor, 14, plain(Role::integer)},
    {Message::sparse, 1, message(Message::tensor)},
    {Message::sparse, 2, message(Message::tensor)},
    {Message::sparse, 3, packed(Role::extent, Wire::varint)},
    {Message::value_info, 1, plain(Role::value_name)},
    {Message::value_info, 2, message(Message::type)},
    {Message::type, 1, message(Message::tensor_type)},
    {Message::type, 4, message(Message::item_type)},
    {Message::type, 5, message(Message::map_type)},
    {Message::type, 8, message(Message::tensor_type)},
    {Message::type, 9, message(Message::item_type)},
    {Message::tensor_type, 1, plain(Role::data_type)},
    {Message::tensor_type, 2, message(Message::shape)},
    {Message::shape, 1, message(Message::dimension)},
    {Message::dimension, 1, plain(Role::extent)},
    {Message::dimension, 2, plain(Role::dim_name)},
    {Message::item_type, 1, message(Message::type)},
    {Message::map_type, 1, plain(Role::data_type)},
    {Message::map_type, 2, message(Message::type)},
    {Message::function, 1, plain(Role::op_type)},
    {Message::function, 4, plain(Role::value_name)},
    {Message::function, 5, plain(Role::value_name)},
    {Message::function, 6, plain(Role::attr_name)},
    {Message::function, 7, message(Message::node)},
    {Message::function, 9, message(Message::opset)},
    {Message::function, 10, plain(Role::domain)},
    {Message::function, 11, message(Message::attribute)},
    {Message::function, 12, message(Message::value_info)},
    {Message::function, 13, plain(Role::text)},
    {Message::opset, 1, plain(Role::domain)},
    {Message::opset, 2, plain(Role::version)},
    {Message::pair, 1, plain(Role::text)},
    {Message::pair, 2, plain(Role::text)},
    {Message::sequence, 2, plain(Role::data_type)},
    {Message::sequence, 3, message(Message::tensor)},
    {Message::sequence, 4, message(Message::sparse)},
    {Message::sequence, 5, message(Message::sequence)},
    {Message::sequence, 6, message(Message::map)},
    {Message::sequence, 7, message(Message::optional)},
    {Message::optional, 2, plain(Role::data_type)},
    {Message::optional, 3, message(Message::tensor)},
    {Message::optional, 4, message(Message::sparse)},
    {Message::optional, 5, message(Message::sequence)},
    {Message::optional, 6, message(Message::map)},
    {Message::optional, 7, message(Message::optional)},
    {Message::map, 2, plain(Role::data_type)},
    {Message::map, 3, packed(Role::integer, Wire::varint)},
    {Message::map, 4, plain(Role::text)},
    {Message::map, 5, message(Message::sequence)},
};

using Bytes = std::span<const std::uint8_t>;

/// Reads bytes from the front; `ok` says whether all that was asked for was there.
struct Cursor {
  Bytes left;
  bool ok = true;

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !left.empty(); shift += 7) {
      const std::uint8_t b = left[0];
      left = left.subspan(1);
      value |= static_cast<std::uint64_t>(b & 0x7f) << shift;
      if (b < 0x80) return value;
    }
    ok = false;
    return 0;
  }
  Bytes take(std::uint64_t size) {
    ok &= size <= left.size();
    if (!ok) return {};
    const Bytes taken = left.first(size);
    left = left.subspan(size);
    return taken;
  }
  std::uint64_t fixed(std::size_t width) {
    std::uint64_t value = 0;
    const Bytes taken = take(width);
    for (std::size_t i = taken.size(); i-- > 0;) value = value << 8 | taken[i];
    return value;
  }
  std::uint64_t number(Wire wire) { return wire == Wire::varint ? varint() : fixed(wire == Wire::fixed64 ? 8 : 4); }
};

bool read_fields(Message in, Bytes bytes, int depth, std::vector<Field>& to);

bool read_packed(Wire wire, Role role, Bytes bytes, std::vector<Field>& to) {
  Cursor cursor{bytes};
  while (cursor.ok && !cursor.left.empty()) {
    Field f = number_field(0, role, cursor.number(wire));
    f.wire = wire;
    to.push_back(std::move(f));
  }
  return cursor.ok;
}

void read_content(const FieldKind& kind, Bytes bytes, int depth, Field& field) {
  if (kind.message != Message::none && depth < kMaxDepth) {
    if (read_fields(kind.message, bytes, depth + 1, field.fields)) {
      field.message = kind.message;
      return;
    }
  } else if (kind.packed != Wire::bytes) {
    field.packed = read_packed(kind.packed, kind.role, bytes, field.fields);
    if (field.packed) return;
  }
  field.fields.clear();
  field.bytes.assign(bytes.begin(), bytes.end());
}

bool read_fields(Message in, Bytes bytes, int depth, std::vector<Field>& to) {
  Cursor cursor{bytes};
  while (!cursor.left.empty()) {
    const std::uint64_t key = cursor.varint();
    if (!cursor.ok || key >> 3 == 0 || key >> 3 >= 1u << 29) return false;
    Field field;
    field.tag = static_cast<std::uint32_t>(key >> 3);
    const auto wire = static_cast<std::uint8_t>(key & 7);
    if (wire != 0 && wire != 1 && wire != 2 && wire != 5) return false;
    field.wire = static_cast<Wire>(wire);
    const FieldKind kind = kind_of(in, field.tag);
    field.role = kind.role;
    if (field.wire == Wire::bytes) {
      const Bytes content = cursor.take(cursor.varint());
      if (cursor.ok) read_content(kind, content, depth, field);
    } else {
      field.number = cursor.number(field.wire);
    }
    if (!cursor.ok) return false;
    to.push_back(std::move(field));
  }
  return true;
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_number(std::string& out, Wire wire, std::uint64_t value) {
  if (wire == Wire::varint) return put_varint(out, value);
  for (int i = 0; i < (wire == Wire::fixed64 ? 8 : 4); ++i) out += static_cast<char>(value >> (8 * i));
}

std::string content_of(const Field& field) {
  if (!field.nested()) return field.bytes;
  std::string out;
  for (const Field& f : field.fields) {
    if (!field.packed) put_varint(out, std::uint64_t{f.tag} << 3 | static_cast<std::uint8_t>(f.wire));
    if (f.wire != Wire::bytes) {
      put_number(out, f.wire, f.number);
      continue;
    }
    const std::string content = content_of(f);
    const std::int64_t length = static_cast<std::int64_t>(content.size()) + f.skew;
    if (!field.packed) put_varint(out, static_cast<std::uint64_t>(std::max<std::int64_t>(length, 0)));
    out += content;
  }
  return out;
}

}  // namespace

FieldKind kind_of(Message in, std::uint32_t tag) {
  for (const Row& row : kRows) {
    if (row.in == in && row.tag == tag) return row.kind;
  }
  return {};
}

Field text_field(std::uint32_t tag, Role role, std::string text) {
  Field f;
  f.tag = tag;
  f.role = role;
  f.bytes = std::move(text);
  return f;
}

Field number_field(std::uint32_t tag, Role role, std::uint64_t number) {
  Field f;
  f.tag = tag;
  f.role = role;
  f.wire = Wire::varint;
  f.number = number;
  return f;
}

Field message_field(std::uint32_t tag, Message message, std::vector<Field> fields) {
  Field f;
  f.tag = tag;
  f.role = Role::message;
  f.message = message;
  f.fields = std::move(fields);
  return f;
}

std::optional<Field> read_tree(Message root, Bytes bytes) {
  Field field = message_field(0, root, {});
  if (!read_fields(root, bytes, 0, field.fields)) return std::nullopt;
  return field;
}

std::string write_tree(const Field& root) { return content_of(root); }

}  // namespace frazil::fuzz
