#include "ops/image/codec.h"

#ifdef FRAZIL_WEBP
#include <algorithm>
#include <memory>

#include <webp/decode.h>

#include "base/thread/poll_throttle.h"

namespace frazil::ops {
namespace {

struct DeleteWebp {
  void operator()(WebPIDecoder* d) const { WebPIDelete(d); }
};

}  // namespace

Status read_webp(FileBytes file, Canvas& canvas) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(file.data(), file.size(), &features) != VP8_STATUS_OK)
    return codec_fault("WebP", "no valid header");
  if (features.has_animation != 0) return fail(Code::unsupported, "WebP: animations cannot be read");
  const auto width = static_cast<std::size_t>(features.width), height = static_cast<std::size_t>(features.height);
  FRAZIL_TRY(const Pixels pixels, canvas.open(features.height, features.width, 0, 5 * width * height));
  const std::unique_ptr<WebPIDecoder, DeleteWebp> decoder(
      WebPINewRGB(MODE_RGB, pixels.rgb, height * width * 3, static_cast<int>(width * 3)));
  if (!decoder) return fail(Code::out_of_memory, "WebP: no memory for the decoder");
  constexpr std::size_t kPiece = 64 << 10;
  VP8StatusCode status = VP8_STATUS_SUSPENDED;
  for (std::size_t at = 0; at < file.size() && status == VP8_STATUS_SUSPENDED && !stop_requested();) {
    at = std::min(at + kPiece, file.size());
    status = WebPIUpdate(decoder.get(), file.data(), at);
  }
  if (status == VP8_STATUS_OK || stop_requested()) return {};
  return codec_fault("WebP", status == VP8_STATUS_SUSPENDED ? "the file ends too early" : "");
}

}  // namespace frazil::ops
#else
namespace frazil::ops {
Status read_webp(FileBytes, Canvas&) { return codec_missing("WebP", "libwebp"); }
}  // namespace frazil::ops
#endif
