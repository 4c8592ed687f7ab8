#include "ops/image/codec.h"

#ifdef FRAZIL_JPEG
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it

#include <jpeglib.h>

#include "base/thread/poll_throttle.h"

// libjpeg reports errors by longjmp. A function that it may jump out of holds no objects with destructors.
namespace frazil::ops {
namespace {

struct Jpeg {
  jpeg_decompress_struct codec{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf back{};
  char text[JMSG_LENGTH_MAX] = "";

  ~Jpeg() { jpeg_destroy_decompress(&codec); }
};

Jpeg& jpeg_of(j_common_ptr common) { return *static_cast<Jpeg*>(common->client_data); }

[[noreturn]] void leave(j_common_ptr common) {
  Jpeg& jpeg = jpeg_of(common);
  jpeg.errors.format_message(common, jpeg.text);
  std::longjmp(jpeg.back, 1);
}

/// Treats warnings as errors: they indicate damaged data.
void on_message(j_common_ptr common, int level) {
  if (level < 0) leave(common);
}

void on_progress(j_common_ptr common) {
  constexpr int kMaxScans = 500;
  Jpeg& jpeg = jpeg_of(common);
  if (stop_requested()) std::longjmp(jpeg.back, 1);
  if (jpeg.codec.input_scan_number > kMaxScans) {
    std::snprintf(jpeg.text, sizeof jpeg.text, "more than %d scans", kMaxScans);
    std::longjmp(jpeg.back, 1);
  }
}

bool read_header(Jpeg& jpeg, FileBytes file) {
  if (setjmp(jpeg.back) != 0) return false;
  jpeg.codec.err = jpeg_std_error(&jpeg.errors);
  jpeg.errors.error_exit = leave;
  jpeg.errors.emit_message = on_message;
  jpeg.codec.client_data = &jpeg;
  jpeg_create_decompress(&jpeg.codec);
  jpeg.progress.progress_monitor = on_progress;
  jpeg.codec.progress = &jpeg.progress;
  jpeg_mem_src(&jpeg.codec, file.data(), file.size());
  jpeg_read_header(&jpeg.codec, TRUE);
  jpeg.codec.out_color_space = JCS_RGB;
  jpeg_calc_output_dimensions(&jpeg.codec);
  return true;
}

bool read_rows(Jpeg& jpeg, std::uint8_t* rgb) {
  if (setjmp(jpeg.back) != 0) return false;
  jpeg_start_decompress(&jpeg.codec);
  while (jpeg.codec.output_scanline < jpeg.codec.output_height) {
    JSAMPROW row = rgb + std::size_t{jpeg.codec.output_scanline} * jpeg.codec.output_width * 3;
    jpeg_read_scanlines(&jpeg.codec, &row, 1);
  }
  jpeg_finish_decompress(&jpeg.codec);
  return true;
}

}  // namespace

Status read_jpeg(FileBytes file, Canvas& canvas) {
  Jpeg jpeg;
  if (!read_header(jpeg, file)) return codec_fault("JPEG", jpeg.text);
  const std::size_t width = jpeg.codec.output_width, height = jpeg.codec.output_height;
  const auto parts = static_cast<std::size_t>(jpeg.codec.num_components);
  const std::size_t coefficients = jpeg.codec.progressive_mode || jpeg.codec.buffered_image ? 2 * width * height : 0;
  FRAZIL_TRY(const Pixels pixels, canvas.open(static_cast<std::int64_t>(height), static_cast<std::int64_t>(width), 0,
                                              parts * (coefficients + 64 * width)));
  if (!read_rows(jpeg, pixels.rgb)) return codec_fault("JPEG", jpeg.text);
  return {};
}

}  // namespace frazil::ops
#else
namespace frazil::ops {
Status read_jpeg(FileBytes, Canvas&) { return codec_missing("JPEG", "libjpeg"); }
}  // namespace frazil::ops
#endif
