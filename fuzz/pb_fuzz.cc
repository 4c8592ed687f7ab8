// Reads tensors, sequences, optionals and maps from ONNX's messages; the first byte says which. What is read is
// written and read again, and stays the same.
#include <algorithm>

#include "require.h"
#include "tensor/onnx_proto.h"
#include "wire_mutate.h"

namespace frazil::fuzz {
namespace {

ProtoKind proto_kind(std::uint8_t byte) { return static_cast<ProtoKind>(byte % 4); }

Message message_of(std::uint8_t byte) {
  constexpr Message kMessages[] = {Message::tensor, Message::sequence, Message::optional, Message::map};
  return kMessages[byte % 4];
}

ProtoKind kind_of(const Datum& value) {
  if (value.empty()) return ProtoKind::optional;
  return value.is_tensor() ? ProtoKind::tensor : value.is_sequence() ? ProtoKind::sequence : ProtoKind::map;
}

/// ONNX's messages hold values of one kind only; an optional in a sequence may be of several.
bool writable(const Datum& value);
bool all_writable(const std::vector<Datum>& items) {
  const bool optional = std::ranges::any_of(items, &Datum::empty);
  return std::ranges::all_of(items, writable) &&
         (optional || std::ranges::all_of(items, [&](const Datum& d) { return kind_of(d) == kind_of(items[0]); }));
}
bool writable(const Datum& value) {
  if (value.is_sequence()) return all_writable(value.sequence().items);
  if (!value.is_map()) return true;
  std::vector<Datum> values;
  for (const auto& [key, item] : value.map().items) values.push_back(item);
  return all_writable(values);
}

bool same(const Datum& a, const Datum& b);
bool all_same(const std::vector<Datum>& a, const std::vector<Datum>& b) { return std::ranges::equal(a, b, same); }
bool same(const Datum& a, const Datum& b) {
  if (kind_of(a) != kind_of(b)) return false;
  if (a.is_tensor()) return identical(a.tensor(), b.tensor());
  if (a.is_sequence()) return all_same(a.sequence().items, b.sequence().items);
  if (a.empty()) return true;
  return std::ranges::equal(a.map().items, b.map().items, [](const auto& x, const auto& y) {
    return identical(x.first, y.first) && same(x.second, y.second);
  });
}

void read_once(ProtoKind kind, std::span<const std::uint8_t> data) {
  const auto held = std::make_shared<std::vector<std::uint8_t>>(data.begin(), data.end());
  const auto value = datum_from_proto(kind, std::as_bytes(std::span(*held)), held);
  if (!value) return require_plain(value.error());
  const auto bytes = datum_to_proto(kind, *value);
  if (!bytes) {
    require_plain(bytes.error());
    return require(!writable(*value), "not written: {}", bytes.error().text());
  }
  const auto again = datum_from_proto(kind, std::as_bytes(std::span(*bytes)));
  require(again.has_value(), "not read again: {}", again ? "" : again.error().text());
  require(same(*again, *value), "a value changes when it is written");
}

}  // namespace
}  // namespace frazil::fuzz

using namespace frazil::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) read_once(proto_kind(data[0]), {data + 1, size - 1});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  if (size == 0) return 0;
  return 1 + mutate_message(message_of(data[0]), data + 1, size - 1, max_size - 1, seed);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size, const std::uint8_t* b,
                                                 std::size_t b_size, std::uint8_t* out, std::size_t max_size,
                                                 unsigned seed) {
  if (a_size == 0 || b_size == 0) return 0;
  out[0] = a[0];
  const std::size_t size =
      cross_messages(message_of(a[0]), {a + 1, a_size - 1}, {b + 1, b_size - 1}, {out + 1, max_size - 1}, seed);
  return size == 0 ? 0 : 1 + size;
}
