#include "tensor/onnx_proto.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paths.h"
#include "tensor/onnx_fields.h"

namespace frazil {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Protobuf by hand, so that the tests do not rest on the encoder.
std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80 | (value & 0x7f));
  return out + static_cast<char>(value);
}
std::string number(int field, std::int64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(value));
}
std::string block(int field, std::string_view bytes) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
std::string packed(int field, std::initializer_list<std::int64_t> values) {
  std::string out;
  for (const std::int64_t v : values) out += varint(static_cast<std::uint64_t>(v));
  return block(field, out);
}
template <class T>
std::string raw_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}
std::string head(int type, std::initializer_list<std::int64_t> dims) {
  std::string out;
  for (const std::int64_t d : dims) out += number(1, d);
  return out + number(2, type) + block(8, "W");
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
Result<Tensor> parse_proto(std::string_view text) { return tensor_from_proto(bytes_of(text)); }
std::string summary(std::string_view text) {
  const auto t = parse_proto(text);
  return t ? t->type_str() + " " + summary(*t, 20) : t.error().text();
}

TEST(OnnxTypeTest, NumbersMapBothWays) {
  EXPECT_EQ(elem_from_onnx(1), Elem::f32);
  EXPECT_EQ(elem_from_onnx(7), Elem::i64);
  EXPECT_EQ(elem_from_onnx(9), Elem::boolean);
  EXPECT_EQ(elem_from_onnx(16), Elem::bf16);
  EXPECT_EQ(elem_from_onnx(23), Elem::f4e2m1);
  EXPECT_EQ(elem_from_onnx(24), Elem::f8e8m0);
  EXPECT_EQ(elem_from_onnx(0), std::nullopt);
  EXPECT_EQ(elem_from_onnx(27), std::nullopt);
  EXPECT_EQ(elem_from_onnx(-1), std::nullopt);
  for (int type = 1; type <= kElemCount; ++type) EXPECT_EQ(onnx_data_type(*elem_from_onnx(type)), type);
}

struct TypedCase {
  std::string text;
  std::string_view want;
};

TEST(OnnxTensorTest, TypedAndRawData) {
  const std::string two_floats = raw_of<float>({1.5f, -2.0f});
  const TypedCase cases[] = {
      {head(1, {2}) + block(4, two_floats), "f32[2] [1.5, -2]"},
      {head(1, {2}) + "\x25" + two_floats.substr(0, 4) + "\x25" + two_floats.substr(4), "f32[2] [1.5, -2]"},
      {head(1, {2}) + block(9, two_floats), "f32[2] [1.5, -2]"},
      {head(1, {}) + block(4, two_floats.substr(0, 4)), "f32[] 1.5"},
      {head(1, {0, 3}), "f32[0,3] []"},
      {head(1, {0, 3}) + block(9, ""), "f32[0,3] []"},
      {packed(1, {1, 2}) + number(2, 1) + block(4, two_floats), "f32[1,2] [[1.5, -2]]"},
      {head(14, {1}) + block(4, two_floats), "c64[1] [1.5-2i]"},
      {head(11, {1}) + block(10, raw_of<double>({0.1})), "f64[1] [0.1]"},
      {head(15, {1}) + block(10, raw_of<double>({0.1, 3})), "c128[1] [0.1+3i]"},
      {head(6, {2}) + packed(5, {-1, 7}), "i32[2] [-1, 7]"},
      {head(6, {2}) + number(5, -1) + number(5, 7), "i32[2] [-1, 7]"},
      {head(6, {3}) + number(5, -1) + packed(5, {7, 8}), "i32[3] [-1, 7, 8]"},
      {head(3, {2}) + packed(5, {-128, 127}), "i8[2] [-128, 127]"},
      {head(2, {2}) + packed(5, {255, 0}), "u8[2] [255, 0]"},
      {head(4, {1}) + packed(5, {65535}), "u16[1] [65535]"},
      {head(5, {1}) + packed(5, {-5}), "i16[1] [-5]"},
      {head(7, {2}) + packed(7, {INT64_MIN, 5}), "i64[2] [-9223372036854775808, 5]"},
      {head(12, {1}) + packed(11, {4294967295}), "u32[1] [4294967295]"},
      {head(13, {1}) + packed(11, {-1}), "u64[1] [18446744073709551615]"},
      {head(9, {3}) + packed(5, {0, 1, 5}), "bool[3] [false, true, true]"},
      {head(9, {3}) + block(9, std::string("\0\1\7", 3)), "bool[3] [false, true, true]"},
      {head(10, {2}) + packed(5, {0x3c00, 0xc000}), "f16[2] [1, -2]"},
      {head(16, {1}) + packed(5, {0x3f80}), "bf16[1] [1]"},
      {head(17, {2}) + packed(5, {0x38, 0xb8}), "f8e4m3fn[2] [1, -1]"},
      {head(19, {1}) + block(9, "\x3c"), "f8e5m2[1] [1]"},
      {head(24, {1}) + block(9, "\x80"), "f8e8m0[1] [2]"},
      {head(22, {3}) + packed(5, {0x8f, 0x07}), "i4[3] [-1, -8, 7]"},
      {head(22, {3}) + block(9, "\x8f\x07"), "i4[3] [-1, -8, 7]"},
      {head(21, {3}) + block(9, "\x8f\x07"), "u4[3] [15, 8, 7]"},
      {head(23, {2}) + block(9, "\xf1"), "f4e2m1[2] [0.5, -6]"},
      {head(26, {5}) + block(9, "\xe4\x03"), "i2[5] [0, 1, -2, -1, -1]"},
      {head(25, {5}) + packed(5, {0xe4, 3}), "u2[5] [0, 1, 2, 3, 3]"},
      {head(8, {2}) + block(6, "a") + block(6, ""), "string[2] [\"a\", \"\"]"},
  };
  for (const TypedCase& c : cases) EXPECT_EQ(summary(c.text), c.want);
}

TEST(OnnxTensorTest, MalformedMessages) {
  const std::string floats = raw_of<float>({1, 2});
  const TypedCase cases[] = {
      {head(1, {2}), "f32[2] takes 2 values, but the data have 0"},
      {head(1, {3}) + block(4, floats), "takes 3 values, but the data have 2"},
      {head(1, {3}) + block(9, floats), "f32[3] takes 12 bytes, but the data have 8"},
      {head(1, {-1}) + block(9, floats), "negative extent"},
      {head(1, {1ll << 40, 1ll << 40}) + block(9, floats), "takes more than the limit"},
      {head(1, {2}) + block(4, "12345"), "5 bytes of 4-byte values"},
      {head(1, {2}) + block(4, floats) + block(9, floats), "both raw and typed"},
      {head(1, {2}) + packed(5, {1, 2}), "data of type f32 in field 5"},
      {head(3, {1}) + packed(5, {256}), "value 256 does not fit i8"},
      {head(3, {1}) + packed(5, {-129}), "value -129 does not fit i8"},
      {head(12, {1}) + packed(11, {1ll << 32}), "does not fit u32"},
      {head(8, {1}) + block(9, "a"), "strings cannot be raw"},
      {head(8, {2}) + block(6, "a"), "takes 2 values"},
      {head(22, {3}) + block(9, "\x8f"), "takes 2 bytes, but the data have 1"},
      {head(0, {1}), "no data type"},
      {block(8, "W"), "no data type"},
      {head(99, {1}), "unknown data type 99"},
      {head(1, {1}) + block(3, ""), "segmented"},
      {head(1, {2}) + number(9, 1), "wire type"},
      {head(1, {2}) + number(14, 1), "external data without a location"},
      {head(1, {2}) + block(9, floats) + number(14, 1), "both external and raw data"},
      {head(1, {2}) + block(4, floats) + number(14, 1), "both external and typed data"},
      {head(1, {2}) + block(9, floats) + number(14, 2), "unknown data location 2"},
      {head(1, {2}) + block(9, floats) + block(3, number(1, 0)), "segmented"},
      {head(14, {1}) + block(4, floats.substr(4)), "c64[1] takes 2 values, but the data have 1"},
      {head(8, {1}) + block(6, "a") + block(6, "b"), "string[1] takes 1 values, but the data have 2"},
      {head(22, {3}) + packed(5, {1, 2, 3}), "i4[3] takes 2 values, but the data have 3"},
      {head(17, {1}) + packed(5, {256}), "value 256 does not fit f8e4m3fn"},
      {head(22, {3}) + packed(5, {1, 256}), "value 256 does not fit"},
      {head(7, {1}) + packed(5, {1}), "data of type i64 in field 5"},
      {head(13, {1}) + packed(7, {1}), "data of type u64 in field 7"},
  };
  for (const TypedCase& c : cases) {
    const auto result = parse_proto(c.text);
    ASSERT_FALSE(result) << c.want;
    EXPECT_THAT(result.error().text(), testing::StartsWith("tensor 'W': "));
    EXPECT_THAT(result.error().text(), HasSubstr(c.want));
    EXPECT_THAT(result.error().code, testing::AnyOf(Code::bad_model, Code::unsupported));
  }
  EXPECT_THAT(parse_proto(block(8, "a\nb")).error().text(), HasSubstr("'a\\nb'"));
}

TEST(OnnxTensorTest, BorrowsInPlace) {
  auto file = std::make_shared<std::string>();
  const std::string payload(kBorrowUnaligned, 'x');
  for (const std::size_t pad : {0u, 1u, 2u, 3u}) {
    *file = std::string(pad, ' ') + head(1, {kBorrowUnaligned / 4}) + block(9, payload);
    const auto bytes = bytes_of(*file).subspan(pad);
    const Tensor t = tensor_from_proto(bytes, file).value();
    const auto* source = bytes.data() + (bytes.size() - payload.size());
    if (t.data() == source) {
      EXPECT_FALSE(t.buffer().writable());
    } else {
      EXPECT_TRUE(is_aligned(t)) << "copied";
    }
    if (reinterpret_cast<std::uintptr_t>(source) % 4 == 0) {
      EXPECT_EQ(t.data(), source);
    }
    EXPECT_EQ(t.integer_at(5), Tensor(t.packed().value()).integer_at(5));
    EXPECT_NE(tensor_from_proto(bytes).value().data(), source) << "nothing keeps the bytes";
  }
  std::weak_ptr<std::string> watch = file;
  *file = head(3, {2}) + block(9, "ab");
  Tensor t = tensor_from_proto(bytes_of(*file), file).value();
  file.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(t.integer_at(1), 'b');
  t = Tensor();
  EXPECT_TRUE(watch.expired());
}

std::string external_entry(std::string_view key, std::string_view value) {
  return block(13, block(1, key) + block(2, value));
}

TEST(OnnxTensorTest, ExternalData) {
  const std::string text = head(6, {2}) + number(14, 1) + external_entry("location", "w.bin") +
                           external_entry("offset", "16") + external_entry("checksum", "abc");
  ExternalRef seen;
  const auto data = std::make_shared<std::vector<std::int32_t>>(std::vector<std::int32_t>{4, 5});
  const ExternalLoader loader = [&](const ExternalRef& ref) -> Result<ExternalBytes> {
    seen = ref;
    return ExternalBytes{std::as_bytes(std::span(*data)), data};
  };
  const auto loaded = tensor_from_proto(bytes_of(text), nullptr, &loader);
  ASSERT_TRUE(loaded) << loaded.error().text();
  const Tensor& t = *loaded;
  EXPECT_THAT(t.as<std::int32_t>(), ElementsAre(4, 5));
  EXPECT_EQ(static_cast<const void*>(t.data()), data->data());
  EXPECT_EQ(seen.location, "w.bin");
  EXPECT_EQ(seen.offset, 16u);
  EXPECT_EQ(seen.length, 8u);
  EXPECT_EQ(seen.checksum, "abc");
  EXPECT_TRUE(tensor_header(bytes_of(text)).value().external);

  EXPECT_EQ(parse_proto(text).error().code, Code::unsupported);
  const auto message = [&](const std::string& more) {
    return tensor_from_proto(bytes_of(text + more), nullptr, &loader).error().text();
  };
  EXPECT_THAT(message(external_entry("length", "9")), HasSubstr("takes 8 bytes, but its external data have 9"));
  for (const std::string_view bad : {"-1", "+1", "", " 8", "0x8", "8 ", "18446744073709551616"}) {
    EXPECT_THAT(message(external_entry("length", bad)), HasSubstr(fmt::format("'length' is not a number: '{}'", bad)));
  }
  for (const std::string_view key : {"location", "offset", "checksum"}) {
    EXPECT_THAT(message(external_entry(key, "16")), HasSubstr(fmt::format("'{}' is given twice", key)));
  }
  data->push_back(6);
  EXPECT_THAT(message(""), HasSubstr("the data have 12"));
  const ExternalLoader refuses = [](const ExternalRef&) { return fail(Code::bad_input, "no such file"); };
  EXPECT_EQ(tensor_from_proto(bytes_of(text), nullptr, &refuses).error().text(), "tensor 'W': no such file");
}

TEST(OnnxTensorTest, HeaderOnly) {
  const std::string text = head(10, {2, 3}) + block(9, "too short");
  const TensorHeader h = tensor_header(bytes_of(text)).value();
  EXPECT_EQ(h.name, "W");
  EXPECT_EQ(h.elem, Elem::f16);
  EXPECT_THAT(h.sizes, ElementsAre(2, 3));
  EXPECT_FALSE(h.external);
}

Tensor sample(Elem elem, Sizes sizes) {
  Tensor t = Tensor::make(elem, std::move(sizes)).value();
  if (elem == Elem::string) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(t.count()); ++i) {
      t.as_mutable<std::string>()[i] = std::string(i * 7, 's');
    }
    return t;
  }
  const int width = bit_width(elem);
  for (std::size_t i = 0; i < t.bytes(); ++i) {
    int value = static_cast<int>(i * 37 % 256);
    if (elem == Elem::boolean) value %= 2;
    if (width < 8) value &= (1 << width) - 1;
    if (width < 8 && is_signed_int(elem) && (value >> (width - 1)) != 0) value -= 1 << width;
    t.mutable_data()[i] = static_cast<std::byte>(value);
  }
  return t;
}

