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

/// Returns the element type of a TensorProto.DataType number; nullopt for 0 (undefined) and unknown numbers.
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
/// A function that resolves external data and decides which files may be read.
using ExternalLoader = std::function<Result<ExternalBytes>(const ExternalRef&)>;

/// The header of a TensorProto: everything but its data. `name` points into the given bytes.
struct TensorHeader {
  std::string_view name;
  Elem elem = Elem::f32;
  Sizes sizes;
  bool external = false;
};
Result<TensorHeader> tensor_header(std::span<const std::byte> bytes);

/// Decodes an ONNX TensorProto of any data type, from raw, typed (packed or not) or external data. Unpacks sub-byte
/// types to one byte per element and normalises bools to 0 and 1. Returns Code::bad_model, naming the tensor, for
/// malformed messages. The memory used is bounded by the message's size.
///
/// With `keep_alive`, raw and external data are borrowed in place if the element type is stored as in memory: not
/// string, bool or sub-byte. protobuf does not align data. On x86-64 and AArch64, data of at least kBorrowUnaligned
/// bytes are borrowed even if they are not aligned for their element type. is_aligned() may then be false, and
/// readers must use unaligned loads. Smaller unaligned data are copied. All unaligned data are copied if
/// FRAZIL_COPY_UNALIGNED is defined, as in builds with sanitizers.
///
/// If `ignored` is not null, it receives the faults that ONNX Runtime ignores, and the tensor is read nevertheless: a
/// segment, data in the message beside raw or external data, integers that do not fit their type (the low bits count),
/// external data of length 0 (as without a length), and a checksum that is none.
using IgnoredFaults = std::function<void(std::string)>;
Result<Tensor> tensor_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive = nullptr,
                                 const ExternalLoader* external = nullptr, const IgnoredFaults* ignored = nullptr);
inline constexpr std::size_t kBorrowUnaligned = 4096;

/// The message type of a file. The bytes do not identify it.
enum class ProtoKind : std::uint8_t { tensor, sequence, optional, map };

/// Decode SequenceProto, OptionalProto and MapProto. An empty OptionalProto gives an empty Datum, others give their
/// value. Data are borrowed as in tensor_from_proto(). Sparse tensors give Code::unsupported.
Result<Datum> sequence_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive = nullptr);
Result<Datum> optional_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive = nullptr);
Result<Datum> map_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive = nullptr);
Result<Datum> datum_from_proto(ProtoKind kind, std::span<const std::byte> bytes,
                               std::shared_ptr<const void> keep_alive = nullptr);

/// Reads a file with one such message, as in ONNX test data. Errors name the file.
Result<Datum> read_pb(const std::string& path, ProtoKind kind);

/// Encode as raw_data, or as string_data for strings. The items of a sequence must be of one kind.
Result<std::string> tensor_to_proto(const Tensor& tensor, std::string_view name = {});
Result<std::string> sequence_to_proto(const Sequence& sequence, std::string_view name = {});
Result<std::string> datum_to_proto(ProtoKind kind, const Datum& datum, std::string_view name = {});

}  // namespace frazil
