#include "tensor/tensor.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensor/datum.h"

namespace frazil {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

TEST(BufferTest, AllocatesAligned) {
  for (const std::size_t size : {0u, 1u, 63u, 64u, 1000u}) {
    const Buffer buffer = Buffer::allocate(size).value();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_TRUE(buffer && buffer.writable() && buffer.unique());
    const Buffer copy = buffer;
    EXPECT_FALSE(buffer.unique());
    EXPECT_TRUE(copy.same_bytes(buffer));
  }
  EXPECT_FALSE(Buffer());
}

TEST(BufferTest, RefusalIsAValue) {
  for (const std::size_t size : {std::size_t{1} << 60, SIZE_MAX, SIZE_MAX / 2}) {
    EXPECT_EQ(Buffer::allocate(size).error().code, Code::out_of_memory);
    EXPECT_EQ(Buffer::strings(size).error().code, Code::out_of_memory);
  }
}

TEST(BufferTest, BorrowKeepsItsOwner) {
  auto owner = std::make_shared<int>(5);
  Buffer buffer = Buffer::borrow(std::as_bytes(std::span(owner.get(), 1)), owner);
  std::weak_ptr<int> watch = owner;
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_FALSE(buffer.writable());
  buffer = Buffer();
  EXPECT_TRUE(watch.expired());
  EXPECT_TRUE(Buffer::borrow({}, nullptr)) << "no bytes is still a buffer";
}

TEST(SizesTest, CountsAreChecked) {
  EXPECT_EQ(element_count(Sizes{}), 1);
  EXPECT_EQ(element_count(Sizes{2, 3}), 6);
  EXPECT_EQ(element_count(Sizes{kHuge, kHuge, 0}), 0);
  EXPECT_EQ(byte_count(Elem::f32, Sizes{2, 3}).value(), 24u);
  EXPECT_EQ(byte_count(Elem::f32, Sizes{1 << 22, 0, 1 << 23}).value(), 0u);
  EXPECT_EQ(byte_count(Elem::f32, Sizes{1 << 22, 0, 1 << 24}).error().code, Code::limit) << "0 counts as 1";
  EXPECT_EQ(byte_count(Elem::f32, Sizes{0, -1}).error().code, Code::bad_input);
  EXPECT_EQ(byte_count(Elem::f32, Sizes{kHuge, kHuge}).error().code, Code::limit);
  EXPECT_EQ(byte_count(Elem::u8, Sizes{101}, 100).error().code, Code::limit);
  EXPECT_EQ(byte_count(Elem::u8, Sizes{100}, 100).value(), 100u);
  EXPECT_THAT(contiguous_strides(Sizes{2, 3, 4}), ElementsAre(12, 4, 1));
  EXPECT_THAT(contiguous_strides(Sizes{2, 0, 4}), ElementsAre(4, 4, 1));
}

TEST(TensorTest, MakesAndReads) {
  const Tensor t = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(t.type_str(), "f32[2,3]");
  EXPECT_EQ(t.bytes(), 24u);
  EXPECT_TRUE(t.contiguous() && is_aligned(t) && t.defined());
  EXPECT_THAT(t.as<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(t.number_at(4), 5.0);
  EXPECT_FALSE(Tensor().defined());
  EXPECT_TRUE(Tensor::make(Elem::f32, {0}).value().defined());
  EXPECT_EQ(Tensor::make(Elem::f32, {-1}).error().code, Code::bad_input);
  EXPECT_THROW(Tensor::of<float>({2}, {1, 2, 3}), std::length_error);
}

TEST(TensorTest, ViewsPack) {
  const Tensor t = Tensor::of<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor turned(Elem::i32, {3, 2}, {1, 3}, t.buffer(), 0);
  EXPECT_FALSE(turned.contiguous());
  EXPECT_EQ(turned.integer_at(1), 4);
  EXPECT_THAT(turned.packed().value().as<std::int32_t>(), ElementsAre(1, 4, 2, 5, 3, 6));
  const Tensor backwards(Elem::i32, {2, 3}, {-3, -1}, t.buffer(), 20);
  EXPECT_THAT(backwards.packed().value().as<std::int32_t>(), ElementsAre(6, 5, 4, 3, 2, 1));
  const Tensor spread(Elem::i32, {2, 2}, {0, 1}, t.buffer(), 4);
  EXPECT_THAT(spread.packed().value().as<std::int32_t>(), ElementsAre(2, 3, 2, 3));
  EXPECT_TRUE(identical(turned, turned.packed().value()));
  EXPECT_TRUE(t.packed().value().buffer().same_bytes(t.buffer()));
  EXPECT_EQ(reshaped(t, {6}).type_str(), "i32[6]");
  const Tensor none(Elem::i32, {0, 3}, {9, 9}, t.buffer(), 0);
  EXPECT_TRUE(none.contiguous());
  EXPECT_TRUE(Tensor::make(Elem::i32, {1 << 15, 0, 1 << 15, 1 << 15}).value().contiguous());
  const Tensor single(Elem::i32, {1, 3}, {77, 1}, t.buffer(), 0);
  EXPECT_TRUE(single.contiguous());
}

TEST(TensorTest, EveryWidthPacks) {
  for (int i = 0; i < kElemCount; ++i) {
    const auto elem = static_cast<Elem>(i);
    if (elem == Elem::string) continue;
    Tensor t = Tensor::make(elem, {2, 3}).value();
    for (std::size_t b = 0; b < t.bytes(); ++b) t.mutable_data()[b] = static_cast<std::byte>(b);
    const Tensor turned = Tensor(elem, {3, 2}, {1, 3}, t.buffer(), 0).packed().value();
    const std::size_t width = byte_size(elem);
    for (const auto& [from, to] : {std::pair{0, 0}, {3, 1}, {1, 2}, {4, 3}, {2, 4}, {5, 5}}) {
      EXPECT_EQ(std::memcmp(t.data() + static_cast<std::size_t>(from) * width,
                            turned.data() + static_cast<std::size_t>(to) * width, width),
                0)
          << name_of(elem);
    }
  }
}

TEST(TensorTest, OverChecksTheBuffer) {
  const Buffer buffer = Buffer::allocate(16).value();
  EXPECT_TRUE(Tensor::over(Elem::f32, {4}, buffer));
  EXPECT_TRUE(Tensor::over(Elem::f32, {3}, buffer, 4));
  EXPECT_EQ(Tensor::over(Elem::f32, {4}, buffer, 4).error().code, Code::bad_input);
  EXPECT_EQ(Tensor::over(Elem::f32, {5}, buffer).error().code, Code::bad_input);
  EXPECT_EQ(Tensor::over(Elem::f32, {0}, buffer, 17).error().code, Code::bad_input);
}

TEST(TensorTest, StringsAreObjects) {
  const std::string lengthy(100, 'x');
  Tensor t = Tensor::of<std::string>({2, 2}, {"a", lengthy, "", "d"});
  const Tensor turned = Tensor(Elem::string, {2, 2}, {1, 2}, t.buffer(), 0);
  EXPECT_THAT(turned.packed().value().as<std::string>(), ElementsAre("a", "", lengthy, "d"));
  EXPECT_TRUE(identical(turned, turned.packed().value()));
  EXPECT_FALSE(identical(turned, t));
  EXPECT_EQ(Tensor::make(Elem::string, {3}).value().as<std::string>()[2], "");
  EXPECT_EQ(Tensor::make(Elem::string, {0}).value().count(), 0);
  EXPECT_TRUE(std::isnan(t.number_at(0)));
}

TEST(TensorTest, Summaries) {
  EXPECT_EQ(summary(Tensor::scalar(1.5f)), "1.5");
  EXPECT_EQ(summary(Tensor::of<std::int64_t>({2, 2}, {1, 2, 3, 4})), "[[1, 2], [3, 4]]");
  EXPECT_EQ(summary(Tensor::of<std::int64_t>({5}, {1, 2, 3, 4, 9}), 4), "[1, 2, 3, ... 9]");
  EXPECT_EQ(summary(Tensor::of<bool>({2}, {true, false})), "[true, false]");
  EXPECT_EQ(summary(Tensor::of<std::string>({1}, {"a\"\n"})), "[\"a\\\"\\x0a\"]");
  EXPECT_EQ(summary(Tensor::make(Elem::f32, {0, 2}).value()), "[]");
  EXPECT_EQ(summary(Tensor::of<Half>({1}, {Half(0.1f)})), "[0.099976]");
  EXPECT_EQ(summary(Tensor::scalar(std::complex<float>(1, -2))), "1-2i");
  EXPECT_EQ(summary(Tensor::of<std::uint64_t>({1}, {UINT64_MAX})), "[18446744073709551615]");
  EXPECT_EQ(summary(Tensor()), "undefined");
  EXPECT_EQ(summary(Tensor::of<std::int64_t>({3}, {1, 2, 3}), 0), "[... 3]");
}

TEST(TensorTest, NumbersConvert) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Tensor::scalar(-7.9).integer_at(0), -7);
  EXPECT_EQ(Tensor::scalar(inf).integer_at(0), INT64_MAX);
  EXPECT_EQ(Tensor::scalar(-inf).integer_at(0), INT64_MIN);
  EXPECT_EQ(Tensor::scalar(std::nan("")).integer_at(0), 0);
  EXPECT_EQ(Tensor::scalar<std::int64_t>(INT64_MAX - 1).integer_at(0), INT64_MAX - 1);
  EXPECT_EQ(Tensor::scalar(true).number_at(0), 1.0);
  EXPECT_EQ(Tensor::scalar(BFloat16(3.0f)).number_at(0), 3.0);
  EXPECT_EQ(Tensor::scalar<std::int8_t>(-3).number_at(0), -3.0);
  EXPECT_EQ(Tensor::scalar<std::uint16_t>(65535).integer_at(0), 65535);
}

TEST(TensorTest, IdentityIsOfBits) {
  const float nan = std::nanf("");
  EXPECT_TRUE(identical(Tensor::scalar(nan), Tensor::scalar(nan)));
  EXPECT_FALSE(identical(Tensor::scalar(0.0f), Tensor::scalar(-0.0f)));
  EXPECT_FALSE(identical(Tensor::scalar(0.0f), Tensor::scalar(0)));
  EXPECT_FALSE(identical(Tensor::of<int>({1}, {0}), Tensor::scalar(0)));
  EXPECT_TRUE(identical(Tensor(), Tensor()));
  EXPECT_FALSE(identical(Tensor(), Tensor::scalar(0.0f)));
}

TEST(DatumTest, Kinds) {
  EXPECT_TRUE(Datum().empty());
  EXPECT_TRUE(Datum(Tensor::scalar(1)).is_tensor());
  EXPECT_TRUE(Datum(std::make_shared<const Sequence>()).is_sequence());
  EXPECT_TRUE(Datum(std::make_shared<const MapValue>()).is_map());
}

}  // namespace
}  // namespace frazil
