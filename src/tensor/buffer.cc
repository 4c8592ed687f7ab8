#include "tensor/buffer.h"

#include <cstdlib>
#include <new>
#include <string>

namespace frazil {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMaxBytes = std::size_t{1} << 47;  // user address space

alignas(kAlignment) std::byte empty_block[kAlignment];

std::unexpected<Fault> no_memory(std::size_t bytes) {
  return fail(Code::out_of_memory, "cannot allocate {} bytes for a tensor", bytes);
}

}  // namespace

Result<Buffer> Buffer::allocate(std::size_t bytes) {
  if (bytes > kMaxBytes) return no_memory(bytes);
  const std::size_t padded = bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* block = std::aligned_alloc(kAlignment, padded);
  if (block == nullptr) return no_memory(bytes);
  Buffer buffer;
  try {
    buffer.owner_ = std::shared_ptr<const void>(block, [block](const void*) { std::free(block); });
  } catch (const std::bad_alloc&) {
    return no_memory(bytes);
  }
  buffer.data_ = static_cast<std::byte*>(block);
  buffer.size_ = bytes;
  buffer.writable_ = true;
  return buffer;
}

Result<Buffer> Buffer::strings(std::size_t count) {
  const std::size_t bytes = count * sizeof(std::string);
  if (count > kMaxBytes / sizeof(std::string)) return no_memory(SIZE_MAX);
  try {
    std::shared_ptr<std::string[]> block(new std::string[count]);
    auto* data = reinterpret_cast<std::byte*>(block.get());
    return borrow({data, bytes}, std::move(block), true);
  } catch (const std::bad_alloc&) {
    return no_memory(bytes);
  }
}

Buffer Buffer::borrow(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive, bool writable) {
  Buffer buffer;
  buffer.owner_ = std::move(keep_alive);
  buffer.data_ = bytes.data() == nullptr ? empty_block : const_cast<std::byte*>(bytes.data());
  buffer.size_ = bytes.size();
  buffer.writable_ = writable;
  return buffer;
}

}  // namespace frazil
