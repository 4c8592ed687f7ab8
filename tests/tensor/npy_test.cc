#include "tensor/npy.h"

#include <filesystem>
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/os/io.h"
#include "paths.h"

namespace frazil {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string npy(std::string header, std::string_view data, int version = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(header.size() >> (8 * i));
  return out + header + std::string(data);
}

std::string header(std::string_view descr, std::string_view shape, std::string_view fortran = "False") {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}          \n", descr, fortran, shape);
}

Result<Tensor> parse_npy(std::string_view text) { return npy_from_bytes(std::as_bytes(std::span(text)), "x.npy"); }

std::string bytes_from(std::initializer_list<int> values) { return {values.begin(), values.end()}; }

TEST(NpyTest, EveryNumericTypeRoundTrips) {
  for (const Elem elem : {Elem::boolean, Elem::i8, Elem::i16, Elem::i32, Elem::i64, Elem::u8, Elem::u16, Elem::u32,
                          Elem::u64, Elem::f16, Elem::f32, Elem::f64, Elem::c64, Elem::c128}) {
    for (const Sizes& sizes : {Sizes{}, Sizes{3}, Sizes{2, 3}, Sizes{0, 4}, Sizes{2, 1, 2, 1, 3}}) {
      Tensor t = Tensor::make(elem, sizes).value();
      for (std::size_t i = 0; i < t.bytes(); ++i) {
        t.mutable_data()[i] = static_cast<std::byte>(elem == Elem::boolean ? i % 2 : i * 37);
      }
      const std::string text = npy_to_bytes(t).value();
      EXPECT_EQ((text.size() - t.bytes()) % 64, 0u);
      const auto back = parse_npy(text);
      ASSERT_TRUE(back) << back.error().text();
      EXPECT_TRUE(identical(*back, t)) << t.type_str();
    }
  }
}

TEST(NpyTest, ViewsAreWrittenPacked) {
  const Tensor t = Tensor::of<std::int32_t>({2, 2}, {1, 2, 3, 4});
  const Tensor turned(Elem::i32, {2, 2}, {1, 2}, t.buffer(), 0);
  EXPECT_THAT(parse_npy(npy_to_bytes(turned).value()).value().as<std::int32_t>(), ElementsAre(1, 3, 2, 4));
}

