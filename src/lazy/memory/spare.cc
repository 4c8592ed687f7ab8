#include "lazy/memory/spare.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace frazil::lazy {
namespace {

constexpr std::size_t kSmallest = 16U << 10U;  // bytes; the heap serves smaller ones well
constexpr std::size_t kMaxKept = 64U << 20U;   // bytes per thread
constexpr std::size_t kBufferClasses = 28, kMaxEach = 256;

thread_local bool spare_has_ended = false;  // static objects may be destroyed after the thread's spare memory

/// Free buffers by the power of two of their size.
struct Spare {
  std::array<std::vector<Buffer>, kBufferClasses> by_class;
  std::size_t bytes = 0;

  Spare() = default;
  ~Spare() { spare_has_ended = true; }
  Spare(const Spare&) = delete;
  Spare& operator=(const Spare&) = delete;
};

/// Returns the thread's spare memory; null after its destruction.
Spare* spare() {
  if (spare_has_ended) return nullptr;
  thread_local Spare spare;
  return &spare;
}

/// Returns the class whose buffers have at least `bytes` bytes; kBufferClasses for sizes that are not kept.
std::size_t class_of(std::size_t bytes) {
  if (bytes < kSmallest || bytes > kMaxKept) return kBufferClasses;
  return static_cast<std::size_t>(std::bit_width(bytes - 1));
}

}  // namespace

Result<Tensor> spare_tensor(Elem elem, Sizes sizes) {
  FRAZIL_TRY(const std::size_t bytes, byte_count(elem, sizes));
  const std::size_t number = class_of(bytes);
  Spare* const mine = spare();
  if (number >= kBufferClasses || elem == Elem::string || mine == nullptr) return Tensor::make(elem, std::move(sizes));
  auto& free = mine->by_class[number];
  if (free.empty()) {
    FRAZIL_TRY(Buffer fresh, Buffer::allocate(std::size_t{1} << number));
    return Tensor::over(elem, std::move(sizes), std::move(fresh));
  }
  Buffer buffer = std::move(free.back());
  free.pop_back();
  mine->bytes -= buffer.size();
  return Tensor::over(elem, std::move(sizes), std::move(buffer));
}

void give_back(Tensor tensor) noexcept {
  Buffer buffer = tensor.buffer();
  tensor = {};
  if (!buffer || !buffer.unique() || !buffer.writable() || buffer.block_bytes() != 0) return;
  const std::size_t number = class_of(buffer.size());
  if (number >= kBufferClasses || buffer.size() != std::size_t{1} << number) return;
  Spare* const mine = spare();
  if (mine == nullptr) return;
  auto& free = mine->by_class[number];
  if (mine->bytes + buffer.size() > kMaxKept || free.size() >= kMaxEach) return;
  if (free.capacity() == 0) free.reserve(kMaxEach);
  mine->bytes += buffer.size();
  free.push_back(std::move(buffer));
}

}  // namespace frazil::lazy
