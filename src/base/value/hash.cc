#include "base/value/hash.h"

#include <cstring>

namespace frazil {

Hasher& Hasher::add(std::span<const std::byte> bytes) {
  add(std::uint64_t{bytes.size()});
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    add(word);
  }
  std::uint64_t tail = 0;
  if (!bytes.empty()) std::memcpy(&tail, bytes.data(), bytes.size());
  return add(tail);
}

}  // namespace frazil
