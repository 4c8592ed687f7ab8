#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace frazil {

/// The SHA-1 sum (FIPS 180) in lower-case hex. ONNX asks for it in checksums of files; it protects from damage only.
std::string sha1(std::span<const std::byte> bytes);

}  // namespace frazil
