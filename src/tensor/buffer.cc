#include "tensor/buffer.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <string>

#include "base/limits/deferred_free.h"
#include "base/limits/execution_limits.h"
#include "base/limits/no_memory.h"
#include "base/os/io.h"
#include "base/thread/poll_throttle.h"
#include "base/value/fill.h"

namespace frazil {
namespace {

constexpr std::align_val_t kNewAlignment{kAlignment};
constexpr std::size_t kHugeFrom = std::size_t{4} << 20;
constexpr std::size_t kMaxBytes = std::size_t{1} << 47;  // size of the user address space

alignas(64) std::byte empty_block[64];

std::unexpected<Fault> no_memory(std::size_t bytes) try {
  return fail(Code::out_of_memory, "cannot allocate {} bytes for a tensor", bytes);
} catch (const std::bad_alloc&) {
  return no_memory_left();
}

}  // namespace

/// Memory allocated by allocate(), strings() and with_capacity().
struct Buffer::Block {
  void* bytes = nullptr;
  std::string* strings = nullptr;  ///< objects constructed in `bytes`
  std::size_t count = 0;           ///< number of strings
  MemoryCharge charge;
  std::size_t block_bytes = 0;
  std::atomic<std::size_t> filled{0};

  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    std::destroy_n(strings, count);
    ::operator delete(bytes, kNewAlignment);
  }

  static void destroy(void* block) noexcept { delete static_cast<Block*>(block); }
  static void release(Block* block) noexcept {
    for (PollThrottle throttle; block->count > 0 && !throttle.stop(16);)
      std::destroy_at(block->strings + --block->count);
    if (!defers_free(block->count)) return destroy(block);
    defer_free(block, &destroy, block->count * sizeof(std::string));
  }
};

Result<std::shared_ptr<Buffer::Block>> Buffer::charged_block(std::size_t bytes) try {
  FRAZIL_TRY(MemoryCharge charge, MemoryCharge::make(bytes));
  std::shared_ptr<Block> block(new Block, &Block::release);
  block->charge = std::move(charge);
  return block;
} catch (const std::bad_alloc&) {
  return no_memory(bytes);
}

Result<Buffer> Buffer::allocate(std::size_t bytes) {
  if (bytes > kMaxBytes) return no_memory(bytes);
  const std::size_t padded = aligned(std::max<std::size_t>(bytes, 1));
  FRAZIL_TRY(auto block, charged_block(padded));
  block->bytes = ::operator new(padded, kNewAlignment, std::nothrow);
  if (block->bytes == nullptr) return no_memory(bytes);
  if (padded >= kHugeFrom) prefer_huge_pages({static_cast<std::byte*>(block->bytes), padded});
  fill_unwritten({static_cast<std::byte*>(block->bytes), padded});
  Buffer buffer;
  buffer.data_ = static_cast<std::byte*>(block->bytes);
  buffer.block_ = block.get();
  buffer.owner_ = std::move(block);
  buffer.size_ = bytes;
  buffer.writable_ = true;
  return buffer;
}

Result<Buffer> Buffer::with_capacity(std::size_t blocks, std::size_t block_bytes, std::size_t filled) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(blocks, block_bytes, &bytes)) return no_memory(SIZE_MAX);
  FRAZIL_TRY(Buffer buffer, allocate(bytes));
  buffer.block_->block_bytes = block_bytes;
  buffer.block_->filled.store(filled, std::memory_order_relaxed);
  return buffer;
}

std::size_t Buffer::block_bytes() const { return block_ == nullptr ? 0 : block_->block_bytes; }

bool Buffer::claim(std::size_t from, std::size_t to) const noexcept {
  if (to < from || to > block_bytes()) return false;
  return block_->filled.compare_exchange_strong(from, to);
}

void Buffer::unclaim(std::size_t from, std::size_t to) const noexcept {
  if (block_ != nullptr) block_->filled.compare_exchange_strong(to, from);
}

Result<Buffer> Buffer::strings(std::size_t count) {
  if (count > kMaxBytes / sizeof(std::string)) return no_memory(SIZE_MAX);
  const std::size_t bytes = count * sizeof(std::string);
  FRAZIL_TRY(auto block, charged_block(bytes));
  block->bytes = ::operator new(std::max<std::size_t>(bytes, 1), kNewAlignment, std::nothrow);
  if (block->bytes == nullptr) return no_memory(bytes);
  // Constructing millions of strings takes as long as reading them.
  block->strings = static_cast<std::string*>(block->bytes);
  for (PollThrottle throttle; block->count < count; ++block->count) {
    if (throttle.stop(4)) return ExecutionLimits::current()->reason();
    std::construct_at(block->strings + block->count);
  }
  Block* const owned = block.get();
  Buffer buffer = borrow({reinterpret_cast<std::byte*>(owned->strings), bytes}, std::move(block), true);
  buffer.block_ = owned;
  return buffer;
}

Buffer Buffer::borrow(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive, bool writable) {
  Buffer buffer;
  buffer.owner_ = std::move(keep_alive);
  buffer.data_ = bytes.data() == nullptr ? empty_block : const_cast<std::byte*>(bytes.data());
  buffer.size_ = bytes.size();
  buffer.writable_ = writable;
  return buffer;
}

void Buffer::charge(std::size_t bytes) const noexcept {
  if (block_ != nullptr) block_->charge.add(bytes);
}

void Buffer::discharge() const noexcept {
  if (block_ != nullptr) block_->charge.release();
}

}  // namespace frazil
