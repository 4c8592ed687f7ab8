#pragma once

#include "kernel/window/conv.h"

namespace frazil::kernel {

/// A convolution of bytes, of either layout.
struct ByteConvCase {
  ConvParams p;
  bool signed_x = false, signed_w = true;
  int zeros = 2;  ///< 0: none; 1: of x, and one of all weights; 2: one for each output channel
};

}  // namespace frazil::kernel
