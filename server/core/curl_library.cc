#include "server/core/curl_library.h"

#include <string>

#include <dlfcn.h>
#include <frazil/error.h>

namespace frazil::server {
namespace {

constexpr const char* kFile = "libcurl.so.4";

[[noreturn]] void cannot_open(const std::string& why) {
  throw api::Error(api::Code::unsupported, "HTTP and URLs need libcurl 7.85 or newer: " + why + "; install libcurl4");
}

template <class F>
void find_function(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  if (function == nullptr) cannot_open(std::string(kFile) + " has no function " + name);
}

CurlLibrary open_library() {
  void* const library = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) cannot_open(::dlerror());
  CurlLibrary curl;
#define FRAZIL_CURL_FUNCTION(name) find_function(library, "curl_" #name, curl.name);
  FRAZIL_CURL_FUNCTIONS(FRAZIL_CURL_FUNCTION)
#undef FRAZIL_CURL_FUNCTION
  if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) cannot_open("it cannot be set up");
  return curl;
}

}  // namespace

const CurlLibrary& curl() {
  static const CurlLibrary library = open_library();
  return library;
}

}  // namespace frazil::server
