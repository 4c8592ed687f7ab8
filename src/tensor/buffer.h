#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/value/error.h"

namespace frazil {

/// Alignment of a Buffer's address and the unit of its padded size: a cache line, in bytes.
inline constexpr std::size_t kAlignment = 64;
/// Returns `bytes` rounded up to kAlignment, for values packed one after another in a block. Precondition: the result
/// fits.
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) & ~(kAlignment - 1); }

/// A reference-counted block of bytes without a shape. Copies share the bytes (atomic reference count).
class Buffer {
 public:
  Buffer() = default;
  /// Allocates uninitialised bytes, aligned and padded to kAlignment. They count against the memory limit of the
  /// current thread's ExecutionLimits until they are freed or discharged. Returns Code::limit, before allocating, if
  /// they would exceed it. Returns Code::out_of_memory if the allocation fails.
  static Result<Buffer> allocate(std::size_t bytes);
  /// Makes `count` empty std::string objects, destroyed with the last Buffer that shares them. The limit counts the
  /// objects, not their text.
  static Result<Buffer> strings(std::size_t count);
  /// Wraps memory that is owned elsewhere and kept alive by `keep_alive` (a mapped file, a NumPy array). Any alignment
  /// is allowed.
  static Buffer borrow(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive, bool writable = false);

  /// Allocates `blocks` blocks of `block_bytes` each. The first `filled` bytes of each block hold values; the rest is
  /// spare capacity for claim(). Errors as in allocate().
  static Result<Buffer> with_capacity(std::size_t blocks, std::size_t block_bytes, std::size_t filled);

  /// Returns the block size given to with_capacity(); 0 for other buffers.
  std::size_t block_bytes() const;
  /// Claims the bytes [from, to) of each block for writing by the caller. Returns false if they are already claimed, do
  /// not directly follow the claimed bytes, or exceed the block. Other owners of the buffer continue to read the bytes
  /// before them. Thread-safe.
  bool claim(std::size_t from, std::size_t to) const noexcept;
  /// Releases a claim, unless later bytes have been claimed meanwhile. The claimed bytes must not have been read.
  void unclaim(std::size_t from, std::size_t to) const noexcept;
  /// Returns an identity of the memory block, for is(). It may outlive the block.
  std::weak_ptr<const void> tag() const { return owner_; }
  bool is(const std::weak_ptr<const void>& tag) const { return !owner_.owner_before(tag) && !tag.owner_before(owner_); }

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool writable() const { return writable_; }
  /// Returns whether this class allocated the bytes. If so, the buffer keeps no more than size() bytes alive.
  bool allocated() const { return block_ != nullptr; }
  /// Returns true if no other Buffer shares the bytes.
  bool unique() const { return owner_.use_count() == 1; }
  explicit operator bool() const { return data_ != nullptr || owner_ != nullptr; }
  bool same_bytes(const Buffer& other) const { return data_ == other.data_ && size_ == other.size_; }

  /// Charges `bytes` more, for memory that values in this buffer own, regardless of the limit. The charge ends when the
  /// buffer is freed or discharged.
  void charge(std::size_t bytes) const noexcept;
  /// Ends the charge. The bytes then belong to the caller of the run and do not count against its limit.
  void discharge() const noexcept;

 private:
  struct Block;
  static Result<std::shared_ptr<Block>> charged_block(std::size_t bytes);

  std::shared_ptr<const void> owner_;
  std::byte* data_ = nullptr;
  Block* block_ = nullptr;  ///< the block that owner_ keeps alive, if this class allocated it
  std::size_t size_ = 0;
  bool writable_ = false;
};

}  // namespace frazil
