#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"

// Readers of image files. The bytes are anybody's: whatever is wrong with them becomes an error, no extent is believed
// before it is held against the limits, and no library prints.
namespace frazil::ops {

using FileBytes = std::span<const std::uint8_t>;

/// What a reader is given to write on.
struct Pixels {
  std::uint8_t* rgb;  ///< rows of RGB pixels from the top, uninitialised
  std::byte* extra;   ///< scratch memory, aligned to 64
};

/// Where the pixels of one image go.
class Canvas {
 public:
  virtual ~Canvas() = default;
  /// Memory for an image of these extents and for `extra` bytes of scratch; `hidden`: about what a library is going to
  /// allocate by itself, which counts against the limits too. To be called once, before anything is allocated.
  virtual Result<Pixels> open(std::int64_t height, std::int64_t width, std::size_t extra, std::size_t hidden) = 0;
};

Status read_jpeg(FileBytes file, Canvas& canvas);
Status read_png(FileBytes file, Canvas& canvas);
Status read_tiff(FileBytes file, Canvas& canvas);
Status read_webp(FileBytes file, Canvas& canvas);
Status read_jpeg2000(FileBytes file, Canvas& canvas);
Status read_bmp(FileBytes file, Canvas& canvas);
Status read_pnm(FileBytes file, Canvas& canvas);

/// A library's message, which may be absent, as part of one line.
[[nodiscard]] std::unexpected<Fault> codec_fault(std::string_view format, std::string_view message);
/// This build cannot read `format`.
[[nodiscard]] std::unexpected<Fault> codec_missing(std::string_view format, std::string_view library);

}  // namespace frazil::ops
