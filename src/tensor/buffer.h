#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/error.h"

namespace frazil {

/// What the address of a Buffer's bytes and its padded size are multiples of: a cache line.
inline constexpr std::size_t kAlignment = 64;
/// `bytes` rounded up to it; for what lies one behind the other in a block. Precondition: the result is a size_t.
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) & ~(kAlignment - 1); }

/// A shared block of bytes; never knows shapes. Copies share the bytes (atomic reference count).
class Buffer {
 public:
  Buffer() = default;
  /// Uninitialised bytes, aligned and padded to kAlignment. They count against the memory limit of the
  /// current thread's ExecutionLimits until they are freed or released: Code::limit, before anything is allocated, when
  /// they would pass it. Code::out_of_memory when the system refuses.
  static Result<Buffer> allocate(std::size_t bytes);
  /// `count` empty std::string objects, destroyed with the last Buffer that shares them. The limit counts the objects,
  /// not what they hold.
  static Result<Buffer> strings(std::size_t count);
  /// Bytes owned by somebody else, kept alive through `keep_alive` (a mapped file, a NumPy array); any alignment.
  static Buffer borrow(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive, bool writable = false);

  /// `blocks` blocks of `block_bytes`, with values in the first `filled` bytes of each and room behind them; else as
  /// allocate().
  static Result<Buffer> with_room(std::size_t blocks, std::size_t block_bytes, std::size_t filled);

  /// Of with_room(); 0 for other buffers.
  std::size_t block_bytes() const;
  /// Takes the bytes [from, to) of each block for the caller to write. False where they were taken before, do not
  /// follow what was taken, or are not there. Whoever shares the buffer goes on reading what lies before them.
  bool claim(std::size_t from, std::size_t to) const noexcept;
  /// Gives back what nobody took more of since, unread.
  void unclaim(std::size_t from, std::size_t to) const noexcept;
  /// Which block of bytes this is, for is(); outlives them.
  std::weak_ptr<const void> tag() const { return owner_; }
  bool is(const std::weak_ptr<const void>& tag) const { return !owner_.owner_before(tag) && !tag.owner_before(owner_); }

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool writable() const { return writable_; }
  /// True when no other Buffer shares the bytes.
  bool unique() const { return owner_.use_count() == 1; }
  explicit operator bool() const { return data_ != nullptr || owner_ != nullptr; }
  bool same_bytes(const Buffer& other) const { return data_ == other.data_ && size_ == other.size_; }

  /// Counts `bytes` more, held by what lies in this buffer, until it is freed or discharged; whether or not the limit
  /// allows them.
  void charge(std::size_t bytes) const noexcept;
  /// From now on the bytes count against no limit: their owner is outside of the run that made them.
  void discharge() const noexcept;

 private:
  struct Block;
  static Result<std::shared_ptr<Block>> charged_block(std::size_t bytes);

  std::shared_ptr<const void> owner_;
  std::byte* data_ = nullptr;
  Block* block_ = nullptr;  ///< what owner_ keeps, when this class allocated it
  std::size_t size_ = 0;
  bool writable_ = false;
};

}  // namespace frazil
