#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/value/error.h"

// Readers of image files. The bytes are untrusted: malformed data cause errors, and extents are checked against the
// limits before use. The libraries print nothing.
namespace frazil::ops {

using FileBytes = std::span<const std::uint8_t>;

/// The memory that a reader writes to.
struct Pixels {
  std::uint8_t* rgb;  ///< rows of RGB pixels from the top, uninitialised
  std::byte* extra;   ///< scratch memory, aligned to 64
};

/// A provider of the memory for one image.
class Canvas {
 public:
  virtual ~Canvas() = default;
  /// Allocates memory for an image of these extents and `extra` bytes of scratch memory. `hidden` is the approximate
  /// number of bytes that the library allocates itself; they count against the limits. Call it once, before any other
  /// allocation.
  virtual Result<Pixels> open(std::int64_t height, std::int64_t width, std::size_t extra, std::size_t hidden) = 0;
};

Status read_jpeg(FileBytes file, Canvas& canvas);
Status read_png(FileBytes file, Canvas& canvas);
Status read_tiff(FileBytes file, Canvas& canvas);
Status read_webp(FileBytes file, Canvas& canvas);
Status read_jpeg2000(FileBytes file, Canvas& canvas);
Status read_bmp(FileBytes file, Canvas& canvas);
Status read_pnm(FileBytes file, Canvas& canvas);

/// Returns a one-line error that contains a library's message, which may be null.
[[nodiscard]] std::unexpected<Fault> codec_fault(std::string_view format, std::string_view message);
/// Returns the error for a format that this build cannot read.
[[nodiscard]] std::unexpected<Fault> codec_missing(std::string_view format, std::string_view library);

}  // namespace frazil::ops
