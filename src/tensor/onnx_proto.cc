#include "tensor/onnx_proto.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

#include "tensor/onnx_fields.h"

namespace frazil {
namespace {

using proto::Reader;
using proto::Wire;

/// Elem by ONNX data type - 1.
constexpr std::array kElems = {
    Elem::f32,    Elem::u8,      Elem::i8,       Elem::u16,        Elem::i16,    Elem::i32,        Elem::i64,
    Elem::string, Elem::boolean, Elem::f16,      Elem::f64,        Elem::u32,    Elem::u64,        Elem::c64,
    Elem::c128,   Elem::bf16,    Elem::f8e4m3fn, Elem::f8e4m3fnuz, Elem::f8e5m2, Elem::f8e5m2fnuz, Elem::u4,
    Elem::i4,     Elem::f4e2m1,  Elem::f8e8m0,   Elem::u2,         Elem::i2};
static_assert(kElems.size() == kElemCount);

#ifdef FRAZIL_COPY_UNALIGNED
constexpr bool kUnalignedLoads = false;
#elif defined(__x86_64__) || defined(__aarch64__)
constexpr bool kUnalignedLoads = true;
#else
constexpr bool kUnalignedLoads = false;
#endif

constexpr bool kLittle = std::endian::native == std::endian::little;

bool is_sub_byte(Elem elem) { return bit_width(elem) < 8; }

/// Values of TensorProto.DataLocation.
constexpr std::int64_t kInMessage = 0;
constexpr std::int64_t kInFile = 1;

/// The fields of a TensorProto; typed data are only counted.
struct Parts {
  std::string_view name;
  std::int64_t data_type = 0;
  std::optional<Elem> elem;
  Sizes sizes;
  std::optional<std::span<const std::byte>> raw;
  std::int64_t location = kInMessage;
  bool segment = false;
  ExternalRef ref;
  bool has_location = false, has_offset = false, has_length = false, has_checksum = false;
  std::array<std::size_t, 12> counts{};  ///< values per field of typed data
  const IgnoredFaults* ignored = nullptr;
};

/// Passes a fault to Parts::ignored. Without a receiver, returns it.
template <class... A>
Status ignore_or_fail(const Parts& parts, Code code, fmt::format_string<A...> format, A&&... args) {
  if (parts.ignored == nullptr) return fail(code, format, std::forward<A>(args)...);
  (*parts.ignored)(fmt::format("tensor '{}': {}; this is ignored", proto::shown(parts.name),
                               fmt::format(format, std::forward<A>(args)...)));
  return {};
}

Status number_of(std::string_view key, std::string_view text, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && end == text.data() + text.size()) return {};
  return fail(Code::bad_model, "external data: '{}' is not a number: '{}'", key, proto::shown(text));
}

/// Stores one entry of external data. Unknown keys are annotations of the program that wrote the file and are ignored.
Status keep_external(std::string_view key, std::string_view value, Parts& parts) {
  const auto once = [&](bool& has) -> Status {
    if (has) return fail(Code::bad_model, "external data: '{}' is given twice", key);
    has = true;
    return {};
  };
  if (key == "location") {
    parts.ref.location = value;
    return once(parts.has_location);
  }
  if (key == "checksum") {
    parts.ref.checksum = value;
    return once(parts.has_checksum);
  }
  if (key == "offset") {
    FRAZIL_CHECK(once(parts.has_offset));
    return number_of(key, value, parts.ref.offset);
  }
  if (key == "length") {
    FRAZIL_CHECK(once(parts.has_length));
    return number_of(key, value, parts.ref.length);
  }
  return {};
}

Status scan_external(Reader entry, Parts& parts) {
  std::string_view key;
  std::string_view value;
  while (entry.next()) {
    if (entry.tag() != 1 && entry.tag() != 2) {
      entry.skip();
      continue;
    }
    FRAZIL_CHECK(proto::expect_wire(entry, Wire::length_delimited));
    std::string_view& part = entry.tag() == 1 ? key : value;
    part = entry.text();
  }
  return keep_external(key, value, parts);
}

Status scan_field(Reader& reader, Parts& parts) {
  const auto field = reader.tag();
  const auto count_fixed = [&](std::size_t width) {
    return proto::each_fixed(reader, width, [&](auto bytes) { parts.counts[field] += bytes.size() / width; });
  };
  switch (field) {
    case proto::kDims:
      return proto::each_varint(reader, [&](std::uint64_t v) { parts.sizes.push_back(static_cast<std::int64_t>(v)); });
    case proto::kDataType:
      return proto::each_varint(reader, [&](std::uint64_t v) { parts.data_type = static_cast<std::int32_t>(v); });
    case proto::kDataLocation:
      return proto::each_varint(reader, [&](std::uint64_t v) { parts.location = static_cast<std::int64_t>(v); });
    case proto::kFloatData: return count_fixed(4);
    case proto::kDoubleData: return count_fixed(8);
    case proto::kInt32Data:
    case proto::kInt64Data:
    case proto::kUint64Data: return proto::each_varint(reader, [&](std::uint64_t) { ++parts.counts[field]; });
    default: break;
  }
  const bool known = field == proto::kSegment || field == proto::kStringData || field == proto::kTensorName ||
                     field == proto::kRawData || field == proto::kExternalData;
  if (!known) {
    reader.skip();
    return {};
  }
  FRAZIL_CHECK(proto::expect_wire(reader, Wire::length_delimited));
  const auto bytes = reader.bytes();
  if (field == proto::kSegment) parts.segment = true;
  if (field == proto::kStringData) ++parts.counts[field];
  if (field == proto::kTensorName) parts.name = proto::text_of(bytes);
  if (field == proto::kRawData) parts.raw = bytes;
  if (field == proto::kExternalData) return scan_external(Reader(bytes), parts);
  return {};
}

Status scan(std::span<const std::byte> bytes, Parts& parts) {
  Reader reader(bytes);
  while (reader.next()) FRAZIL_CHECK(scan_field(reader, parts));
  parts.elem = elem_from_onnx(parts.data_type);
  if (parts.data_type == 0) return fail(Code::bad_model, "it has no data type");
  if (!parts.elem) return fail(Code::unsupported, "unknown data type {}", parts.data_type);
  if (parts.location != kInMessage && parts.location != kInFile) {
    return fail(Code::bad_model, "unknown data location {}", parts.location);
  }
  if (auto size = byte_count(*parts.elem, parts.sizes); !size) {
    return fail(Code::bad_model, "{}", size.error().text());
  }
  return {};
}

/// Runs `body`, which reads fields of a TensorProto. Prefixes its faults with the tensor's name.
template <class Body>
auto guarded(Parts& parts, Body body) -> decltype(body()) {
  std::optional<Fault> fault;
  try {
    auto result = body();
    if (result) return result;
    fault = std::move(result).error();
  } catch (const protozero::exception&) {
    fault = Fault{Code::bad_model, "damaged or cut short"};
  } catch (const std::bad_alloc&) {
    fault = Fault{Code::out_of_memory, "out of memory"};
  }
  const std::string context = parts.name.empty() ? "tensor: " : fmt::format("tensor '{}': ", proto::shown(parts.name));
  return within(context, std::move(*fault));
}

/// Returns the bytes of the tensor's raw_data, in which sub-byte types are packed.
std::size_t stored_bytes(Elem elem, std::size_t count) {
  return is_sub_byte(elem) ? (count * static_cast<std::size_t>(bit_width(elem)) + 7) / 8 : count * byte_size(elem);
}

void unpack_bits(Elem elem, std::span<const std::byte> packed, std::byte* out, std::size_t count) {
  const int width = bit_width(elem);
  const std::size_t per_byte = 8u / static_cast<unsigned>(width);
  const unsigned mask = (1u << width) - 1;
  const unsigned sign = is_signed_int(elem) ? 1u << (width - 1) : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned byte = std::to_integer<unsigned>(packed[i / per_byte]);
    const unsigned value = (byte >> (i % per_byte * static_cast<unsigned>(width))) & mask;
    out[i] = static_cast<std::byte>((value ^ sign) - sign);
  }
}

