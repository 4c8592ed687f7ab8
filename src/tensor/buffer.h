#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/value/error.h"

namespace frazil {

/// Alignment of a Buffer's address and the unit of its padded size: a cache line, in bytes.
inline constexpr std::size_t kAlignment = 64;
/// `bytes` rounded up to kAlignment; for values packed one after another in a block. Precondition: the result fits.
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) & ~(kAlignment - 1); }

/// A reference-counted block of bytes without a shape. Copies share the bytes (atomic reference count).
class Buffer {
 public:
  Buffer() = default;
  /// Uninitialised bytes, aligned and padded to kAlignment. They count against the memory limit of the current thread's
  /// ExecutionLimits until they are freed or discharged. Code::limit, before allocating, when they would exceed it;
  /// Code::out_of_memory when the allocation fails.
  static Result<Buffer> allocate(std::size_t bytes);
  /// `count` empty std::string objects, destroyed with the last Buffer that shares them. The limit counts the objects,
  /// not their text.
  static Result<Buffer> strings(std::size_t count);
  /// Memory owned elsewhere and kept alive through `keep_alive` (a mapped file, a NumPy array); any alignment.
  static Buffer borrow(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive, bool writable = false);

  /// `blocks` blocks of `block_bytes` each, of which the first `filled` bytes hold values; the rest is spare capacity
  /// for claim(). Errors as in allocate().
  static Result<Buffer> with_capacity(std::size_t blocks, std::size_t block_bytes, std::size_t filled);

  /// The block size given to with_capacity(); 0 for other buffers.
  std::size_t block_bytes() const;
  /// Claims the bytes [from, to) of each block for writing by the caller. Returns false when they are claimed already,
  /// do not directly follow the claimed bytes, or exceed the block. Other holders of the buffer keep reading the bytes
  /// before them. Thread-safe.
  bool claim(std::size_t from, std::size_t to) const noexcept;
  /// Releases a claim, unless bytes after it have been claimed since. The claimed bytes must not have been read.
  void unclaim(std::size_t from, std::size_t to) const noexcept;
  /// Identifies the memory block, for is(); may outlive it.
  std::weak_ptr<const void> tag() const { return owner_; }
  bool is(const std::weak_ptr<const void>& tag) const { return !owner_.owner_before(tag) && !tag.owner_before(owner_); }

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool writable() const { return writable_; }
  /// Whether this class allocated the bytes, so that no more than size() of them are kept.
  bool allocated() const { return block_ != nullptr; }
  /// True when no other Buffer shares the bytes.
  bool unique() const { return owner_.use_count() == 1; }
  explicit operator bool() const { return data_ != nullptr || owner_ != nullptr; }
  bool same_bytes(const Buffer& other) const { return data_ == other.data_ && size_ == other.size_; }

  /// Charges `bytes` more, for memory owned by values in this buffer, until it is freed or discharged; regardless of
  /// the limit.
  void charge(std::size_t bytes) const noexcept;
  /// Ends the charge: the bytes belong to the caller of the run and no longer count against its limit.
  void discharge() const noexcept;

 private:
  struct Block;
  static Result<std::shared_ptr<Block>> charged_block(std::size_t bytes);

  std::shared_ptr<const void> owner_;
  std::byte* data_ = nullptr;
  Block* block_ = nullptr;  ///< the block that owner_ keeps alive, when this class allocated it
  std::size_t size_ = 0;
  bool writable_ = false;
};

}  // namespace frazil
