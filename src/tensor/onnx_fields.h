#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <protozero/pbf_reader.hpp>

#include "base/error.h"

namespace frazil::proto {

/// Field numbers of onnx.proto.
enum TensorField : protozero::pbf_tag_type {
  kDims = 1,
  kDataType = 2,
  kSegment = 3,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kTensorName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternalData = 13,
  kDataLocation = 14
};
enum SequenceField : protozero::pbf_tag_type {
  kSequenceName = 1,
  kSequenceElemType = 2,
  kTensorValues = 3,
  kSparseValues = 4,
  kSequenceValues = 5,
  kMapValues = 6,
  kOptionalValues = 7
};
enum OptionalField : protozero::pbf_tag_type {
  kOptionalName = 1,
  kOptionalElemType = 2,
  kTensorValue = 3,
  kSparseValue = 4,
  kSequenceValue = 5,
  kMapValue = 6,
  kOptionalValue = 7
};
enum MapField : protozero::pbf_tag_type { kMapName = 1, kKeyType = 2, kKeys = 3, kStringKeys = 4, kMapContent = 5 };

inline protozero::data_view view_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> bytes_of(const protozero::data_view& view) {
  return {reinterpret_cast<const std::byte*>(view.data()), view.size()};
}

inline std::string_view text_of(const protozero::data_view& view) { return {view.data(), view.size()}; }

/// A name from a file, fit for a one-line message.
std::string shown(std::string_view name);

/// Code::bad_model when the current field has another wire type.
Status expect_wire(const protozero::pbf_reader& reader, protozero::pbf_wire_type type);

/// Calls fn(std::uint64_t) for each value of the current field of varints, packed or not.
template <class Fn>
Status each_varint(protozero::pbf_reader& reader, Fn fn) {
  if (reader.wire_type() != protozero::pbf_wire_type::length_delimited) {
    FRAZIL_CHECK(expect_wire(reader, protozero::pbf_wire_type::varint));
    fn(reader.get_uint64());
    return {};
  }
  const protozero::data_view view = reader.get_view();
  const char* at = view.data();
  const char* end = at + view.size();
  while (at != end) fn(protozero::decode_varint(&at, end));
  return {};
}

/// Calls fn(span of little-endian bytes) for the current field of fixed-size values of `width` bytes, packed or not.
template <class Fn>
Status each_fixed(protozero::pbf_reader& reader, std::size_t width, Fn fn) {
  if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
    const auto bytes = bytes_of(reader.get_view());
    if (bytes.size() % width != 0) return fail(Code::bad_model, "{} bytes of {}-byte values", bytes.size(), width);
    fn(bytes);
    return {};
  }
  FRAZIL_CHECK(expect_wire(reader, width == 4 ? protozero::pbf_wire_type::fixed32 : protozero::pbf_wire_type::fixed64));
  const char* start = reader.data().data();
  reader.skip();
  fn(std::span(reinterpret_cast<const std::byte*>(start), width));
  return {};
}

}  // namespace frazil::proto
