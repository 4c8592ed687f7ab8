#include "ops/image/codec.h"

#ifdef FRAZIL_PNG
#include <algorithm>
#include <csetjmp>
#include <cstring>

#include <png.h>

#include "base/thread/poll_throttle.h"

// libpng reports errors by longjmp. A function that it may jump out of holds no objects with destructors.
namespace frazil::ops {
namespace {

struct Png {
  FileBytes rest;
  png_structp codec = nullptr;
  png_infop info = nullptr;
  char text[128] = "";

  ~Png() { png_destroy_read_struct(&codec, &info, nullptr); }
};

[[noreturn]] void on_error(png_structp codec, png_const_charp message) {
  Png& png = *static_cast<Png*>(png_get_error_ptr(codec));
  std::strncpy(png.text, message, sizeof png.text - 1);
  png_longjmp(codec, 1);
}

/// Ignores warnings: they concern chunks that are not needed.
void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp codec, png_bytep to, std::size_t count) {
  Png& png = *static_cast<Png*>(png_get_io_ptr(codec));
  if (png.rest.size() < count) png_error(codec, "the file ends too early");
  std::copy_n(png.rest.data(), count, to);
  png.rest = png.rest.subspan(count);
}

bool read_header(Png& png) {
  constexpr std::size_t kMaxChunk = std::size_t{8} << 20;
  png.codec = png_create_read_struct(PNG_LIBPNG_VER_STRING, &png, on_error, on_warning);
  if (png.codec == nullptr) return false;
  if (setjmp(png_jmpbuf(png.codec)) != 0) return false;
  png.info = png_create_info_struct(png.codec);
  if (png.info == nullptr) return false;
  png_set_read_fn(png.codec, &png, on_read);
  png_set_user_limits(png.codec, 0x7fffffff, 0x7fffffff);
  png_set_chunk_cache_max(png.codec, 128);
  png_set_chunk_malloc_max(png.codec, kMaxChunk);
  png_read_info(png.codec, png.info);
  png_set_expand(png.codec);
  png_set_strip_16(png.codec);
  png_set_gray_to_rgb(png.codec);
  png_set_strip_alpha(png.codec);
  return true;
}

bool read_rows(Png& png, std::uint8_t* rgb, std::size_t height, std::size_t width) {
  if (setjmp(png_jmpbuf(png.codec)) != 0) return false;
  const int passes = png_set_interlace_handling(png.codec);
  png_read_update_info(png.codec, png.info);
  if (png_get_rowbytes(png.codec, png.info) != 3 * width) png_error(png.codec, "rows have an unexpected length");
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t y = 0; y < height; ++y) {
      if (y % 16 == 0 && stop_requested()) return true;
      png_read_row(png.codec, rgb + y * width * 3, nullptr);
    }
  }
  png_read_end(png.codec, nullptr);
  return true;
}

}  // namespace

Status read_png(FileBytes file, Canvas& canvas) {
  Png png{.rest = file};
  if (!read_header(png)) return codec_fault("PNG", png.text);
  const std::size_t width = png_get_image_width(png.codec, png.info),
                    height = png_get_image_height(png.codec, png.info);
  constexpr std::size_t kWindow = 128 << 10;
  FRAZIL_TRY(const Pixels pixels,
             canvas.open(static_cast<std::int64_t>(height), static_cast<std::int64_t>(width), 0, 16 * width + kWindow));
  if (!read_rows(png, pixels.rgb, height, width)) return codec_fault("PNG", png.text);
  return {};
}

}  // namespace frazil::ops
#else
namespace frazil::ops {
Status read_png(FileBytes, Canvas&) { return codec_missing("PNG", "libpng"); }
}  // namespace frazil::ops
#endif