TEST(OnnxTensorTest, EveryTypeRoundTrips) {
  for (int i = 0; i < kElemCount; ++i) {
    for (const Sizes& sizes : {Sizes{}, Sizes{0}, Sizes{7}, Sizes{2, 3, 5}}) {
      const Tensor t = sample(static_cast<Elem>(i), sizes);
      const std::string text = tensor_to_proto(t, "T").value();
      const auto back = parse_proto(text);
      ASSERT_TRUE(back) << back.error().text();
      EXPECT_TRUE(identical(*back, t)) << t.type_str();
      EXPECT_EQ(tensor_header(bytes_of(text)).value().name, "T");
    }
  }
  EXPECT_FALSE(tensor_to_proto(Tensor()));
}

/// The field of TensorProto that ONNX's specification names for typed data of an element type, and its wire type.
struct TypedField {
  int field;
  int width;  ///< of fixed-size values; 0: varints
};
TypedField typed_field(Elem elem) {
  switch (elem) {
    case Elem::f32:
    case Elem::c64: return {4, 4};
    case Elem::f64:
    case Elem::c128: return {10, 8};
    case Elem::i64: return {7, 0};
    case Elem::u32:
    case Elem::u64: return {11, 0};
    case Elem::string: return {6, -1};
    default: return {5, 0};
  }
}