void normalise_bools(std::byte* data, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) data[i] = std::byte{data[i] != std::byte{0}};
}

void to_native(Elem elem, std::byte* data, std::size_t bytes) {
  if constexpr (!kLittle) {
    const std::size_t width = is_complex(elem) ? byte_size(elem) / 2 : byte_size(elem);
    for (std::size_t i = 0; i < bytes; i += width) std::reverse(data + i, data + i + width);
  }
}

bool may_borrow(Elem elem, std::span<const std::byte> raw) {
  if (!kLittle || elem == Elem::boolean || is_sub_byte(elem)) return false;
  const std::size_t alignment = is_complex(elem) ? byte_size(elem) / 2 : byte_size(elem);
  if (reinterpret_cast<std::uintptr_t>(raw.data()) % alignment == 0) return true;
  return kUnalignedLoads && raw.size() >= kBorrowUnaligned;
}

Result<Tensor> from_raw(Parts& parts, std::span<const std::byte> raw, std::shared_ptr<const void> keep_alive) {
  const Elem elem = *parts.elem;
  const auto count = static_cast<std::size_t>(element_count(parts.sizes));
  if (elem == Elem::string) return fail(Code::bad_model, "strings cannot be raw or external data");
  const std::size_t expected = stored_bytes(elem, count);
  if (raw.size() != expected) {
    return fail(Code::bad_model, "{} takes {} bytes, but the data have {}", type_str(elem, parts.sizes), expected,
                raw.size());
  }
  if (keep_alive && may_borrow(elem, raw)) {
    return Tensor::over(elem, std::move(parts.sizes), Buffer::borrow(raw, std::move(keep_alive)));
  }
  FRAZIL_TRY(Tensor tensor, Tensor::make(elem, std::move(parts.sizes)));
  std::byte* out = tensor.mutable_data();
  if (is_sub_byte(elem)) {
    unpack_bits(elem, raw, out, count);
    return tensor;
  }
  if (!raw.empty()) std::memcpy(out, raw.data(), raw.size());
  if (elem == Elem::boolean) normalise_bools(out, count);
  to_native(elem, out, raw.size());
  return tensor;
}

