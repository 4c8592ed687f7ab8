#pragma once

#include <curl/curl.h>

namespace frazil::server {

// libcurl, opened at its first use. Linked to the program, it and the 24 libraries that it needs would slow down the
// start of every command.

/// The functions that this server uses, without the prefix "curl_".
#define FRAZIL_CURL_FUNCTIONS(F)                                                                                  \
  F(global_init)                                                                                                  \
  F(free)                                                                                                         \
  F(easy_init) F(easy_cleanup) F(easy_setopt) F(easy_getinfo) F(easy_strerror) F(slist_append) F(slist_free_all)  \
  F(multi_init) F(multi_cleanup) F(multi_setopt) F(multi_add_handle) F(multi_remove_handle) F(multi_perform)      \
  F(multi_poll) F(multi_wakeup) F(multi_info_read) F(url) F(url_cleanup) F(url_set) F(url_get)

struct CurlLibrary {
#define FRAZIL_CURL_FUNCTION(name) decltype(&::curl_##name) name;
  FRAZIL_CURL_FUNCTIONS(FRAZIL_CURL_FUNCTION)
#undef FRAZIL_CURL_FUNCTION
};

/// Returns the library, which is set up and never closed. Throws api::Error (unsupported) if it cannot be opened.
/// Thread-safe.
const CurlLibrary& curl();

/// Releases an object of the library in a unique_ptr: `F` is a member of CurlLibrary.
template <auto F>
struct CurlRelease {
  void operator()(auto* object) const { (curl().*F)(object); }
};

}  // namespace frazil::server
