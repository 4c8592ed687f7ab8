#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace frazil::govern {

/// Creates a file that only its owner can read and write (mode 0600): complete and durable, or not at all. Returns
/// false if a file of this name exists; it stays as it is. Throws Code::bad_input.
bool create_secret_file(const std::string& path, std::span<const std::uint8_t> bytes);

}  // namespace frazil::govern