/// The values of a tensor's raw data as one field holds them, each by itself.
std::vector<std::string> typed_values(const Tensor& t, std::string_view raw) {
  std::vector<std::string> values;
  const TypedField f = typed_field(t.elem());
  const std::size_t width = f.width > 0 ? static_cast<std::size_t>(f.width) : byte_size(t.elem());
  for (std::size_t at = 0; at < raw.size(); at += width) {
    std::int64_t v = 0;
    for (std::size_t k = width; k-- > 0;) v = v << 8 | static_cast<unsigned char>(raw[at + k]);
    const auto unused = static_cast<int>(64 - 8 * width);
    if (is_signed_int(t.elem()) && bit_width(t.elem()) >= 8) v = v << unused >> unused;
    values.push_back(f.width > 0 ? std::string(raw.substr(at, width)) : varint(static_cast<std::uint64_t>(v)));
  }
  return values;
}

TEST(OnnxTensorTest, EveryTypeAsTypedDataPackedAndNot) {
  for (int i = 0; i < kElemCount; ++i) {
    const auto elem = static_cast<Elem>(i);
    if (elem == Elem::string) continue;  // has no packed form
    for (const Sizes& sizes : {Sizes{}, Sizes{0}, Sizes{7}, Sizes{3, 5}}) {
      const Tensor t = sample(elem, sizes);
      const std::string message = tensor_to_proto(t).value();
      std::string raw;
      for (proto::Reader r(bytes_of(message)); r.next(9);) raw = r.text();
      const auto values = typed_values(t, raw);
      const auto [field, width] = typed_field(elem);
      std::string head_only = number(2, onnx_data_type(elem)), all, each;
      for (const std::int64_t d : sizes) head_only += number(1, d);
      for (const std::string& v : values) {
        all += v;
        each += varint(static_cast<std::uint64_t>(field << 3 | (width == 4 ? 5 : width == 8 ? 1 : 0))) + v;
      }
      for (const std::string& data : {block(field, all), each}) {
        const auto back = parse_proto(head_only + data);
        ASSERT_TRUE(back) << t.type_str() << ": " << back.error().text();
        EXPECT_TRUE(identical(*back, t)) << t.type_str();
      }
    }
  }
}

