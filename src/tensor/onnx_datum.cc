#include <new>

#include "base/os/io.h"
#include "tensor/onnx_fields.h"
#include "tensor/onnx_proto.h"

namespace frazil {
namespace {

using proto::Reader;
using proto::Wire;

/// A decoder of nested messages. Every member throws protozero's exceptions on malformed bytes.
class DatumReader {
 public:
  explicit DatumReader(std::shared_ptr<const void> keep_alive) : keep_alive_(std::move(keep_alive)) {}

  Result<Datum> read(ProtoKind kind, std::span<const std::byte> bytes) {
    if (kind == ProtoKind::tensor) {
      FRAZIL_TRY(Tensor tensor, tensor_from_proto(bytes, keep_alive_));
      return Datum(std::move(tensor));
    }
    if (depth_ == proto::kMaxDepth) return fail(Code::limit, "values nest deeper than {} levels", proto::kMaxDepth);
    ++depth_;
    auto datum = kind == ProtoKind::sequence   ? sequence(bytes)
                 : kind == ProtoKind::optional ? optional(bytes)
                                               : map(bytes);
    --depth_;
    return datum;
  }

 private:
  static Result<ProtoKind> content_kind(proto::Tag field) {
    switch (field) {
      case proto::kTensorValues: return ProtoKind::tensor;
      case proto::kSequenceValues: return ProtoKind::sequence;
      case proto::kMapValues: return ProtoKind::map;
      case proto::kOptionalValues: return ProtoKind::optional;
      default: return fail(Code::unsupported, "sparse tensors are not supported");
    }
  }

  /// Reads the value of a SequenceProto or OptionalProto, which have the same field numbers.
  Result<Datum> content(Reader& reader) {
    FRAZIL_CHECK(proto::expect_wire(reader, Wire::length_delimited));
    FRAZIL_TRY(const ProtoKind kind, content_kind(reader.tag()));
    return read(kind, reader.bytes());
  }

  Result<Datum> sequence(std::span<const std::byte> bytes) {
    auto out = std::make_shared<Sequence>();
    proto::Tag kind = 0;
    Reader reader(bytes);
    while (reader.next()) {
      if (reader.tag() < proto::kTensorValues || reader.tag() > proto::kOptionalValues) {
        reader.skip();
        continue;
      }
      if (kind != 0 && kind != reader.tag()) return fail(Code::bad_model, "sequence: its items are of several kinds");
      kind = reader.tag();
      auto item = content(reader);
      if (!item) return within(fmt::format("sequence item {}: ", out->items.size()), std::move(item).error());
      out->items.push_back(std::move(*item));
    }
    return Datum(std::shared_ptr<const Sequence>(std::move(out)));
  }

  Result<Datum> optional(std::span<const std::byte> bytes) {
    Datum out;
    Reader reader(bytes);
    while (reader.next()) {
      if (reader.tag() < proto::kTensorValue || reader.tag() > proto::kOptionalValue) {
        reader.skip();
        continue;
      }
      if (!out.empty()) return fail(Code::bad_model, "optional: it has several values");
      auto value = content(reader);
      if (!value) return within("optional: ", std::move(value).error());
      out = std::move(*value);
    }
    return out;
  }

  static Result<Tensor> integer_key(Elem elem, std::int64_t value) {
    FRAZIL_TRY(Tensor key, Tensor::make(elem, {}));
    const std::size_t width = byte_size(elem);
    const int unused = static_cast<int>(64 - 8 * width);
    const bool fits = is_unsigned_int(elem)
                          ? (static_cast<std::uint64_t>(value) << unused >> unused) == static_cast<std::uint64_t>(value)
                          : (value << unused >> unused) == value;
    if (!fits) return fail(Code::bad_model, "map: key {} does not fit {}", value, name_of(elem));
    const auto store = [&]<class T>(T typed) { *reinterpret_cast<T*>(key.mutable_data()) = typed; };
    switch (width) {
      case 1: store(static_cast<std::int8_t>(value)); break;
      case 2: store(static_cast<std::int16_t>(value)); break;
      case 4: store(static_cast<std::int32_t>(value)); break;
      default: store(value); break;
    }
    return key;
  }

