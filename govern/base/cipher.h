#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "govern/base/digest.h"

namespace frazil::govern {

/// Encrypts with AES-256-GCM (NIST SP 800-38D) under a random nonce. Returns the nonce (12 bytes), the ciphertext and
/// the tag (16 bytes). `context` is authenticated and not encrypted; opening needs the same. One key may seal at most
/// 2^32 texts.
std::string seal(const Digest& key, std::string_view context, std::string_view text);

/// Returns the text, or nullopt if the bytes are damaged, or were sealed under another key or context.
std::optional<std::string> unseal(const Digest& key, std::string_view context, std::string_view sealed);

}  // namespace frazil::govern
