#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace frazil {

/// A table of rows whose copies share memory: a copy takes time in chunks, and a write copies one chunk that another
/// table still has. A reference to a row is valid until the row is written or its table ends. Tables that share chunks
/// may be used by several threads at the same time; a single table has the thread rules of std::vector.
template <class T>
class SharedRows {
 public:
  SharedRows() = default;
  SharedRows(const SharedRows& other) : chunks_(other.chunks_), size_(other.size_) {
    for (Chunk* c : chunks_) c->users.fetch_add(1, std::memory_order_relaxed);
  }
  SharedRows(SharedRows&& other) noexcept
      : chunks_(std::move(other.chunks_)), size_(std::exchange(other.size_, std::size_t{0})) {
    other.chunks_.clear();
  }
  SharedRows& operator=(SharedRows other) noexcept {
    chunks_.swap(other.chunks_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~SharedRows() { std::ranges::for_each(chunks_, release); }

  std::size_t size() const { return size_; }
  const T& operator[](std::size_t i) const { return chunks_[i / kRows]->rows[i % kRows]; }
  /// The row for writing.
  T& write(std::size_t i) { return own(i / kRows)->rows[i % kRows]; }
  void push_back(T row) {
    if (size_ == chunks_.size() * kRows) {
      auto chunk = std::make_unique<Chunk>();
      chunks_.push_back(chunk.get());
      chunk.release();
    }
    own(size_ / kRows)->rows[size_ % kRows] = std::move(row);
    ++size_;
  }
  /// Removes the rows from `size` on. Precondition: size <= size().
  void truncate(std::size_t size) {
    while (chunks_.size() > (size + kRows - 1) / kRows) {
      release(chunks_.back());
      chunks_.pop_back();
    }
    for (std::size_t i = size; i < std::min(size_, chunks_.size() * kRows); ++i) write(i) = T();
    size_ = size;
  }

 private:
  static constexpr std::size_t kRows = 16;
  struct Chunk {
    std::atomic<std::uint32_t> users{1};
    std::array<T, kRows> rows{};
  };

  static void release(Chunk* c) {
    if (c->users.fetch_sub(1, std::memory_order_acq_rel) == 1) delete c;
  }

  Chunk* own(std::size_t k) {
    Chunk* const shared = chunks_[k];
    if (shared->users.load(std::memory_order_acquire) == 1) return shared;
    auto copy = std::make_unique<Chunk>();
    copy->rows = shared->rows;
    release(shared);
    return chunks_[k] = copy.release();
  }

  std::vector<Chunk*> chunks_;
  std::size_t size_ = 0;
};

}  // namespace frazil