  static Result<std::vector<Tensor>> map_keys(std::optional<Elem> elem, const Sizes& integers,
                                              const std::vector<std::string_view>& strings) {
    std::vector<Tensor> keys;
    if (!elem || (!is_int(*elem) && *elem != Elem::string) || bit_width(*elem) < 8) {
      return fail(Code::bad_model, "map: its keys are neither integers nor strings");
    }
    if (*elem == Elem::string ? !integers.empty() : !strings.empty()) {
      return fail(Code::bad_model, "map: its keys are not of its key type, {}", name_of(*elem));
    }
    for (const std::int64_t value : integers) {
      FRAZIL_TRY(Tensor key, integer_key(*elem, value));
      keys.push_back(std::move(key));
    }
    for (const std::string_view text : strings) {
      FRAZIL_TRY(Tensor key, Tensor::make(Elem::string, {}));
      key.as_mutable<std::string>()[0] = text;
      keys.push_back(std::move(key));
    }
    return keys;
  }

  Result<Datum> map(std::span<const std::byte> bytes) {
    std::int64_t key_type = 0;
    Sizes integers;
    std::vector<std::string_view> strings;
    Datum values{std::make_shared<const Sequence>()};
    Reader reader(bytes);
    while (reader.next()) {
      if (reader.tag() == proto::kKeyType) {
        FRAZIL_CHECK(proto::each_varint(reader, [&](std::uint64_t v) { key_type = static_cast<std::int32_t>(v); }));
      } else if (reader.tag() == proto::kKeys) {
        FRAZIL_CHECK(
            proto::each_varint(reader, [&](std::uint64_t v) { integers.push_back(static_cast<std::int64_t>(v)); }));
      } else if (reader.tag() == proto::kStringKeys) {
        FRAZIL_CHECK(proto::expect_wire(reader, Wire::length_delimited));
        strings.push_back(reader.text());
      } else if (reader.tag() == proto::kMapContent) {
        FRAZIL_CHECK(proto::expect_wire(reader, Wire::length_delimited));
        FRAZIL_TRY(values, read(ProtoKind::sequence, reader.bytes()));
      } else {
        reader.skip();
      }
    }
    FRAZIL_TRY(std::vector<Tensor> keys, map_keys(elem_from_onnx(key_type), integers, strings));
    const std::vector<Datum>& items = values.sequence().items;
    if (keys.size() != items.size()) {
      return fail(Code::bad_model, "map: it has {} keys and {} values", keys.size(), items.size());
    }
    auto out = std::make_shared<MapValue>();
    for (std::size_t i = 0; i < keys.size(); ++i) out->items.emplace_back(std::move(keys[i]), items[i]);
    return Datum(std::shared_ptr<const MapValue>(std::move(out)));
  }

  std::shared_ptr<const void> keep_alive_;
  int depth_ = 0;
};

}  // namespace

Result<Datum> datum_from_proto(ProtoKind kind, std::span<const std::byte> bytes,
                               std::shared_ptr<const void> keep_alive) {
  try {
    return DatumReader(std::move(keep_alive)).read(kind, bytes);
  } catch (const protozero::exception&) {
    return fail(Code::bad_model, "the message is damaged or cut short");
  } catch (const std::bad_alloc&) {
    return fail(Code::out_of_memory, "out of memory");
  }
}

Result<Datum> sequence_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive) {
  return datum_from_proto(ProtoKind::sequence, bytes, std::move(keep_alive));
}

Result<Datum> optional_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive) {
  return datum_from_proto(ProtoKind::optional, bytes, std::move(keep_alive));
}

Result<Datum> map_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive) {
  return datum_from_proto(ProtoKind::map, bytes, std::move(keep_alive));
}

Result<Datum> read_pb(const std::string& path, ProtoKind kind) {
  FRAZIL_TRY(const auto file, MappedFile::open(path));
  auto datum = datum_from_proto(kind, file->bytes(), file);
  if (!datum) return within(fmt::format("'{}': ", path), std::move(datum).error());
  return datum;
}

}  // namespace frazil
