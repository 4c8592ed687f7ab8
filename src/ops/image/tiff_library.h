#pragma once

#include <tiffio.h>

#include "base/value/error.h"

namespace frazil::ops {

// libtiff, opened at its first use: it needs libjbig, whose licence is GPL-2.0-or-later, and packages that copy their
// libraries must not contain that.

/// The functions that read_tiff() uses, without the prefix "TIFF".
#define FRAZIL_TIFF_FUNCTIONS(F)                                                                               \
  F(OpenOptionsAlloc) F(OpenOptionsFree) F(OpenOptionsSetMaxSingleMemAlloc) F(OpenOptionsSetErrorHandlerExtR)  \
  F(OpenOptionsSetWarningHandlerExtR) F(ClientOpenExt) F(Close) F(GetField) F(RGBAImageOK) F(IsTiled)          \
  F(TileSize64) F(StripSize64) F(ReadRGBAImageOriented)

struct TiffLibrary {
#define FRAZIL_TIFF_FUNCTION(name) decltype(&::TIFF##name) name = nullptr;
  FRAZIL_TIFF_FUNCTIONS(FRAZIL_TIFF_FUNCTION)
#undef FRAZIL_TIFF_FUNCTION
};

/// Opens the library in `file`, a name that the dynamic linker finds or a path. The library is never closed.
Result<TiffLibrary> open_tiff_library(const char* file);

/// Returns the system's library, opened by the first call. Thread-safe. An error (unsupported) stays until the process
/// ends.
const Result<TiffLibrary>& tiff_library();

}  // namespace frazil::ops
