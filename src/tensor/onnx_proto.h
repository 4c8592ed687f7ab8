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

/// The location of tensor data outside the model file.
struct ExternalRef {
  std::string location;  ///< as in the file: relative to the model, not validated
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  ///< the tensor's byte count
  std::string checksum;      ///< SHA-1 in hex, or empty
};
struct ExternalBytes {
  std::span<const std::byte> bytes;  ///< exactly ExternalRef::length
  std::shared_ptr<const void> keep_alive;
};
/// Resolves external data and decides which files may be read.
using ExternalLoader = std::function<Result<ExternalBytes>(const ExternalRef&)>;

/// The header of a TensorProto: everything but its data. `name` points into the given bytes.
struct TensorHeader {
  std::string_view name;
  Elem elem = Elem::f32;
  Sizes sizes;
  bool external = false;
};
Result<TensorHeader> tensor_header(std::span<const std::byte> bytes);

/// Decodes an ONNX TensorProto of any data type, from raw, typed (packed or not) or external data. Sub-byte types are
/// unpacked to one byte per element; bools are normalised to 0 and 1. Code::bad_model, naming the tensor, for malformed
/// messages. The memory used is bounded by the message's size.
///
/// With `keep_alive`, raw and external data are borrowed in place where the element type is stored as in memory: not
/// string, bool or sub-byte. protobuf does not align data: on x86-64 and AArch64, data of at least kBorrowUnaligned
/// bytes
/// are borrowed even when they are not aligned for their element type. Tensor::aligned() may then be false, and readers
/// must use unaligned loads. Smaller unaligned data are copied, and all of them where FRAZIL_COPY_UNALIGNED is defined
/// or
/// a sanitizer is active.
Result<Tensor> tensor_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive = nullptr,
                                 const ExternalLoader* external = nullptr);
inline constexpr std::size_t kBorrowUnaligned = 4096;

/// The message type in a file; the bytes do not identify it.
enum class ProtoKind : std::uint8_t { tensor, sequence, optional, map };

/// Decode SequenceProto, OptionalProto (an empty one gives an empty Datum, others their value) and MapProto. Data are
/// borrowed as in tensor_from_proto. Code::unsupported for sparse tensors.
Result<Datum> sequence_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive = nullptr);
Result<Datum> optional_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive = nullptr);
Result<Datum> map_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive = nullptr);
Result<Datum> datum_from_proto(ProtoKind kind, std::span<const std::byte> bytes,
                               std::shared_ptr<const void> keep_alive = nullptr);

/// Reads a file with one such message, as in ONNX test data. Errors name the file.
Result<Datum> read_pb(const std::string& path, ProtoKind kind);

/// Encode as raw_data, or string_data for strings. The items of a sequence must be of one kind.
Result<std::string> tensor_to_proto(const Tensor& tensor, std::string_view name = {});
Result<std::string> sequence_to_proto(const Sequence& sequence, std::string_view name = {});
Result<std::string> datum_to_proto(ProtoKind kind, const Datum& datum, std::string_view name = {});

}  // namespace frazil
