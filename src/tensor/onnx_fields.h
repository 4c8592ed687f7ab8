#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <protozero/exception.hpp>
#include <protozero/types.hpp>
#include <protozero/varint.hpp>

#include "base/value/error.h"

namespace frazil::proto {

using Tag = protozero::pbf_tag_type;
using Wire = protozero::pbf_wire_type;

/// The most levels to which sequences and optionals may nest.
inline constexpr int kMaxDepth = 64;

/// Field numbers of onnx.proto.
enum TensorField : Tag {
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
enum SequenceField : Tag {
  kSequenceName = 1,
  kSequenceElemType = 2,
  kTensorValues = 3,
  kSparseValues = 4,
  kSequenceValues = 5,
  kMapValues = 6,
  kOptionalValues = 7
};
enum OptionalField : Tag {
  kOptionalName = 1,
  kOptionalElemType = 2,
  kTensorValue = 3,
  kSparseValue = 4,
  kSequenceValue = 5,
  kMapValue = 6,
  kOptionalValue = 7
};
enum MapField : Tag { kMapName = 1, kKeyType = 2, kKeys = 3, kStringKeys = 4, kMapContent = 5 };

/// An iterator over the fields of a message. It replaces protozero's reader, which takes lengths modulo 2^32, and
/// handles messages of any size. Throws protozero::exception on malformed bytes.
class Reader {
 public:
  Reader() = default;
  explicit Reader(std::span<const std::byte> bytes)
      : at_(reinterpret_cast<const char*>(bytes.data())), end_(at_ + bytes.size()) {}

  /// Advances to the next field. The current one must have been read or skipped.
  bool next();
  /// Advances to the next field with this tag, skipping others.
  bool next(Tag tag);
  Tag tag() const { return tag_; }
  Wire wire() const { return wire_; }

  std::uint64_t varint() { return protozero::decode_varint(&at_, end_); }
  std::string_view text();  ///< text of a length-delimited field
  std::span<const std::byte> bytes() {
    const std::string_view t = text();
    return {reinterpret_cast<const std::byte*>(t.data()), t.size()};
  }
  /// Returns a fixed-size value as little-endian bytes.
  std::span<const std::byte> fixed(std::size_t width);
  void skip();

 private:
  std::string_view take(std::uint64_t size);
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  Tag tag_ = 0;
  Wire wire_ = Wire::unknown;
};

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Returns a name from a file, escaped and shortened for a one-line message.
std::string shown(std::string_view name);

/// Returns Code::bad_model if the current field has another wire type.
Status expect_wire(const Reader& reader, Wire type);

/// Calls fn(std::uint64_t) for each value of the current field of varints, packed or not.
template <class Fn>
Status each_varint(Reader& reader, Fn fn) {
  if (reader.wire() != Wire::length_delimited) {
    FRAZIL_CHECK(expect_wire(reader, Wire::varint));
    fn(reader.varint());
    return {};
  }
  const std::string_view packed = reader.text();
  const char* at = packed.data();
  const char* end = at + packed.size();
  while (at != end) fn(protozero::decode_varint(&at, end));
  return {};
}

/// Calls fn(span of little-endian bytes) for the current field of fixed-size values of `width` bytes, packed or not.
template <class Fn>
Status each_fixed(Reader& reader, std::size_t width, Fn fn) {
  if (reader.wire() == Wire::length_delimited) {
    const auto bytes = reader.bytes();
    if (bytes.size() % width != 0) return fail(Code::bad_model, "{} bytes of {}-byte values", bytes.size(), width);
    fn(bytes);
    return {};
  }
  FRAZIL_CHECK(expect_wire(reader, width == 4 ? Wire::fixed32 : Wire::fixed64));
  fn(reader.fixed(width));
  return {};
}

}  // namespace frazil::proto
