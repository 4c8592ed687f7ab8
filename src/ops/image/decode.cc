#include "ops/image/decode.h"

#include <algorithm>
#include <optional>

#include "base/limits/execution_limits.h"
#include "ops/image/codec.h"

namespace frazil::ops {

std::unexpected<Fault> codec_fault(std::string_view format, std::string_view message) {
  std::string line(message.empty() ? "the data is damaged" : message);
  std::ranges::replace_if(line, [](unsigned char c) { return c < 32 || c > 126; }, ' ');
  return fail(Code::bad_input, "{}: {}", format, line);
}

std::unexpected<Fault> codec_missing(std::string_view format, std::string_view library) {
  return fail(Code::unsupported, "this build cannot read {} files: build it with {}", format, library);
}

Status image_decoder_types(InferCx& cx) {
  const std::string& format = cx.attrs<ImageDecoderAttrs>().pixel_format;
  if (format != "RGB" && format != "BGR" && format != "Grayscale") {
    return cx.error("unknown pixel_format '{}'", format);
  }
  if (cx.rank(0) != 1) return cx.error("input 'encoded_stream' must have 1 axis, got {}", cx.type_str(0));
  const Dim height = cx.data_extent(0, 0), width = cx.data_extent(0, 1);
  cx.out(0, Type::tensor(Elem::u8, {height, width, format == "Grayscale" ? 1 : 3}));
  return {};
}

namespace {

struct Format {
  std::string_view magic;
  std::size_t at;  ///< offset in the file
  Status (*read)(FileBytes, Canvas&);
};

using namespace std::string_view_literals;
constexpr Format kFormats[] = {
    {"\xff\xd8\xff"sv, 0, read_jpeg},
    {"\x89PNG\r\n\x1a\n"sv, 0, read_png},
    {"II*\0"sv, 0, read_tiff},
    {"MM\0*"sv, 0, read_tiff},
    {"II+\0"sv, 0, read_tiff},
    {"MM\0+"sv, 0, read_tiff},
    {"WEBP"sv, 8, read_webp},
    {"\0\0\0\x0cjP  "sv, 0, read_jpeg2000},
    {"\xff\x4f\xff\x51"sv, 0, read_jpeg2000},
    {"BM"sv, 0, read_bmp},
    {"P1"sv, 0, read_pnm},
    {"P2"sv, 0, read_pnm},
    {"P3"sv, 0, read_pnm},
    {"P4"sv, 0, read_pnm},
    {"P5"sv, 0, read_pnm},
    {"P6"sv, 0, read_pnm},
};

const Format* format_of(FileBytes file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto* found = std::ranges::find_if(
      kFormats, [&](const Format& f) { return text.size() >= f.at && text.substr(f.at).starts_with(f.magic); });
  return found == std::end(kFormats) ? nullptr : found;
}

/// The output of one call. A colour image is decoded directly into it, a grey one through scratch memory.
class OutputCanvas final : public Canvas {
 public:
  explicit OutputCanvas(OpaqueCall& call)
      : call_(call), format_(call.attrs<ImageDecoderAttrs>().pixel_format), grey_(format_ == "Grayscale") {}

  Result<Pixels> open(std::int64_t height, std::int64_t width, std::size_t extra, std::size_t hidden) override {
    constexpr std::int64_t kMaxPixels = std::int64_t{1} << 30;
    if (height < 1 || width < 1) return fail(Code::bad_input, "the image has {} x {} pixels", width, height);
    if (height > kMaxPixels / width) {
      return fail(Code::limit, "an image of {} x {} pixels is too large: at most {} are read", width, height,
                  kMaxPixels);
    }
    count_ = height * width;
    FRAZIL_TRY(hidden_, MemoryCharge::make(hidden));
    FRAZIL_TRY(out_, call_.out(0, std::array{height, width, std::int64_t{grey_ ? 1 : 3}}));
    const std::size_t beside = grey_ ? aligned(static_cast<std::size_t>(count_) * 3) : 0;
    std::byte* memory = nullptr;
    if (extra + beside > 0) {
      FRAZIL_TRY(memory, call_.scratch(extra + beside));
    }
    rgb_ = reinterpret_cast<std::uint8_t*>(grey_ ? memory : out_);
    return Pixels{rgb_, memory + beside};
  }

  /// Converts the RGB pixels to the requested format.
  void finish() {
    if (format_ == "BGR") {
      for (std::int64_t i = 0; i < count_ && !pace_.stop(3); ++i) std::swap(rgb_[3 * i], rgb_[3 * i + 2]);
    }
    for (std::int64_t i = 0; grey_ && i < count_ && !pace_.stop(3); ++i) {
      out_[i] = static_cast<std::byte>(luma(rgb_ + 3 * i));
    }
  }

 private:
  /// Returns the luma of an RGB pixel by ITU-R 601, with weights in units of 2^-16, rounded.
  static std::uint32_t luma(const std::uint8_t* p) {
    return (p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16;
  }

  OpaqueCall& call_;
  const std::string& format_;
  bool grey_;
  std::int64_t count_ = 0;
  std::byte* out_ = nullptr;
  std::uint8_t* rgb_ = nullptr;
  MemoryCharge hidden_;
  PollThrottle pace_;
};

}  // namespace

Status image_decoder_run(OpaqueCall& call) {
  const auto file = call.in(0).as<std::uint8_t>();
  const Format* format = format_of(file);
  if (format == nullptr) {
    return fail(Code::bad_input, "the {} bytes of input 'encoded_stream' are not an image in a known format",
                file.size());
  }
  OutputCanvas canvas(call);
  FRAZIL_CHECK(format->read(file, canvas));
  canvas.finish();
  return {};
}

}  // namespace frazil::ops
