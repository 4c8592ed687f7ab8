// ImageDecoder: pixels of small files written here, and files that are damaged.
#include <gmock/gmock.h>

#include "suite/onnx_cases.h"
#include "suite/tiers.h"

namespace frazil::test {
namespace {

namespace fs = std::filesystem;
using std::literals::operator""s;
using Pixels = std::vector<int>;

Graph decoder(std::string_view format = "RGB") {
  return graph_of(fmt::format(
      "graph decode(%b: u8[N]) {{ %y = ImageDecoder(%b) {{pixel_format = \"{}\"}} return y = %y }}", format));
}

Datum bytes_of(std::string_view file) {
  return Tensor::of<std::uint8_t>({static_cast<std::int64_t>(file.size())},
                                  {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
}

Result<std::vector<Datum>> decoded(const Tier0& tier, std::string_view file) {
  const std::vector<Datum> inputs{bytes_of(file)};
  return tier.session->run(inputs);
}

Pixels pixels_of(const Tensor& image) {
  const auto bytes = image.as<std::uint8_t>();
  return {bytes.begin(), bytes.end()};
}

// ---- files without compression ----

std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 255);
  return text;
}

struct BmpFile {
  std::uint32_t width, height, bits, compression = 0;
  std::string behind_header, pixels;

  std::string bytes() const {
    const auto at = static_cast<std::uint32_t>(54 + behind_header.size());
    return "BM" + little(0, 8) + little(at, 4) + little(40, 4) + little(width, 4) + little(height, 4) + little(1, 2) +
           little(bits, 2) + little(compression, 4) + std::string(20, '\0') + behind_header + pixels;
  }
};

const std::string kPalette = "\x01\x02\x03\0\x04\x05\x06\0\x07\x08\x09\0\x0a\x0b\x0c\0"s;  // blue, green, red, 0

struct File {
  std::string_view name;
  std::string bytes;
  Sizes sizes;
  Pixels pixels;
};

const File kFiles[] = {
    {"bmp of 24 bits, from the bottom",
     BmpFile{1, 2, 24, 0, "", "\x01\x02\x03\0\x04\x05\x06\0"s}.bytes(),
     {2, 1, 3},
     {6, 5, 4, 3, 2, 1}},
    {"bmp of 24 bits, from the top",
     BmpFile{1, 0xfffffffe, 24, 0, "", "\x01\x02\x03\0\x04\x05\x06\0"s}.bytes(),
     {2, 1, 3},
     {3, 2, 1, 6, 5, 4}},
    {"bmp of 32 bits",
     BmpFile{2, 1, 32, 0, "", "\x01\x02\x03\xff\x04\x05\x06\xff"s}.bytes(),
     {1, 2, 3},
     {3, 2, 1, 6, 5, 4}},
    {"bmp of 16 bits", BmpFile{1, 1, 16, 0, "", "\x1f\x40\0\0"s}.bytes(), {1, 1, 3}, {131, 0, 255}},
    {"bmp with masks",
     BmpFile{1, 1, 32, 3, little(0xff, 4) + little(0xff00, 4) + little(0x3ff0000, 4), little(0x3ff0201, 4)}.bytes(),
     {1, 1, 3},
     {1, 2, 255}},
    {"bmp of 8 bits", BmpFile{2, 1, 8, 0, kPalette, "\x02\x01\0\0"s}.bytes(), {1, 2, 3}, {9, 8, 7, 6, 5, 4}},
    {"bmp of 4 bits", BmpFile{3, 1, 4, 0, kPalette, "\x01\x20\0\0"s}.bytes(), {1, 3, 3}, {3, 2, 1, 6, 5, 4, 9, 8, 7}},
    {"bmp of 2 bits", BmpFile{2, 1, 2, 0, kPalette, "\xb0\0\0\0"s}.bytes(), {1, 2, 3}, {9, 8, 7, 12, 11, 10}},
    {"bmp of 1 bit", BmpFile{2, 1, 1, 0, kPalette, "\x40\0\0\0"s}.bytes(), {1, 2, 3}, {3, 2, 1, 6, 5, 4}},
    {"bmp with an old header",
     "BM" + little(0, 8) + little(26, 4) + little(12, 4) + little(1, 2) + little(1, 2) + little(1, 2) + little(24, 2) +
         "\x01\x02\x03\0"s,
     {1, 1, 3},
     {3, 2, 1}},
    {"bmp whose palette lies outside of the file",
     BmpFile{1, 1, 8, 0, "", "\xff\0\0\0"s}.bytes(),
     {1, 1, 3},
     {0, 0, 0}},
    {"pnm, bits as text", "P1 # no spaces\n3 1\n0 11", {1, 3, 3}, {255, 255, 255, 0, 0, 0, 0, 0, 0}},
    {"pnm, greys as text", "P2\n2 1 4\n#\n0 1", {1, 2, 3}, {0, 0, 0, 64, 64, 64}},
    {"pnm, colours as text", "P3 1 1 255 1 2 999", {1, 1, 3}, {1, 2, 255}},
    {"pnm, bits", "P4 9 1\n\x7f\x80"s, {1, 9, 3}, {255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                                   0,   0,   0,   0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"pnm, greys", "P5 1 2 255\n\x07\x09"s, {2, 1, 3}, {7, 7, 7, 9, 9, 9}},
    {"pnm, colours of two bytes", "P6 1 1 65535\n\xff\xff\x80\0\0\0"s, {1, 1, 3}, {255, 128, 0}},
};

TEST(ImageDecoder, ReadsFilesWithoutCompression) {
  const Graph graph = decoder();
  for (const File& file : kFiles) {
    SCOPED_TRACE(file.name);
    const auto got = run_tiers(graph, {bytes_of(file.bytes)}, kExact);
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_EQ(got->at(0).tensor().sizes(), file.sizes);
    EXPECT_EQ(pixels_of(got->at(0).tensor()), file.pixels);
  }
}

TEST(ImageDecoder, GivesThePixelFormatThatWasAskedFor) {
  const Datum file = bytes_of("P3 2 1 255 10 20 30 255 255 255");
  const auto swapped = run_tiers(decoder("BGR"), {file}, kExact),
             grey = run_tiers(decoder("Grayscale"), {file}, kExact);
  ASSERT_TRUE(swapped && grey);
  EXPECT_EQ(pixels_of(swapped->at(0).tensor()), (Pixels{30, 20, 10, 255, 255, 255}));
  EXPECT_EQ(grey->at(0).tensor().sizes(), (Sizes{1, 2, 1}));
  EXPECT_EQ(pixels_of(grey->at(0).tensor()), (Pixels{18, 255}));
}

struct BadFile {
  std::string bytes;
  std::string_view reason;
};

TEST(ImageDecoder, RefusesInOneLine) {
  const BadFile files[] = {
      {"", "the 0 bytes of input 'encoded_stream' are not an image"},
      {"GIF89a", "the 6 bytes of input 'encoded_stream' are not an image"},
      {"BM", "BMP: a header of 0 bytes"},
      {BmpFile{1, 1, 24, 1, "", "\0\0\0\0"s}.bytes(), "BMP: compression 1 with 24 bits"},
      {BmpFile{1, 1, 7, 0, "", "\0\0\0\0"s}.bytes(), "BMP: 7 bits"},
      {BmpFile{0, 1, 24, 0, "", "\0\0\0\0"s}.bytes(), "BMP: 0 x 1 pixels"},
      {BmpFile{0xffffffff, 1, 24, 0, "", "\0\0\0\0"s}.bytes(), "BMP: -1 x 1 pixels"},
      {BmpFile{2, 1, 24, 0, "", "\0\0\0\0"s}.bytes(), "BMP: the file ends too early for 2 x 1"},
      {BmpFile{0x7fffffff, 0x80000000, 32, 0, "", "\0\0\0\0"s}.bytes(), "BMP: the file ends too early"},
      {"P5", "PNM: the header is not valid"},
      {"P5 1 1 0\n\x01", "PNM: the header is not valid"},
      {"P5 1 1 65536\n\x01\x01", "PNM: the header is not valid"},
      {"P5 -1 1 255\n\x01", "PNM: the header is not valid"},
      {"P5 99999999999999999999 1 255\n", "PNM: the header is not valid"},
      {"P5 2 1 255\n\x01", "PNM: the file ends too early"},
      {"P6 2147483647 2147483647 65535\n\x01", "PNM: the file ends too early"},
      {"P2 2 1 9 1", "PNM: the file ends too early"},
      {"P2 2 1 9 1 x ", "PNM: a number is not valid"},
      {"P5 0 1 255\n", "PNM: 0 x 1 pixels"},
      {"P2 0 0 255 ", "PNM: 0 x 0 pixels"},
  };
  const Graph graph = decoder();
  for (const BadFile& file : files) {
    const auto got = run_tiers(graph, {bytes_of(file.bytes)});
    ASSERT_FALSE(got) << file.reason;
    EXPECT_THAT(got.error().text(), ::testing::HasSubstr(file.reason));
  }
}

// ---- files of the libraries ----

/// PNG with a header of these extents and nothing behind it.
std::string png_header(std::uint32_t width, std::uint32_t height) {
  const auto big = [](std::uint32_t v) {
    const std::string l = little(v, 4);
    return std::string(l.rbegin(), l.rend());
  };
  const std::string chunk = "IHDR" + big(width) + big(height) + "\x08\x02\0\0\0"s;
  std::uint32_t crc = 0xffffffff;
  for (const char c : chunk) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xedb88320 & (0 - (crc & 1)));
  }
  return "\x89PNG\r\n\x1a\n" + big(13) + chunk + big(~crc) + big(0) + "IDAT";
}

bool is_missing(const Fault& fault) {
  return fault.code == Code::unsupported && (fault.message.find("this build cannot read") != std::string::npos ||
                                             fault.message.find("which cannot be opened") != std::string::npos);
}

TEST(ImageDecoder, HoldsExtentsAgainstTheLimitsFirst) {
  const Tier0 tier(decoder());
  tier.session->set_limits({.memory_bytes = 1 << 20, .time = {}});
  struct Claim {
    std::uint32_t width, height;
    std::string_view reason;
  };
  for (const Claim& c : {Claim{20000, 20000, "bytes"}, Claim{0x7fffffff, 0x7fffffff, "is too large"}}) {
    const auto got = decoded(tier, png_header(c.width, c.height));
    ASSERT_FALSE(got);
    if (is_missing(got.error())) GTEST_SKIP() << got.error().text();
    EXPECT_EQ(got.error().code, Code::limit) << got.error().text();
    EXPECT_THAT(got.error().text(), ::testing::HasSubstr(c.reason));
  }
  const auto cut = decoded(tier, png_header(20, 20));
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().text(), ::testing::HasSubstr("PNG: the file ends too early"));
}