TEST(NpyTest, ByteOrdersAndFortran) {
  const std::string big = bytes_from({0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6});
  const Tensor t = parse_npy(npy(header(">i2", "(2, 3)"), big)).value();
  EXPECT_EQ(t.type_str(), "i16[2,3]");
  EXPECT_THAT(t.as<std::int16_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  const Tensor f = parse_npy(npy(header(">i2", "(2, 3)", "True"), big)).value();
  EXPECT_THAT(f.as<std::int16_t>(), ElementsAre(1, 3, 5, 2, 4, 6));
  const Tensor c = parse_npy(npy(header(">c8", "(1,)"), bytes_from({0x3f, -128, 0, 0, 0x40, 0, 0, 0}))).value();
  EXPECT_EQ(c.as<std::complex<float>>()[0], std::complex<float>(1, 2));
  const Tensor s = parse_npy(npy(header("|S1", "(2, 2)", "True"), "abcd")).value();
  EXPECT_THAT(s.as<std::string>(), ElementsAre("a", "c", "b", "d"));
}

TEST(NpyTest, EveryVersionAndSpelling) {
  for (const int version : {1, 2, 3}) {
    EXPECT_EQ(parse_npy(npy(header("|u1", "()"), "\x07", version)).value().integer_at(0), 7);
  }
  EXPECT_TRUE(parse_npy(npy("{\"shape\": (1L,), 'fortran_order': False, \"descr\": \"=u1\"}\n", "x")));
  EXPECT_TRUE(parse_npy(npy("{'shape':(1,),'fortran_order':True,'descr':'u1'}", "x")));
  EXPECT_EQ(summary(parse_npy(npy(header("|b1", "(3,)"), bytes_from({0, 2, -1}))).value()), "[false, true, true]");
  EXPECT_TRUE(parse_npy(npy(header("|u1", "(1,)"), "xyz"))) << "NumPy ignores what follows";
}

TEST(NpyTest, Strings) {
  const std::string wide = bytes_from({'a', 0, 0, 0, 0, 0, 0, 0, 0xe4, 0, 0, 0, 0x00, 0xf6, 1, 0});
  EXPECT_THAT(parse_npy(npy(header("<U2", "(2,)"), wide)).value().as<std::string>(),
              ElementsAre("a", "\xc3\xa4\xf0\x9f\x98\x80"));
  EXPECT_THAT(parse_npy(npy(header("|S3", "(2,)"), std::string("ab\0cde", 6))).value().as<std::string>(),
              ElementsAre("ab", "cde"));
  const Tensor t = Tensor::of<std::string>({2, 2}, {"", "\xc3\xa4", "abc", "\xe2\x82\xac\xf0\x9f\x98\x80"});
  EXPECT_TRUE(identical(parse_npy(npy_to_bytes(t).value()).value(), t));
  EXPECT_EQ(npy_to_bytes(Tensor::of<std::string>({1}, {"\xff"})).error().code, Code::bad_input);
  EXPECT_EQ(npy_to_bytes(Tensor::of<std::string>({1}, {std::string("a\0", 2)})).error().code, Code::bad_input);
  EXPECT_TRUE(npy_to_bytes(Tensor::make(Elem::string, {0}).value()));
  const Tensor none = parse_npy(npy(header("|S1", "(1000000000000, 0)"), "")).value();
  EXPECT_TRUE(identical(parse_npy(npy_to_bytes(none).value()).value(), none));
}

TEST(NpyTest, TypesThatNumpyLacks) {
  for (const Elem elem : {Elem::bf16, Elem::f8e4m3fn, Elem::i4, Elem::u2, Elem::f4e2m1}) {
    EXPECT_EQ(npy_to_bytes(Tensor::make(elem, {1}).value()).error().code, Code::unsupported);
  }
}

std::string repeated(std::string_view part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

struct BadCase {
  std::string text;
  Code code;
  std::string_view message;
};

TEST(NpyTest, MalformedFiles) {
  const std::string huge = "(4611686018427387904, 4611686018427387904)";
  const BadCase cases[] = {
      {"", Code::bad_input, "not an .npy file"},
      {"PK\x03\x04 is a zip file", Code::bad_input, "not an .npy file"},
      {npy(header("<f4", "(1,)"), "1234", 4), Code::unsupported, "version 4"},
      {npy(header("<f4", "(2,)"), "1234"), Code::bad_input, "needs 8 bytes of data, the file has 4"},
      {npy(header("<f4", huge), "1234"), Code::bad_input, "larger than any file"},
      {npy(header("<f4", "(99999999999999999999,)"), ""), Code::bad_input, "not an extent"},
      {npy(header("<f4", "(-1,)"), ""), Code::bad_input, "not an extent"},
      {npy(header("<f4", "(1 2)"), ""), Code::bad_input, "not a tuple"},
      {npy(header("<f4", "[1]"), ""), Code::bad_input, "not a tuple"},
      {npy(header("<f4", "(1,)", "Maybe"), ""), Code::bad_input, "neither True nor False"},
      {npy(header("|O", "(1,)"), ""), Code::unsupported, "pickled"},
      {npy(header("<V2", "(1,)"), ""), Code::unsupported, "dtype '<V2'"},
      {npy(header("<f16", "(1,)"), ""), Code::unsupported, "dtype '<f16'"},
      {npy(header("<S0", "(1000000000000,)"), ""), Code::unsupported, "dtype '<S0'"},
      {npy(header("<U99999999999999999999", "(0,)"), ""), Code::unsupported, "dtype '<U9999"},
      {npy(header("", "(1,)"), ""), Code::unsupported, "dtype ''"},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", ""), Code::unsupported, "structured"},
      {npy("{'descr': '<f4', 'fortran_order': False}", ""), Code::bad_input, "is missing"},
      {npy("{'descr': '<f4', 'descr': '<f4'}", ""), Code::bad_input, "twice"},
      {npy("{'a': 1}", ""), Code::bad_input, "unknown key 'a'"},
      {npy("[1]", ""), Code::bad_input, "not a dictionary"},
      {npy("{", ""), Code::bad_input, "a key is not a string"},
      {npy(header("<f4", "()") + "x", "1234"), Code::bad_input, "text follows"},
      {npy(header("<f4", "(1,)"), "").substr(0, 40), Code::bad_input, "cut short in the header"},
      {npy(header("<f4", "(1,)"), "1234", 0), Code::unsupported, "version 0"},
      {npy(header("<f4", "(1,)"), "1234", 255), Code::unsupported, "version 255"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), Code::bad_input, "cut short in the header"},
      {std::string("\x93NUMPY\x03\x00\x01", 9), Code::bad_input, "not an .npy file"},
      {npy(header("<f4", "(" + repeated("1, ", 1000) + ")"), "1234"), Code::bad_input, "more than 64 dimensions"},
      {npy(header("<f4", "(4611686018427387904, 4, 0, 4611686018427387904)"), ""), Code::bad_input, "larger than any"},
      {npy(header("|S2", "(800000000000001615, 0, 0, 7)"), ""), Code::bad_input, "larger than any"},
      {npy(header("<f4", "(1,)"), ""), Code::bad_input, "needs 4 bytes of data, the file has 0"},
      {npy(header("<M8[ns]", "(1,)"), "12345678"), Code::unsupported, "dtype '<M8[ns]'"},
      {npy(header("<U4611686018427387904", "(4,)"), "1234"), Code::unsupported, "dtype '<U4611"},
      {npy(header("<f\n4", "(1,)"), "1234"), Code::unsupported, "dtype '<f\\n4'"},
      {npy("{'a\n\xff': 1}", ""), Code::bad_input, "unknown key 'a\\n\\xff'"},
      {npy(repeated("{'descr': ", 5000), ""), Code::bad_input, "bad header"},
  };
  for (const BadCase& c : cases) {
    const auto result = parse_npy(c.text);
    ASSERT_FALSE(result) << c.message;
    EXPECT_EQ(result.error().code, c.code) << result.error().text();
    EXPECT_THAT(result.error().text(), testing::StartsWith("'x.npy': "));
    EXPECT_EQ(result.error().text().find('\n'), std::string::npos) << result.error().text();
    EXPECT_THAT(result.error().text(), HasSubstr(c.message));
  }
}

TEST(NpyTest, CutAtEveryByteIsAFault) {
  const Tensor strings = Tensor::of<std::string>({2}, {"one", "two"});
  for (const Tensor& t : {Tensor::of<float>({2, 2}, {1, 2, 3, 4}), strings}) {
    const std::string text = npy_to_bytes(t).value();
    for (std::size_t size = 0; size < text.size(); ++size) {
      EXPECT_FALSE(parse_npy(std::string_view(text).substr(0, size))) << size;
    }
  }
}

TEST(NpyTest, ChangedBytesNeverCrash) {
  const std::string text = npy_to_bytes(Tensor::of<std::int16_t>({2, 2}, {1, 2, 3, 4})).value();
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int value = 0; value < 256; value += 3) {
      std::string changed = text;
      changed[at] = static_cast<char>(value);
      if (const auto t = parse_npy(changed)) {
        EXPECT_LE(t->bytes(), 32 * text.size());
      }
    }
  }
}

