#include "server/core/heap.h"

#include <algorithm>
#include <fstream>

#include <malloc.h>
#include <unistd.h>

namespace frazil::server {
namespace {

constexpr std::uint64_t kBetweenLooks = std::uint64_t{64} << 20U;  // bytes freed between checks

void give_back_free_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

/// Returns the resident bytes of the process minus `used`.
std::uint64_t others(std::uint64_t used) {
  const std::uint64_t all = resident_bytes();
  return all > used ? all - used : 0;
}

}  // namespace

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages >> pages;
  return file ? pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

void HeapWatch::freed(std::uint64_t bytes, std::uint64_t used, Workers& workers) {
  const std::scoped_lock lock(mutex_);
  freed_ += bytes;
  if (freed_ < kBetweenLooks) return;
  freed_ = 0;
  const std::uint64_t now = others(used);
  other_ = other_ == 0 ? now : std::min(other_, now);
  if (now < other_ + room_) return;
  workers.post([self = shared_from_this(), used] {
    give_back_free_memory();
    const std::scoped_lock inner(self->mutex_);
    self->other_ = others(used);
  });
}

}  // namespace frazil::server
