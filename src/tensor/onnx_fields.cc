#include "tensor/onnx_fields.h"

#include "base/value/text.h"

namespace frazil::proto {

bool Reader::next() {
  if (at_ == end_) return false;
  const std::uint64_t key = varint();
  const std::uint64_t tag = key >> 3;
  constexpr std::uint64_t kMaxTag = (1u << 29) - 1;
  if (tag == 0 || tag > kMaxTag || (tag >= 19000 && tag <= 19999)) throw protozero::invalid_tag_exception();
  tag_ = static_cast<Tag>(tag);
  wire_ = static_cast<Wire>(key & 7);
  const bool known =
      wire_ == Wire::varint || wire_ == Wire::fixed64 || wire_ == Wire::length_delimited || wire_ == Wire::fixed32;
  if (!known) throw protozero::unknown_pbf_wire_type_exception();
  return true;
}

bool Reader::next(Tag tag) {
  while (next()) {
    if (tag_ == tag) return true;
    skip();
  }
  return false;
}

std::string_view Reader::take(std::uint64_t size) {
  if (size > static_cast<std::uint64_t>(end_ - at_)) throw protozero::end_of_buffer_exception();
  const std::string_view taken(at_, static_cast<std::size_t>(size));
  at_ += size;
  return taken;
}

std::string_view Reader::text() {
  const std::uint64_t size = varint();
  return take(size);
}

std::span<const std::byte> Reader::fixed(std::size_t width) {
  const std::string_view taken = take(width);
  return {reinterpret_cast<const std::byte*>(taken.data()), width};
}

void Reader::skip() {
  switch (wire_) {
    case Wire::varint: varint(); break;
    case Wire::fixed64: take(8); break;
    case Wire::fixed32: take(4); break;
    default: text(); break;
  }
}

std::string shown(std::string_view name) { return printable(name, 200); }

Status expect_wire(const Reader& reader, Wire type) {
  if (reader.wire() == type) return {};
  return fail(Code::bad_model, "field {} has wire type {}, expected {}", reader.tag(), static_cast<int>(reader.wire()),
              static_cast<int>(type));
}

}  // namespace frazil::proto
