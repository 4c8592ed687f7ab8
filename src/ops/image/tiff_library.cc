#ifdef FRAZIL_TIFF
#include "ops/image/tiff_library.h"

#include <dlfcn.h>

namespace frazil::ops {
namespace {

std::unexpected<Fault> cannot_open(std::string_view why) {
  return fail(Code::unsupported, "TIFF files need libtiff 4.5 or newer, which cannot be opened: {}; install libtiff6",
              why);
}

template <class F>
bool find_function(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

Result<TiffLibrary> open_tiff_library(const char* file) {
  void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return cannot_open(::dlerror());
  TiffLibrary tiff;
#define FRAZIL_TIFF_FUNCTION(name) \
  if (!find_function(library, "TIFF" #name, tiff.name)) return cannot_open(::dlerror());
  FRAZIL_TIFF_FUNCTIONS(FRAZIL_TIFF_FUNCTION)
#undef FRAZIL_TIFF_FUNCTION
  return tiff;
}

const Result<TiffLibrary>& tiff_library() {
  static const Result<TiffLibrary> library = open_tiff_library("libtiff.so.6");
  return library;
}

}  // namespace frazil::ops
#endif
