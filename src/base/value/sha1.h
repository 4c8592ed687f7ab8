#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace frazil {

/// Returns the SHA-1 digest (FIPS 180) in lower-case hex. ONNX uses it for checksums of external data. It detects
/// damage, not tampering. Throws std::bad_alloc.
std::string sha1(std::span<const std::byte> bytes);

}  // namespace frazil