/// Either an image or a user's error in one line.
void expect_plain(const Result<std::vector<Datum>>& got) {
  if (got) return;
  EXPECT_THAT(got.error().code, ::testing::AnyOf(Code::bad_input, Code::unsupported, Code::limit));
  EXPECT_THAT(got.error().text(),
              ::testing::AllOf(::testing::StartsWith("node "), ::testing::Not(::testing::HasSubstr("\n"))));
}

std::vector<std::pair<std::string, std::string>> image_files() {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& entry : fs::directory_iterator(node_cases())) {
    if (entry.path().filename().string().find("image_decoder") == std::string::npos) continue;
    const auto value = read_pb(entry.path() / "test_data_set_0" / "input_0.pb", ProtoKind::tensor);
    if (!value) continue;
    const auto bytes = value->tensor().as<std::uint8_t>();
    files.emplace_back(entry.path().filename().string(), std::string(bytes.begin(), bytes.end()));
  }
  return files;
}

TEST(ImageDecoder, SurvivesDamagedFiles) {
  if (node_cases().empty()) GTEST_SKIP() << "needs libonnx-testdata";
  const Tier0 tier(decoder());
  tier.session->set_limits({.memory_bytes = 64 << 20, .time = {}});
  std::size_t count = 0;
  for (const auto& [name, whole] : image_files()) {
    SCOPED_TRACE(name);
    if (const auto good = decoded(tier, whole); !good) {
      EXPECT_TRUE(is_missing(good.error())) << good.error().text();
      continue;
    }
    for (std::size_t n = 0; n < whole.size(); ++n) {
      const auto got = decoded(tier, whole.substr(0, n));
      EXPECT_TRUE(!got || n > whole.size() / 2) << "an image of " << n << " bytes";
      expect_plain(got);
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const int flip : {0xff, 0x01, 0x80}) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ flip);
        expect_plain(decoded(tier, damaged));
      }
    }
    ++count;
  }
  fmt::print("{} files\n", count);
}

}  // namespace
}  // namespace frazil::test
