#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tensor/datum.h"
#include "tensor/tensor.h"

namespace frazil {

/// ONNX's TensorProto.DataType numbers; nullopt for 0 (undefined) and unknown ones.
std::optional<Elem> elem_from_onnx(std::int64_t data_type);
int onnx_data_type(Elem elem);

/// Where a tensor's bytes lie outside the model file.
struct ExternalRef {
  std::string location;  ///< as in the file: relative to the model, not yet checked
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  ///< always the tensor's byte count
  std::string checksum;      ///< SHA1 in hex, or empty
};
struct ExternalBytes {
  std::span<const std::byte> bytes;  ///< exactly ExternalRef::length
  std::shared_ptr<const void> keep_alive;
};
/// Resolves external data; it alone decides which files may be read.
using ExternalLoader = std::function<Result<ExternalBytes>(const ExternalRef&)>;

/// What a TensorProto says of itself before its data are read. `name` points into the given bytes.
struct TensorHeader {
  std::string_view name;
  Elem elem = Elem::f32;
  Sizes sizes;
  bool external = false;
};
Result<TensorHeader> tensor_header(std::span<const std::byte> bytes);

/// Decodes an ONNX TensorProto of any data type, from raw, typed (packed or not) or external data. Sub-byte types are
/// unpacked to one byte per element, bools normalised to 0 and 1. A malformed message is Code::bad_model and names the
/// tensor; memory taken is bounded by the message's size.
///
/// With `keep_alive`, raw (and external) data are borrowed in place, kept through it, where the element type is stored
/// as in memory: not string, bool or sub-byte. A protobuf gives no alignment: on x86-64 and AArch64 data of at least
/// kBorrowUnaligned bytes are borrowed even if they are not aligned for their element type, so that
/// Tensor::aligned() may be false and readers must use unaligned loads. Smaller unaligned data are copied, and all are
/// where FRAZIL_COPY_UNALIGNED is defined or under a sanitizer.
Result<Tensor> tensor_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive = nullptr,
                                 const ExternalLoader* external = nullptr);
inline constexpr std::size_t kBorrowUnaligned = 4096;

/// Which message a file holds: the bytes alone cannot tell.
enum class ProtoKind : std::uint8_t { tensor, sequence, optional, map };

/// Decode SequenceProto, OptionalProto (empty: an empty Datum; else its content) and MapProto; data are borrowed as by
/// tensor_from_proto. Sparse tensors are Code::unsupported.
Result<Datum> sequence_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive = nullptr);
Result<Datum> optional_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive = nullptr);
Result<Datum> map_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive = nullptr);
Result<Datum> datum_from_proto(ProtoKind kind, std::span<const std::byte> bytes,
                               std::shared_ptr<const void> keep_alive = nullptr);

/// A file that holds one such message, as ONNX test data do. Faults name the file.
Result<Datum> read_pb(const std::string& path, ProtoKind kind);

/// Encoders; they write raw_data, and string_data for strings. A sequence's items must be of one kind.
Result<std::string> tensor_to_proto(const Tensor& tensor, std::string_view name = {});
Result<std::string> sequence_to_proto(const Sequence& sequence, std::string_view name = {});
Result<std::string> datum_to_proto(ProtoKind kind, const Datum& datum, std::string_view name = {});

}  // namespace frazil