TEST(OnnxTensorTest, StringsHoldAnyBytes) {
  const std::string bytes("\xff\0\n", 3);
  const Tensor t = parse_proto(head(8, {1}) + block(6, bytes)).value();
  EXPECT_EQ(t.as<std::string>()[0], bytes);
}

// ---- messages of any size ----

TEST(OnnxReaderTest, LengthsAreSixtyFourBitsWide) {
  const std::string fields = number(1, 5) + block(2, "text");
  for (const std::uint64_t more : {std::uint64_t{0}, std::uint64_t{1} << 32, std::uint64_t{1} << 40}) {
    const std::string message = varint(1 << 3 | 2) + varint(fields.size() + more) + fields;
    proto::Reader reader(bytes_of(message));
    ASSERT_TRUE(reader.next());
    if (more == 0) {
      EXPECT_EQ(reader.text(), fields);
    } else {
      EXPECT_THROW(reader.text(), protozero::end_of_buffer_exception) << more;
    }
  }
}

TEST(OnnxReaderTest, DamagedFields) {
  const std::string_view cases[] = {
      "\x80",                                              // a key that is cut
      {"\0\1", 2},                                         // field 0
      "\x0b",                                              // a group
      "\x0f",                                              // wire type 7
      "\x08",                                              // no value
      "\x0d\1\2\3",                                        // 3 of 4 bytes
      "\x09\1\2\3\4\5\6\7",                                // 7 of 8 bytes
      "\x0a\5abcd",                                        // 4 of 5 bytes
      "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",  // 11 bytes of a varint
  };
  for (const std::string_view text : cases) {
    const auto read_all = [&] {
      for (proto::Reader reader(bytes_of(text)); reader.next();) reader.skip();
    };
    EXPECT_THROW(read_all(), protozero::exception) << testing::PrintToString(text);
  }
}

