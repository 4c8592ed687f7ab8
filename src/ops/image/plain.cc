#include <algorithm>
#include <bit>
#include <optional>

#include "base/thread/poll_throttle.h"
#include "ops/image/codec.h"

// Readers of uncompressed formats: BMP, PNM.
namespace frazil::ops {
namespace {

/// A reader of little-endian numbers. Bytes outside of the file are 0.
struct Little {
  FileBytes file;

  std::uint32_t byte(std::uint64_t at) const { return at < file.size() ? file[at] : 0; }
  std::uint32_t half(std::uint64_t at) const { return byte(at) | byte(at + 1) << 8; }
  std::uint32_t word(std::uint64_t at) const { return half(at) | half(at + 2) << 16; }
};

// ---- BMP ----

/// A mask for some bits of a pixel, which are scaled to 0 ... 255.
struct Mask {
  std::uint32_t bits = 0;

  std::uint8_t of(std::uint32_t pixel) const {
    const int shift = std::countr_zero(bits);
    if (bits == 0) return 0;
    const std::uint64_t top = bits >> shift;
    return static_cast<std::uint8_t>(((pixel & bits) >> shift) * std::uint64_t{255} / top);
  }
};

struct Bmp {
  Little in;
  std::uint64_t header = 0, colours = 0, pixels = 0;  ///< header size in bytes; offsets of the palette and the pixels
  std::uint32_t colour_bytes = 4, bits = 0, compression = 0;
  std::int64_t width = 0, height = 0;
  bool from_top = false;
  Mask masks[3];  ///< red, green, blue of 16- and 32-bit pixels

  std::uint64_t row_bytes() const { return (static_cast<std::uint64_t>(width) * bits + 31) / 32 * 4; }
  void read_pixel(std::uint64_t row, std::uint64_t x, std::uint8_t* rgb) const {
    if (bits <= 8) {
      const std::uint32_t per_byte = 8 / bits, at = static_cast<std::uint32_t>(x % per_byte);
      const std::uint32_t index = in.byte(row + x / per_byte) >> (8 - bits * (at + 1)) & ((1u << bits) - 1);
      for (std::uint64_t c = 0; c < 3; ++c)
        rgb[c] = static_cast<std::uint8_t>(in.byte(colours + index * colour_bytes + 2 - c));
    } else if (bits == 24) {
      for (std::uint64_t c = 0; c < 3; ++c) rgb[c] = static_cast<std::uint8_t>(in.byte(row + 3 * x + 2 - c));
    } else {
      const std::uint32_t pixel = bits == 16 ? in.half(row + 2 * x) : in.word(row + 4 * x);
      for (std::size_t c = 0; c < 3; ++c) rgb[c] = masks[c].of(pixel);
    }
  }
};

constexpr std::uint32_t kPlain = 0, kMasks = 3;

void read_masks(Bmp& b) {
  constexpr std::uint32_t kDefault[2][3] = {{0x7c00, 0x3e0, 0x1f}, {0xff0000, 0xff00, 0xff}};
  for (std::uint32_t c = 0; c < 3; ++c) {
    b.masks[c].bits = b.compression == kMasks ? b.in.word(14 + 40 + 4 * c) : kDefault[b.bits == 32][c];
  }
}

Result<Bmp> read_bmp_header(FileBytes file) {
  Bmp b;
  b.in.file = file;
  b.header = b.in.word(14);
  b.pixels = b.in.word(10);
  const bool old = b.header == 12;
  if (!old && b.header < 40) return fail(Code::bad_input, "BMP: a header of {} bytes", b.header);
  const auto rows = static_cast<std::int32_t>(b.in.word(22));
  b.width = old ? std::int64_t{b.in.half(18)} : static_cast<std::int32_t>(b.in.word(18));
  b.height = old ? std::int64_t{b.in.half(20)} : std::abs(std::int64_t{rows});
  b.from_top = !old && rows < 0;
  b.bits = b.in.half(old ? 24 : 28);
  b.compression = old ? kPlain : b.in.word(30);
  b.colour_bytes = old ? 3 : 4;
  b.colours = 14 + b.header;
  const bool has_masks = b.compression == kMasks && (b.bits == 16 || b.bits == 32);
  if (b.compression != kPlain && !has_masks) {
    return fail(Code::unsupported, "BMP: compression {} with {} bits cannot be read", b.compression, b.bits);
  }
  constexpr std::uint32_t kBits[] = {1, 2, 4, 8, 16, 24, 32};
  if (std::ranges::find(kBits, b.bits) == std::end(kBits))
    return fail(Code::bad_input, "BMP: {} bits per pixel", b.bits);
  read_masks(b);
  return b;
}

}  // namespace

Status read_bmp(FileBytes file, Canvas& canvas) {
  FRAZIL_TRY(const Bmp b, read_bmp_header(file));
  if (b.width < 1 || b.height < 1) return fail(Code::bad_input, "BMP: {} x {} pixels", b.width, b.height);
  const auto height = static_cast<std::uint64_t>(b.height);
  if (b.pixels > file.size() || height > (file.size() - b.pixels) / b.row_bytes()) {
    return fail(Code::bad_input, "BMP: the file ends too early for {} x {} pixels", b.width, b.height);
  }
  FRAZIL_TRY(const Pixels pixels, canvas.open(b.height, b.width, 0, 0));
  std::uint8_t* to = pixels.rgb;
  PollThrottle throttle;
  for (std::uint64_t y = 0; y < height && !throttle.stop(b.width); ++y) {
    const std::uint64_t row = b.pixels + (b.from_top ? y : height - 1 - y) * b.row_bytes();
    for (std::uint64_t x = 0; x < static_cast<std::uint64_t>(b.width); ++x, to += 3) b.read_pixel(row, x, to);
  }
  return {};
}

// ---- PNM ----

namespace {

/// A parser of the file after the magic number.
class PnmText {
 public:
  explicit PnmText(FileBytes file) : file_(file) {}