/// Drops entries of the external data that say nothing.
Status check_external(Parts& parts) {
  if (parts.has_length && parts.ref.length == 0 && parts.ignored != nullptr) parts.has_length = false;
  constexpr std::size_t kDigits = 40;
  if (parts.ignored == nullptr || parts.ref.checksum.empty() || parts.ref.checksum.size() == kDigits) return {};
  FRAZIL_CHECK(ignore_or_fail(parts, Code::bad_model, "its checksum '{}' is not a SHA-1 checksum of {} hex digits",
                              proto::shown(parts.ref.checksum), kDigits));
  parts.ref.checksum.clear();
  return {};
}

Result<Tensor> from_external(Parts& parts, const ExternalLoader* loader) {
  FRAZIL_CHECK(check_external(parts));
  if (parts.ref.location.empty()) return fail(Code::bad_model, "external data without a location");
  const std::size_t expected = stored_bytes(*parts.elem, static_cast<std::size_t>(element_count(parts.sizes)));
  if (*parts.elem == Elem::string) return fail(Code::bad_model, "strings cannot be raw or external data");
  if (parts.has_length && parts.ref.length != expected) {
    return fail(Code::bad_model, "{} takes {} bytes, but its external data have {}", type_str(*parts.elem, parts.sizes),
                expected, parts.ref.length);
  }
  parts.ref.length = expected;
  if (loader == nullptr || !*loader) {
    return fail(Code::unsupported, "its data are in another file, '{}', which cannot be read from here",
                proto::shown(parts.ref.location));
  }
  FRAZIL_TRY(ExternalBytes data, (*loader)(parts.ref));
  return from_raw(parts, data.bytes, std::move(data.keep_alive));
}

/// Returns the field that stores typed data of an element type.
proto::TensorField typed_field(Elem elem) {
  switch (elem) {
    case Elem::f32:
    case Elem::c64: return proto::kFloatData;
    case Elem::f64:
    case Elem::c128: return proto::kDoubleData;
    case Elem::i64: return proto::kInt64Data;
    case Elem::u32:
    case Elem::u64: return proto::kUint64Data;
    case Elem::string: return proto::kStringData;
    default: return proto::kInt32Data;
  }
}

/// A converter of one field's integers to elements of `width` bytes. A value may be signed or unsigned.
class IntegerSink {
 public:
  IntegerSink(std::byte* out, std::size_t width) : out_(out), width_(width) {}

  void add(std::uint64_t value) {
    const auto as_signed = static_cast<std::int64_t>(value);
    const int bits = static_cast<int>(8 * width_);
    if (width_ < 8 && (as_signed < -(std::int64_t{1} << (bits - 1)) || as_signed >= (std::int64_t{1} << bits))) {
      bad_ = bad_.value_or(as_signed);
    }
    if constexpr (kLittle) {
      std::memcpy(out_, &value, width_);
    } else {
      std::memcpy(out_, reinterpret_cast<const std::byte*>(&value) + 8 - width_, width_);
    }
    out_ += width_;
  }
  /// Returns the first value that does not fit.
  std::optional<std::int64_t> bad() const { return bad_; }

 private:
  std::byte* out_;
  std::size_t width_;
  std::optional<std::int64_t> bad_;
};

Status read_integers(const Parts& parts, Reader reader, proto::TensorField field, Elem elem, std::byte* out) {
  IntegerSink sink(out, byte_size(elem));
  while (reader.next(field)) {
    FRAZIL_CHECK(proto::each_varint(
        reader, [&](std::uint64_t v) { sink.add(elem == Elem::boolean ? std::uint64_t{v != 0} : v); }));
  }
  if (sink.bad()) return ignore_or_fail(parts, Code::bad_model, "value {} does not fit {}", *sink.bad(), name_of(elem));
  return {};
}

