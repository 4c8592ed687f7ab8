#pragma once

#include <string>
#include <string_view>

#include "govern/base/digest.h"

// Things that are too large for an entry, by their digest: "blobs/ab/cdef...".
namespace frazil::govern {

inline constexpr std::uint64_t kMaxBlobBytes = std::uint64_t{1} << 30;

/// Returns the path of a blob. `digest`: "sha256:...", as is_digest_text() accepts.
std::string blob_path(const std::string& folder, std::string_view digest);
/// Stores bytes and returns their digest. They survive a crash when it returns. Throws Code::bad_input if the file
/// cannot be written. Thread-safe.
std::string put_blob(const std::string& folder, std::string_view bytes);
/// Returns a blob. Throws Code::bad_input if it is missing or its bytes have another digest.
std::string get_blob(const std::string& folder, std::string_view digest);
/// Removes a blob if it is there.
void remove_blob(const std::string& folder, std::string_view digest);

}  // namespace frazil::govern
