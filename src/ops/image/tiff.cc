#include "ops/image/codec.h"

#ifdef FRAZIL_TIFF
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <memory>

#include "ops/image/tiff_library.h"

namespace frazil::ops {
namespace {

struct TiffBytes {
  FileBytes file;
  std::size_t at = 0;
  char text[256] = "";
};

TiffBytes& bytes_of(thandle_t handle) { return *static_cast<TiffBytes*>(handle); }

tmsize_t on_read(thandle_t handle, void* to, tmsize_t count) {
  TiffBytes& b = bytes_of(handle);
  const std::size_t left = b.file.size() - std::min(b.at, b.file.size());
  const std::size_t n = std::min(left, static_cast<std::size_t>(std::max<tmsize_t>(count, 0)));
  if (n > 0) std::copy_n(b.file.data() + b.at, n, static_cast<std::uint8_t*>(to));
  b.at += n;
  return static_cast<tmsize_t>(n);
}
tmsize_t on_write(thandle_t, void*, tmsize_t) { return 0; }
toff_t on_seek(thandle_t handle, toff_t offset, int whence) {
  TiffBytes& b = bytes_of(handle);
  const toff_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? b.at : b.file.size();
  b.at = base + offset;
  return b.at;
}
int on_close(thandle_t) { return 0; }
toff_t on_size(thandle_t handle) { return bytes_of(handle).file.size(); }

/// Keeps the first message. Later ones are consequences of it.
[[gnu::format(printf, 4, 0)]] int on_error(TIFF*, void* user, const char*, const char* format, std::va_list values) {
  TiffBytes& b = *static_cast<TiffBytes*>(user);
  if (b.text[0] == '\0') std::vsnprintf(b.text, sizeof b.text, format, values);
  return 1;
}
/// Ignores warnings: they concern tags that are not needed.
int on_warning(TIFF*, void*, const char*, const char*, std::va_list) { return 1; }

struct CloseTiff {
  void operator()(TIFF* t) const { tiff_library()->Close(t); }
};
using OpenTiff = std::unique_ptr<TIFF, CloseTiff>;

constexpr tmsize_t kMaxConcurrent = tmsize_t{1} << 30;

OpenTiff open_tiff(const TiffLibrary& lib, TiffBytes& bytes) {
  TIFFOpenOptions* const options = lib.OpenOptionsAlloc();
  if (options == nullptr) return nullptr;
  lib.OpenOptionsSetMaxSingleMemAlloc(options, kMaxConcurrent);
  lib.OpenOptionsSetErrorHandlerExtR(options, on_error, &bytes);
  lib.OpenOptionsSetWarningHandlerExtR(options, on_warning, nullptr);
  OpenTiff tiff(lib.ClientOpenExt("image", "rm", &bytes, on_read, on_write, on_seek, on_close, on_size, nullptr,
                                  nullptr, options));
  lib.OpenOptionsFree(options);
  return tiff;
}

}  // namespace

Status read_tiff(FileBytes file, Canvas& canvas) {
  TiffBytes bytes{.file = file};
  if (!tiff_library()) return std::unexpected(tiff_library().error());
  const TiffLibrary& lib = *tiff_library();
  const OpenTiff tiff = open_tiff(lib, bytes);
  if (!tiff) return codec_fault("TIFF", bytes.text);
  std::uint32_t width = 0, height = 0;
  lib.GetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width);
  lib.GetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height);
  if (char text[1024] = ""; lib.RGBAImageOK(tiff.get(), text) == 0) return codec_fault("TIFF", text);
  const std::uint64_t piece = lib.IsTiled(tiff.get()) != 0 ? lib.TileSize64(tiff.get()) : lib.StripSize64(tiff.get());
  if (piece > kMaxConcurrent) return fail(Code::limit, "TIFF: a part of {} bytes is too large", piece);
  const std::size_t count = std::size_t{width} * height;
  FRAZIL_TRY(const Pixels pixels, canvas.open(height, width, std::min(count, std::size_t{1} << 40) * 4, 2 * piece));
  auto* const raster = reinterpret_cast<std::uint32_t*>(pixels.extra);
  if (lib.ReadRGBAImageOriented(tiff.get(), width, height, raster, ORIENTATION_TOPLEFT, 1) == 0 ||
      bytes.text[0] != '\0') {
    return codec_fault("TIFF", bytes.text);
  }
  for (std::size_t i = 0; i < count; ++i) {
    pixels.rgb[3 * i] = TIFFGetR(raster[i]);
    pixels.rgb[3 * i + 1] = TIFFGetG(raster[i]);
    pixels.rgb[3 * i + 2] = TIFFGetB(raster[i]);
  }
  return {};
}

}  // namespace frazil::ops
#else
namespace frazil::ops {
Status read_tiff(FileBytes, Canvas&) { return codec_missing("TIFF", "libtiff 4.5 or newer"); }
}  // namespace frazil::ops
#endif
