#pragma once

#include <bit>
#include <string>
#include <type_traits>

namespace frazil::server {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie in memory");

/// Appends the bytes of a value in little-endian order.
template <class T>
void append_raw(std::string& to, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace frazil::server