  bool at_end() const { return at_ >= file_.size(); }
  FileBytes rest() const { return file_.subspan(at_); }
  void skip_one() { at_ += at_end() ? 0 : 1; }
  /// Returns the next decimal number up to 2^31 - 1 after white space and comments.
  std::optional<std::int64_t> number() {
    skip_space();
    std::int64_t value = 0;
    const std::size_t begin = at_;
    for (; !at_end() && is_digit(file_[at_]); ++at_) {
      value = value * 10 + (file_[at_] - '0');
      if (value > 0x7fffffff) return std::nullopt;
    }
    return at_ == begin ? std::nullopt : std::optional(value);
  }
  /// Returns the next digit 0 or 1. No white space is needed after it.
  std::optional<std::int64_t> bit() {
    skip_space();
    if (at_end() || (file_[at_] != '0' && file_[at_] != '1')) return std::nullopt;
    return file_[at_++] - '0';
  }

 private:
  static bool is_digit(std::uint8_t c) { return c >= '0' && c <= '9'; }
  static bool is_space(std::uint8_t c) { return c == ' ' || (c >= 9 && c <= 13); }
  void skip_space() {
    for (; !at_end() && (is_space(file_[at_]) || file_[at_] == '#'); ++at_) {
      if (file_[at_] != '#') continue;
      while (!at_end() && file_[at_] != '\n') ++at_;
      if (at_end()) return;
    }
  }

  FileBytes file_;
  std::size_t at_ = 2;
};

struct Pnm {
  bool bits, grey, text;
  std::int64_t width = 0, height = 0, most = 1;

  std::int64_t samples() const { return grey || bits ? 1 : 3; }
  std::size_t row_bytes() const {
    const auto w = static_cast<std::size_t>(width);
    return bits ? (w + 7) / 8 : w * static_cast<std::size_t>(samples()) * (most > 255 ? 2 : 1);
  }
  /// Returns sample `i` of a binary row as 0 ... most. A set bit is black.
  std::int64_t sample(const std::uint8_t* row, std::size_t i) const {
    if (bits) return 1 - (row[i / 8] >> (7 - i % 8) & 1);
    return most > 255 ? row[2 * i] << 8 | row[2 * i + 1] : row[i];
  }
  std::uint8_t byte(std::int64_t value) const {
    return static_cast<std::uint8_t>((std::min(value, most) * 255 + most / 2) / most);
  }
  void put(std::uint8_t* rgb, std::int64_t c, std::int64_t value) const {
    if (samples() == 3) {
      rgb[c] = byte(value);
    } else {
      std::fill_n(rgb, 3, byte(value));
    }
  }
};

std::unexpected<Fault> too_short() { return fail(Code::bad_input, "PNM: the file ends too early"); }

Status read_pnm_text(PnmText& text, const Pnm& p, std::uint8_t* rgb) {
  PollThrottle throttle;
  for (std::int64_t i = 0; i < p.width * p.height && !throttle.stop(8); ++i, rgb += 3) {
    for (std::int64_t c = 0; c < p.samples(); ++c) {
      const auto value = p.bits ? text.bit() : text.number();
      if (!value) return text.at_end() ? too_short() : fail(Code::bad_input, "PNM: a number is not valid");
      p.put(rgb, c, p.bits ? 1 - *value : *value);
    }
  }
  return {};
}

void read_pnm_rows(FileBytes rows, const Pnm& p, std::uint8_t* rgb) {
  PollThrottle throttle;
  const auto samples = static_cast<std::size_t>(p.samples());
  for (std::int64_t y = 0; y < p.height && !throttle.stop(p.width); ++y) {
    const std::uint8_t* row = rows.data() + static_cast<std::size_t>(y) * p.row_bytes();
    for (std::size_t i = 0; i < static_cast<std::size_t>(p.width) * samples; ++i) {
      p.put(rgb + i / samples * 3, static_cast<std::int64_t>(i % samples), p.sample(row, i));
    }
    rgb += p.width * 3;
  }
}

}  // namespace

Status read_pnm(FileBytes file, Canvas& canvas) {
  const int kind = file[1] - '0';
  Pnm p{.bits = kind % 3 == 1, .grey = kind % 3 == 2, .text = kind <= 3};
  PnmText text(file);
  const auto width = text.number(), height = text.number(),
             most = p.bits ? std::optional<std::int64_t>(1) : text.number();
  if (!width || !height || !most || *most < 1 || *most > 65535)
    return fail(Code::bad_input, "PNM: the header is not valid");
  p.width = *width;
  p.height = *height;
  p.most = *most;
  text.skip_one();
  if (p.width < 1 || p.height < 1) return fail(Code::bad_input, "PNM: {} x {} pixels", p.width, p.height);
  const std::size_t rows = text.rest().size() / (p.text ? 1 : std::max<std::size_t>(p.row_bytes(), 1));
  const std::size_t needed = static_cast<std::size_t>(p.height) * (p.text ? static_cast<std::size_t>(p.width) : 1);
  const bool fits = needed <= rows;
  if (!fits) return too_short();
  FRAZIL_TRY(const Pixels pixels, canvas.open(p.height, p.width, 0, 0));
  if (p.text) return read_pnm_text(text, p, pixels.rgb);
  read_pnm_rows(text.rest(), p, pixels.rgb);
  return {};
}

}  // namespace frazil::ops
