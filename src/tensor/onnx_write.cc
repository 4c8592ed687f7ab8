#include <algorithm>
#include <bit>
#include <new>

#include <protozero/pbf_writer.hpp>

#include "tensor/onnx_fields.h"
#include "tensor/onnx_proto.h"

namespace frazil {
namespace {

using protozero::pbf_writer;

std::string pack_bits(Elem elem, std::span<const std::byte> values) {
  const auto width = static_cast<unsigned>(bit_width(elem));
  const std::size_t per_byte = 8u / width;
  std::string out((values.size() + per_byte - 1) / per_byte, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const unsigned value = std::to_integer<unsigned>(values[i]) & ((1u << width) - 1);
    const unsigned shift = static_cast<unsigned>(i % per_byte) * width;
    out[i / per_byte] = static_cast<char>(static_cast<unsigned char>(out[i / per_byte]) | (value << shift));
  }
  return out;
}

std::string raw_data(const Tensor& packed) {
  const std::span<const std::byte> bytes{packed.data(), packed.bytes()};
  if (bit_width(packed.elem()) < 8) return pack_bits(packed.elem(), bytes);
  std::string out(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if constexpr (std::endian::native == std::endian::big) {
    const std::size_t width = byte_size(packed.elem()) / (is_complex(packed.elem()) ? 2 : 1);
    for (std::size_t i = 0; i < out.size(); i += width) {
      std::reverse(out.data() + i, out.data() + i + width);
    }
  }
  return out;
}

ProtoKind kind_of(const Datum& datum) {
  if (datum.is_tensor()) return ProtoKind::tensor;
  if (datum.is_sequence()) return ProtoKind::sequence;
  return datum.is_map() ? ProtoKind::map : ProtoKind::optional;
}

/// Returns the number of a kind in SequenceProto.DataType and OptionalProto.DataType. The value's field number is 2
/// higher.
int content_type(ProtoKind kind) {
  switch (kind) {
    case ProtoKind::tensor: return 1;
    case ProtoKind::sequence: return 3;
    case ProtoKind::map: return 4;
    case ProtoKind::optional: return 5;
  }
  return 0;
}

class DatumWriter {
 public:
  Result<std::string> write(ProtoKind kind, const Datum& datum, std::string_view name) {
    if (depth_ == proto::kMaxDepth) return fail(Code::limit, "values nest deeper than {} levels", proto::kMaxDepth);
    ++depth_;
    auto out = dispatch(kind, datum, name);
    --depth_;
    return out;
  }

  Result<std::string> sequence(const Sequence& value, std::string_view name) {
    std::string out;
    pbf_writer writer(out);
    if (!name.empty()) writer.add_string(proto::kSequenceName, name.data(), name.size());
    const bool optional =
        std::ranges::any_of(value.items, [](const Datum& item) { return kind_of(item) == ProtoKind::optional; });
    const ProtoKind kind = optional              ? ProtoKind::optional
                           : value.items.empty() ? ProtoKind::tensor
                                                 : kind_of(value.items[0]);
    const int type = content_type(kind);
    writer.add_enum(proto::kSequenceElemType, type);
    for (const Datum& item : value.items) {
      if (kind != ProtoKind::optional && kind_of(item) != kind) {
        return fail(Code::unsupported, "a sequence with items of several kinds cannot be written");
      }
      FRAZIL_TRY(const std::string bytes, write(kind, item, {}));
      writer.add_message(static_cast<protozero::pbf_tag_type>(type + 2), bytes);
    }
    return out;
  }

 private:
  Result<std::string> dispatch(ProtoKind kind, const Datum& datum, std::string_view name) {
    if (kind == ProtoKind::optional) return optional(datum, name);
    if (kind != kind_of(datum)) return fail(Code::bad_input, "the value is not of the kind to be written");
    if (kind == ProtoKind::tensor) return tensor_to_proto(datum.tensor(), name);
    return kind == ProtoKind::sequence ? sequence(datum.sequence(), name) : map(datum.map(), name);
  }

  Result<std::string> optional(const Datum& datum, std::string_view name) {
    std::string out;
    pbf_writer writer(out);
    if (!name.empty()) writer.add_string(proto::kOptionalName, name.data(), name.size());
    if (datum.empty()) {
      writer.add_enum(proto::kOptionalElemType, 0);
      return out;
    }
    const ProtoKind kind = kind_of(datum);
    const int type = content_type(kind);
    writer.add_enum(proto::kOptionalElemType, type);
    FRAZIL_TRY(const std::string bytes, write(kind, datum, {}));
    writer.add_message(static_cast<protozero::pbf_tag_type>(type + 2), bytes);
    return out;
  }

  Result<std::string> map(const MapValue& value, std::string_view name) {
    std::string out;
    pbf_writer writer(out);
    if (!name.empty()) writer.add_string(proto::kMapName, name.data(), name.size());
    const Elem elem = value.items.empty() ? Elem::i64 : value.items[0].first.elem();
    if (!is_int(elem) && elem != Elem::string)
      return fail(Code::bad_input, "a map with keys of type {}", name_of(elem));
    writer.add_enum(proto::kKeyType, onnx_data_type(elem));
    Sequence values;
    for (const auto& [key, item] : value.items) {
      if (key.elem() != elem || key.count() != 1) return fail(Code::bad_input, "a map with keys of several types");
      if (elem == Elem::string) {
        writer.add_bytes(proto::kStringKeys, key.as<std::string>()[0]);
      } else {
        writer.add_int64(proto::kKeys, key.integer_at(0));
      }
      values.items.push_back(item);
    }
    FRAZIL_TRY(const std::string content, sequence(values, {}));
    writer.add_message(proto::kMapContent, content);
    return out;
  }

  int depth_ = 0;
};

template <class Body>
Result<std::string> guarded(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(Code::out_of_memory, "out of memory");
  }
}

}  // namespace

Result<std::string> tensor_to_proto(const Tensor& tensor, std::string_view name) {
  if (!tensor.defined()) return fail(Code::bad_input, "an undefined tensor cannot be written");
  return guarded([&]() -> Result<std::string> {
    FRAZIL_TRY(const Tensor packed, tensor.packed());
    std::string out;
    pbf_writer writer(out);
    for (const std::int64_t size : tensor.sizes()) writer.add_int64(proto::kDims, size);
    writer.add_int32(proto::kDataType, onnx_data_type(tensor.elem()));
    if (!name.empty()) writer.add_string(proto::kTensorName, name.data(), name.size());
    if (tensor.elem() == Elem::string) {
      for (const std::string& text : packed.as<std::string>()) writer.add_bytes(proto::kStringData, text);
    } else {
      writer.add_bytes(proto::kRawData, raw_data(packed));
    }
    return out;
  });
}

Result<std::string> sequence_to_proto(const Sequence& sequence, std::string_view name) {
  return guarded([&] { return DatumWriter().sequence(sequence, name); });
}

Result<std::string> datum_to_proto(ProtoKind kind, const Datum& datum, std::string_view name) {
  return guarded([&] { return DatumWriter().write(kind, datum, name); });
}

}  // namespace frazil
