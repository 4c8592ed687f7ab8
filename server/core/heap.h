#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "server/core/workers.h"

namespace frazil::server {

/// Returns the resident bytes of the process; 0 if the system does not report them.
std::uint64_t resident_bytes();

/// Returns free heap memory to the system when the heap has grown far beyond the used bytes. Tensors are freed between
/// longer-lived blocks, and the heap does not always reuse a hole of the same size. Thread-safe.
class HeapWatch : public std::enable_shared_from_this<HeapWatch> {
 public:
  /// `room`: bytes that the heap may exceed the used bytes by.
  explicit HeapWatch(std::uint64_t room) : room_(room) {}
  /// Records that `bytes` were freed and `used` bytes remain. Checks the heap occasionally and trims it on a worker.
  void freed(std::uint64_t bytes, std::uint64_t used, Workers& workers);

 private:
  const std::uint64_t room_;
  std::mutex mutex_;
  std::uint64_t freed_ = 0;
  std::uint64_t other_ = 0;  ///< bytes of the process other than used and free ones; 0: unknown
};

}  // namespace frazil::server
