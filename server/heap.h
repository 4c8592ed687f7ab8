#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "server/workers.h"

namespace frazil::server {

/// Bytes of the process that are in memory; 0 where the system does not tell.
std::uint64_t resident_bytes();

/// Has the heap give free memory back when it has grown far beyond what is used. Tensors come and go between what
/// stays, and the heap does not always put one where another of the same size was freed. Thread-safe.
class HeapWatch : public std::enable_shared_from_this<HeapWatch> {
 public:
  /// `room`: bytes that the heap may have beside what is used.
  explicit HeapWatch(std::uint64_t room) : room_(room) {}
  /// `bytes` were freed; `used`: what there is still. It looks now and then, and has a worker do what takes time.
  void freed(std::uint64_t bytes, std::uint64_t used, Workers& workers);

 private:
  const std::uint64_t room_;
  std::mutex mutex_;
  std::uint64_t freed_ = 0;
  std::uint64_t other_ = 0;  ///< of the process beside what is used and free; 0: not known yet
};

}  // namespace frazil::server
