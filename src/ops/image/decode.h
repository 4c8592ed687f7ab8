#pragma once

#include "ir/op/define.h"

namespace frazil::ops {

struct ImageDecoderAttrs {
  std::string pixel_format = "RGB";
  static constexpr std::array fields{attr<&ImageDecoderAttrs::pixel_format>("pixel_format", "RGB, BGR or Grayscale")};
};
inline constexpr std::array<Port, 1> kEncodedIn{{{"encoded_stream", "", one(Elem::u8)}}};
inline constexpr std::array<Port, 1> kDecodedOut{{{"image", "", one(Elem::u8)}}};
Status image_decoder_types(InferCx& cx);
Status image_decoder_run(OpaqueCall& call);
FRAZIL_OP(ImageDecoder, opaque<ImageDecoderAttrs>({"ImageDecoder", 20, "The pixels of an image file: rows of pixels."},
                                                  {kEncodedIn, kDecodedOut}, image_decoder_types, image_decoder_run,
                                                  "the output's extents depend on data", Opaque::Work::unknown));

}  // namespace frazil::ops