TEST(NpyTest, Files) {
  const std::string path = (std::filesystem::temp_directory_path() / "frazil_npy_test.npy").string();
  const Tensor t = Tensor::of<double>({2}, {1, 2});
  ASSERT_TRUE(write_npy(path, t));
  EXPECT_TRUE(identical(read_npy(path).value(), t));
  std::filesystem::remove(path);
  EXPECT_THAT(read_npy(path).error().text(), HasSubstr(path));
  EXPECT_THAT(write_npy(path, Tensor::make(Elem::i4, {1}).value()).error().text(), HasSubstr(path));
}

TEST(NpyTest, RealFiles) {
  const auto dir = test::shared_dir() / "models";
  if (!std::filesystem::is_directory(dir)) GTEST_SKIP() << test::kNoShared;
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    if (entry.path().extension() != ".npy") continue;
    const auto t = read_npy(entry.path().string());
    ASSERT_TRUE(t) << t.error().text();
    EXPECT_GT(t->count(), 0);
    const auto original = read_file(entry.path().string(), std::size_t{1} << 30);
    EXPECT_TRUE(identical(parse_npy(npy_to_bytes(*t).value()).value(), *t));
    EXPECT_EQ(npy_to_bytes(*t).value().size(), original.value().size());
    ++count;
  }
  std::cout << count << " files\n";
}

}  // namespace
}  // namespace frazil
