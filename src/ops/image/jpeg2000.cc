#include "ops/image/codec.h"

#ifdef FRAZIL_JPEG2000
#include <algorithm>
#include <cstring>
#include <memory>

#include <openjpeg.h>

#include "base/thread/poll_throttle.h"

namespace frazil::ops {
namespace {

struct J2kBytes {
  FileBytes file;
  std::size_t at = 0;
  char text[256] = "";
};

OPJ_SIZE_T on_read(void* to, OPJ_SIZE_T count, void* user) {
  auto& b = *static_cast<J2kBytes*>(user);
  const std::size_t n = std::min<std::size_t>(count, b.file.size() - b.at);
  if (n == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::copy_n(b.file.data() + b.at, n, static_cast<std::uint8_t*>(to));
  b.at += n;
  return n;
}
OPJ_OFF_T on_skip(OPJ_OFF_T count, void* user) {
  auto& b = *static_cast<J2kBytes*>(user);
  if (count < 0) return -1;
  b.at += std::min(static_cast<std::size_t>(count), b.file.size() - b.at);
  return count;
}
OPJ_BOOL on_seek(OPJ_OFF_T to, void* user) {
  auto& b = *static_cast<J2kBytes*>(user);
  if (to < 0 || static_cast<std::size_t>(to) > b.file.size()) return OPJ_FALSE;
  b.at = static_cast<std::size_t>(to);
  return OPJ_TRUE;
}

/// Keeps the first message. Later ones are consequences of it.
void on_error(const char* message, void* user) {
  auto& b = *static_cast<J2kBytes*>(user);
  if (b.text[0] == '\0') std::strncpy(b.text, message, sizeof b.text - 1);
}

template <auto Destroy>
struct CallToDestroy {
  void operator()(auto* p) const { Destroy(p); }
};
using J2kStream = std::unique_ptr<opj_stream_t, CallToDestroy<opj_stream_destroy>>;
using J2kCodec = std::unique_ptr<opj_codec_t, CallToDestroy<opj_destroy_codec>>;
using J2kImage = std::unique_ptr<opj_image_t, CallToDestroy<opj_image_destroy>>;

J2kStream open_stream(J2kBytes& bytes) {
  J2kStream stream(opj_stream_default_create(OPJ_TRUE));
  if (!stream) return stream;
  opj_stream_set_user_data(stream.get(), &bytes, nullptr);
  opj_stream_set_user_data_length(stream.get(), bytes.file.size());
  opj_stream_set_read_function(stream.get(), on_read);
  opj_stream_set_skip_function(stream.get(), on_skip);
  opj_stream_set_seek_function(stream.get(), on_seek);
  return stream;
}

J2kCodec open_codec(J2kBytes& bytes) {
  const bool boxed = bytes.file[0] == 0;  // otherwise a bare codestream
  J2kCodec codec(opj_create_decompress(boxed ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K));
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  if (!codec || !opj_set_error_handler(codec.get(), on_error, &bytes) || !opj_setup_decoder(codec.get(), &parameters) ||
      !opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE)) {
    return nullptr;
  }
  return codec;
}

/// Requires grey or RGB components of the same extents with at most 16 bits.
Status check_image(const opj_image_t& image) {
  if (image.numcomps < 1 || image.numcomps > 4) {
    return fail(Code::unsupported, "JPEG 2000: {} components cannot be read", image.numcomps);
  }
  if (image.color_space == OPJ_CLRSPC_SYCC || image.color_space == OPJ_CLRSPC_EYCC ||
      image.color_space == OPJ_CLRSPC_CMYK) {
    return fail(Code::unsupported, "JPEG 2000: only grey and RGB images can be read");
  }
  for (OPJ_UINT32 c = 0; c < image.numcomps; ++c) {
    const opj_image_comp_t &comp = image.comps[c], &first = image.comps[0];
    if (comp.w == first.w && comp.h == first.h && comp.prec >= 1 && comp.prec <= 16) continue;
    return fail(Code::unsupported, "JPEG 2000: component {} of {} x {} elements with {} bits cannot be read", c, comp.w,
                comp.h, comp.prec);
  }
  return {};
}

std::uint8_t byte_of(const opj_image_comp_t& comp, std::size_t i) {
  const std::int64_t top = (std::int64_t{1} << comp.prec) - 1;
  const std::int64_t value = std::int64_t{comp.data[i]} + (comp.sgnd != 0 ? std::int64_t{1} << (comp.prec - 1) : 0);
  const std::int64_t held = std::clamp<std::int64_t>(value, 0, top);
  return static_cast<std::uint8_t>(comp.prec >= 8 ? held >> (comp.prec - 8) : held * 255 / top);
}

}  // namespace

Status read_jpeg2000(FileBytes file, Canvas& canvas) {
  J2kBytes bytes{.file = file};
  const J2kStream stream = open_stream(bytes);
  const J2kCodec codec = open_codec(bytes);
  if (!stream || !codec) return fail(Code::out_of_memory, "JPEG 2000: no memory for the decoder");
  opj_image_t* header = nullptr;
  const bool is_valid = opj_read_header(stream.get(), codec.get(), &header) != OPJ_FALSE;
  const J2kImage image(header);
  if (!is_valid || !image) return codec_fault("JPEG 2000", bytes.text);
  FRAZIL_CHECK(check_image(*image));
  const std::size_t width = image->comps[0].w, height = image->comps[0].h, count = width * height;
  const std::size_t hidden = std::min(count, std::size_t{1} << 40) * 8 * 4;
  FRAZIL_TRY(const Pixels pixels,
             canvas.open(static_cast<std::int64_t>(height), static_cast<std::int64_t>(width), 0, hidden));
  if (!opj_decode(codec.get(), stream.get(), image.get()) || !opj_end_decompress(codec.get(), stream.get())) {
    return codec_fault("JPEG 2000", bytes.text);
  }
  FRAZIL_CHECK(check_image(*image));  // the library has applied any palette
  if (image->comps[0].w != width || image->comps[0].h != height) return codec_fault("JPEG 2000", "its extents changed");
  const opj_image_comp_t* channels[3];
  for (OPJ_UINT32 c = 0; c < 3; ++c) {
    channels[c] = &image->comps[image->numcomps >= 3 ? c : 0];
    if (channels[c]->data == nullptr) return codec_fault("JPEG 2000", "");
  }
  PollThrottle throttle;
  for (std::size_t i = 0; i < count && !throttle.stop(3); ++i) {
    for (std::size_t c = 0; c < 3; ++c) pixels.rgb[3 * i + c] = byte_of(*channels[c], i);
  }
  return {};
}

}  // namespace frazil::ops
#else
namespace frazil::ops {
Status read_jpeg2000(FileBytes, Canvas&) { return codec_missing("JPEG 2000", "libopenjp2"); }
}  // namespace frazil::ops
#endif