Status read_fixed(Reader reader, proto::TensorField field, Elem elem, std::byte* out) {
  const std::size_t width = field == proto::kFloatData ? 4 : 8;
  while (reader.next(field)) {
    FRAZIL_CHECK(proto::each_fixed(reader, width, [&](std::span<const std::byte> bytes) {
      if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
      to_native(elem, out, bytes.size());
      out += bytes.size();
    }));
  }
  return {};
}

void read_strings(Reader reader, std::span<std::string> out) {
  for (std::string& text : out) {
    if (!reader.next(proto::kStringData)) return;
    text = reader.text();
  }
}

Status check_typed_counts(const Parts& parts, proto::TensorField field, std::size_t expected) {
  for (std::size_t other = 0; other < parts.counts.size(); ++other) {
    if (other != field && parts.counts[other] != 0) {
      return fail(Code::bad_model, "data of type {} in field {} of TensorProto, expected in field {}",
                  name_of(*parts.elem), other, static_cast<int>(field));
    }
  }
  if (parts.counts[field] == expected) return {};
  return fail(Code::bad_model, "{} takes {} values, but the data have {}", type_str(*parts.elem, parts.sizes), expected,
              parts.counts[field]);
}

Result<Tensor> from_typed(Parts& parts, std::span<const std::byte> bytes) {
  const Elem elem = *parts.elem;
  const auto count = static_cast<std::size_t>(element_count(parts.sizes));
  const proto::TensorField field = typed_field(elem);
  const std::size_t values = is_sub_byte(elem) ? stored_bytes(elem, count) : is_complex(elem) ? 2 * count : count;
  FRAZIL_CHECK(check_typed_counts(parts, field, values));
  FRAZIL_TRY(Tensor tensor, Tensor::make(elem, std::move(parts.sizes)));
  std::byte* out = tensor.mutable_data();
  const Reader reader(bytes);
  if (elem == Elem::string) {
    read_strings(reader, tensor.as_mutable<std::string>());
  } else if (is_sub_byte(elem)) {
    std::vector<std::byte> packed(values);
    FRAZIL_CHECK(read_integers(parts, reader, field, Elem::u8, packed.data()));
    unpack_bits(elem, packed, out, count);
  } else if (field == proto::kFloatData || field == proto::kDoubleData) {
    FRAZIL_CHECK(read_fixed(reader, field, elem, out));
  } else {
    FRAZIL_CHECK(read_integers(parts, reader, field, elem, out));
  }
  return tensor;
}

Result<Tensor> decode(Parts& parts, std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive,
                      const ExternalLoader* external) {
  FRAZIL_CHECK(scan(bytes, parts));
  if (parts.segment) FRAZIL_CHECK(ignore_or_fail(parts, Code::unsupported, "segmented tensors are not supported"));
  const bool typed = std::ranges::any_of(parts.counts, [](std::size_t count) { return count != 0; });
  if (parts.location == kInFile) {
    const bool raw = parts.raw && !parts.raw->empty();
    if (raw || typed) {
      FRAZIL_CHECK(ignore_or_fail(parts, Code::bad_model, "it has both external and {} data", raw ? "raw" : "typed"));
    }
    return from_external(parts, external);
  }
  if (!parts.raw) return from_typed(parts, bytes);
  if (typed) FRAZIL_CHECK(ignore_or_fail(parts, Code::bad_model, "it has both raw and typed data"));
  return from_raw(parts, *parts.raw, std::move(keep_alive));
}

}  // namespace

std::optional<Elem> elem_from_onnx(std::int64_t data_type) {
  if (data_type < 1 || data_type > kElemCount) return std::nullopt;
  return kElems[static_cast<std::size_t>(data_type - 1)];
}

int onnx_data_type(Elem elem) { return static_cast<int>(std::ranges::find(kElems, elem) - kElems.begin()) + 1; }

Result<TensorHeader> tensor_header(std::span<const std::byte> bytes) {
  Parts parts;
  return guarded(parts, [&]() -> Result<TensorHeader> {
    FRAZIL_CHECK(scan(bytes, parts));
    return TensorHeader{parts.name, *parts.elem, std::move(parts.sizes), parts.location == kInFile};
  });
}

Result<Tensor> tensor_from_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive,
                                 const ExternalLoader* external, const IgnoredFaults* ignored) {
  Parts parts;
  parts.ignored = ignored;
  return guarded(parts, [&] { return decode(parts, bytes, std::move(keep_alive), external); });
}

}  // namespace frazil