Datum sequence_of(std::vector<Datum> items) { return std::make_shared<const Sequence>(Sequence{std::move(items)}); }

bool same(const Datum& a, const Datum& b) {
  if (a.is_tensor()) return b.is_tensor() && identical(a.tensor(), b.tensor());
  if (a.is_sequence()) {
    return b.is_sequence() && std::ranges::equal(a.sequence().items, b.sequence().items, same);
  }
  if (a.is_map()) {
    return b.is_map() && std::ranges::equal(a.map().items, b.map().items, [](const auto& x, const auto& y) {
             return identical(x.first, y.first) && same(x.second, y.second);
           });
  }
  return b.empty();
}

std::vector<std::pair<ProtoKind, Datum>> nested_values() {
  const Tensor t = Tensor::of<float>({2}, {1, 2});
  const Datum two = sequence_of({t, Tensor::scalar(3)});
  MapValue by_int;
  by_int.items = {{Tensor::scalar<std::int32_t>(-5), t}, {Tensor::scalar<std::int32_t>(9), Tensor::scalar(1.0)}};
  MapValue by_text;
  by_text.items = {{Tensor::scalar<std::string>("k"), two}};
  const Datum ints = std::make_shared<const MapValue>(std::move(by_int));
  const Datum texts = std::make_shared<const MapValue>(std::move(by_text));
  return {
      {ProtoKind::tensor, t},
      {ProtoKind::sequence, sequence_of({})},
      {ProtoKind::sequence, two},
      {ProtoKind::sequence, sequence_of({two, sequence_of({})})},
      {ProtoKind::sequence, sequence_of({Datum(), t})},
      {ProtoKind::sequence, sequence_of({ints})},
      {ProtoKind::optional, Datum()},
      {ProtoKind::optional, t},
      {ProtoKind::optional, two},
      {ProtoKind::map, ints},
      {ProtoKind::map, texts},
      {ProtoKind::map, std::make_shared<const MapValue>()},
  };
}

