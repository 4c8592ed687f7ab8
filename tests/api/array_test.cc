#include <cmath>
#include <fstream>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error/tool.h"

namespace {

using frazil::Array;
using frazil::Dtype;
using frazil::Error;
using testing::ElementsAre;

TEST(Array, HoldsValuesOfEveryCppType) {
  EXPECT_THAT(Array::of<float>({2}, {1, 2}).values<float>(), ElementsAre(1, 2));
  EXPECT_THAT(Array::of<bool>({2}, {true, false}).values<bool>(), ElementsAre(true, false));
  EXPECT_THAT(Array::of<std::string>({1}, {"ice"}).values<std::string>(), ElementsAre("ice"));
  EXPECT_EQ(Array::scalar<std::uint8_t>(7).dtype(), Dtype::u8);
  EXPECT_EQ(Array::scalar(std::complex<float>(1, 2)).item<std::complex<float>>(), std::complex<float>(1, 2));
  EXPECT_EQ(Array::scalar<long long>(5).dtype(), Dtype::i64);
}

TEST(Array, HoldsHalves) {
  using frazil::BFloat16;
  using frazil::Half;
  const Array a = Array::of<Half>({3}, {Half(1.5f), Half(-2), Half(65504)});
  EXPECT_EQ(a.dtype(), Dtype::f16);
  EXPECT_EQ(a.bytes(), 6);
  EXPECT_EQ(a.str(), "f16[3] [1.5, -2, 65504]");
  EXPECT_THAT(a.values<Half>(), ElementsAre(1.5f, -2.0f, 65504.0f));
  EXPECT_THROW(a.values<BFloat16>(), Error);
  EXPECT_THROW(a.values<std::uint16_t>(), Error);
  Array b = Array::of<BFloat16>({2}, {BFloat16(3), BFloat16::from_bits(0x3f80)});
  EXPECT_EQ(b.dtype(), Dtype::bf16);
  b.mutable_values<BFloat16>()[0] = BFloat16(0.5f);
  EXPECT_THAT(b.values<BFloat16>(), ElementsAre(0.5f, 1.0f));
}

TEST(Array, HalvesRoundToNearestEven) {
  using frazil::Half;
  struct Case {
    float value;
    std::uint16_t half, bfloat;
  };
  constexpr Case cases[] = {
      {0.0f, 0x0000, 0x0000},     {-0.0f, 0x8000, 0x8000},
      {1.0f, 0x3c00, 0x3f80},     {1 + 0x1p-11f, 0x3c00, 0x3f80},
      {1e9f, 0x7c00, 0x4e6e},     {0x1p-24f, 0x0001, 0x3380},
      {0x1p-26f, 0x0000, 0x3280}, {1 + 3 * 0x1p-11f, 0x3c02, 0x3f80},
      {-2.5f, 0xc100, 0xc020},
  };
  for (const auto& [value, half, bfloat] : cases) {
    EXPECT_EQ(Half(value).bits, half) << value;
    EXPECT_EQ(frazil::BFloat16(value).bits, bfloat) << value;
  }
  EXPECT_TRUE(std::isnan(Half(std::nanf(""))));
}

TEST(Array, StartsAtZero) {
  const Array a(Dtype::f32, {2, 3});
  EXPECT_EQ(a.count(), 6);
  EXPECT_EQ(a.bytes(), 24);
  EXPECT_THAT(a.values<float>(), testing::Each(0));
  EXPECT_EQ(a.str(), "f32[2,3] [[0, 0, 0], [0, 0, 0]]");
}

TEST(Array, ChecksTypesCountsAndKinds) {
  const Array a = Array::of<float>({2}, {1, 2});
  EXPECT_THROW(a.values<double>(), Error);
  EXPECT_THROW(a.item<float>(), Error);
  EXPECT_THROW(a.items(), Error);
  EXPECT_THROW(a.number(2), Error);
  EXPECT_THROW(Array().dtype(), Error);
  EXPECT_THROW(Array::of<float>({3}, {1, 2}), Error);
  EXPECT_THROW(Array(Dtype::f32, {-1}), Error);
  EXPECT_THROW(Array(Dtype::f32, {std::int64_t{1} << 40, std::int64_t{1} << 40}), Error);
  const float one = 1;
  EXPECT_THROW(Array::borrow(Dtype::f32, {2}, std::as_bytes(std::span(&one, 1))), Error);
}

TEST(Array, CopiesShareUntilOneIsWritten) {
  Array a = Array::of<float>({2}, {1, 2});
  Array b = a;
  EXPECT_EQ(a.data(), b.data());
  b.mutable_values<float>()[0] = 9;
  EXPECT_THAT(a.values<float>(), ElementsAre(1, 2));
  EXPECT_THAT(b.values<float>(), ElementsAre(9, 2));
}

TEST(Array, AnAliasHasTheSameElements) {
  const Array a = Array::of<float>({2}, {1, 2});
  Array b = a.alias();
  EXPECT_EQ(a.data(), b.data());
  EXPECT_EQ(a.layout().block, 2 * sizeof(float));
  EXPECT_FALSE(b.layout().exclusive);
  b.mutable_values<float>()[0] = 9;
  EXPECT_THAT(a.values<float>(), ElementsAre(1, 2));
  EXPECT_TRUE(Array().alias().empty());
  const float memory[] = {1, 2};
  EXPECT_EQ(Array::borrow(Dtype::f32, {2}, std::as_bytes(std::span(memory))).layout().block, 0U);
}

TEST(Array, BorrowedMemoryIsNeverWritten) {
  const std::vector<float> memory{1, 2};
  Array a = Array::borrow(Dtype::f32, {2}, std::as_bytes(std::span(memory)));
  a.mutable_values<float>()[0] = 9;
  EXPECT_EQ(memory[0], 1);
  EXPECT_THAT(a.values<float>(), ElementsAre(9, 2));
}

TEST(Array, HoldsSequencesAndMaps) {
  const Array s = Array::sequence({Array::scalar(1.0f), Array::scalar(2.0f)});
  EXPECT_EQ(s.kind(), Array::Kind::sequence);
  ASSERT_EQ(s.items().size(), 2);
  EXPECT_EQ(s.items()[1].item<float>(), 2);
  const Array m = Array::map({{Array::scalar<std::int64_t>(3), Array::scalar(0.5f)}});
  EXPECT_EQ(m.entries()[0].first.item<std::int64_t>(), 3);
  EXPECT_TRUE(Array().empty());
}

TEST(Array, LayoutTellsWhoUsesTheBytes) {
  Array a = Array::of<float>({2, 1}, {1, 2});
  EXPECT_TRUE(a.layout().exclusive);
  EXPECT_EQ(a.layout().data, a.data());
  EXPECT_EQ(a.layout().strides[0], 1);
  {
    const Array shared = a;
    EXPECT_FALSE(a.layout().exclusive);
  }
  EXPECT_TRUE(a.layout().exclusive);
  const std::vector<float> memory{1, 2};
  EXPECT_FALSE(Array::borrow(Dtype::f32, {2}, std::as_bytes(std::span(memory))).layout().exclusive);
  EXPECT_EQ(frazil::onnx_number(Dtype::f32), 1);
  EXPECT_EQ(frazil::onnx_number(Dtype::bf16), 16);
}

TEST(Array, ReadsOnnxTestDataAndTellsDifferences) {
  const frazil::test::TempFolder folder;
  const std::string path = folder / "x.pb";
  const auto write = [&](std::string_view bytes) { std::ofstream(path) << bytes; };
  // dims: 2, data_type: 1 (f32), raw_data: 1, 2
  const std::string tensor("\x08\x02\x10\x01\x4a\x08\x00\x00\x80\x3f\x00\x00\x00\x40", 14);
  write(tensor);
  const Array x = Array::read_pb(path);
  EXPECT_THAT(x.values<float>(), ElementsAre(1, 2));
  EXPECT_EQ(frazil::difference(x, Array::of<float>({2}, {1, 2.001F})), std::nullopt);
  EXPECT_THAT(frazil::difference(x, Array::of<float>({2}, {1, 2.1F})).value_or(""), testing::HasSubstr("2.1"));
  EXPECT_EQ(frazil::difference(x, Array::of<float>({2}, {1, 2.1F}), 0, 0.2), std::nullopt);
  EXPECT_TRUE(frazil::difference(x, Array::of<float>({1, 2}, {1, 2})));
  EXPECT_TRUE(frazil::difference(x, Array()));
  EXPECT_EQ(frazil::difference(Array(), Array()), std::nullopt);
  // SequenceProto: elem_type: tensor, tensor_values: x
  write("\x10\x01\x1a\x0e" + tensor);
  EXPECT_EQ(Array::read_pb(path, Array::Kind::sequence).items().size(), 1U);
  write("");
  EXPECT_TRUE(Array::read_pb(path, Array::Kind::none).empty()) << "an optional without a value";
  write(tensor.substr(0, 9));
  for (const std::string& bad : {path, path + ".none"}) {
    try {
      Array::read_pb(bad);
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(bad));
    }
  }
}

}  // namespace