TEST(OnnxDatumTest, NestedValuesRoundTrip) {
  for (const auto& [kind, value] : nested_values()) {
    const auto text = datum_to_proto(kind, value, "name");
    ASSERT_TRUE(text) << text.error().text();
    const auto back = datum_from_proto(kind, bytes_of(*text));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_TRUE(same(value, *back));
  }
  EXPECT_FALSE(datum_to_proto(ProtoKind::tensor, Datum()));
  EXPECT_FALSE(datum_to_proto(ProtoKind::sequence, sequence_of({Tensor::scalar(1), sequence_of({})})));
}

TEST(OnnxDatumTest, CutOrChangedBytesNeverCrash) {
  auto values = nested_values();
  for (const Elem elem : {Elem::f32, Elem::string, Elem::i4, Elem::boolean}) {
    values.emplace_back(ProtoKind::tensor, sample(elem, {3, 3}));
  }
  for (const auto& [kind, value] : values) {
    const std::string text = datum_to_proto(kind, value, "name").value();
    for (std::size_t size = 0; size < text.size(); ++size) {
      const auto cut = datum_from_proto(kind, bytes_of(std::string(text, 0, size)));
      if (kind == ProtoKind::tensor) {
        EXPECT_FALSE(cut) << size;
      }
    }
    for (std::size_t at = 0; at < text.size(); ++at) {
      for (int flip = 1; flip < 256; ++flip) {
        std::string changed = text;
        changed[at] = static_cast<char>(changed[at] ^ flip);
        (void)datum_from_proto(kind, bytes_of(changed));
      }
    }
  }
}

TEST(OnnxDatumTest, MalformedMessages) {
  const std::string tensor = head(3, {1}) + block(9, "a");
  const auto message = [](ProtoKind kind, const std::string& text) {
    const auto result = datum_from_proto(kind, bytes_of(text));
    return result ? "no fault" : result.error().text();
  };
  EXPECT_THAT(message(ProtoKind::sequence, block(3, tensor) + block(5, "")), HasSubstr("several kinds"));
  EXPECT_THAT(message(ProtoKind::sequence, block(4, "")), HasSubstr("sparse"));
  EXPECT_THAT(message(ProtoKind::sequence, block(3, tensor) + block(3, head(3, {2}))),
              testing::StartsWith("sequence item 1: tensor 'W': "));
  EXPECT_THAT(message(ProtoKind::optional, block(3, tensor) + block(3, tensor)), HasSubstr("several values"));
  EXPECT_THAT(message(ProtoKind::map, number(2, 1)), HasSubstr("neither integers nor strings"));
  EXPECT_THAT(message(ProtoKind::map, number(2, 3) + number(3, 300)), HasSubstr("key 300 does not fit i8"));
  EXPECT_THAT(message(ProtoKind::map, number(2, 7) + number(3, 300)), HasSubstr("1 keys and 0 values"));
  EXPECT_THAT(message(ProtoKind::map, number(2, 7) + block(4, "a")), HasSubstr("not of its key type"));
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep = block(5, deep);
  EXPECT_THAT(message(ProtoKind::sequence, deep), HasSubstr("nest deeper"));
}

TEST(OnnxDatumTest, FilesAreNamed) {
  EXPECT_THAT(read_pb("/no/such.pb", ProtoKind::tensor).error().text(), HasSubstr("/no/such.pb"));
}

TEST(OnnxDatumTest, RealTestData) {
  const auto dir = test::shared_dir() / "onnx-tests" / "node";
  if (!std::filesystem::is_directory(dir)) GTEST_SKIP() << test::kNoShared;
  int tensors = 0;
  int others = 0;
  int unread = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    if (entry.path().extension() != ".pb") continue;
    const std::string path = entry.path().string();
    const auto t = read_pb(path, ProtoKind::tensor);
    if (t) {
      ++tensors;
      const std::string text = tensor_to_proto(t->tensor()).value();
      ASSERT_TRUE(identical(parse_proto(text).value(), t->tensor())) << path;
    } else if (read_pb(path, ProtoKind::sequence) || read_pb(path, ProtoKind::optional)) {
      ++others;
    } else {
      ++unread;
      ADD_FAILURE() << t.error().text();
    }
  }
  EXPECT_EQ(unread, 0);
  std::cout << tensors << " tensors, " << others << " sequences and optionals\n";
}

}  // namespace
}  // namespace frazil
