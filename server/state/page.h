#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/core/digest.h"

namespace frazil::server {

/// The SHA-256 of a page's bytes, or of an owner and that sum.
using PageId = Sha256;

struct PageIdHash {
  std::size_t operator()(const PageId& id) const;
};

/// Immutable bytes of states, which several sequences may share. Thread-safe.
class Page : public std::enable_shared_from_this<Page> {
 public:
  static constexpr std::size_t kSeal = sizeof(std::uint64_t);

  /// The buffer for the bytes of a future page, followed by space for its seal.
  class Draft {
   public:
    explicit Draft(std::size_t size) : sealed_(size + kSeal, '\0') {}
    explicit Draft(std::string sealed) : sealed_(std::move(sealed)) {}
    char* data() { return sealed_.data(); }
    std::string_view bytes() const { return std::string_view(sealed_).substr(0, sealed_.size() - kSeal); }

   private:
    friend class Page;
    std::string sealed_;
  };

  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  std::string_view bytes() const { return draft_.bytes(); }
  /// Returns the id, which is computed on first use.
  const PageId& id() const;
  /// Returns the bytes followed by a checksum of them and the id, for storage.
  std::string_view sealed() const;

  // Bookkeeping of other classes.

  /// The time until which the keeper is known to store the page; the epoch if unknown.
  mutable std::atomic<std::chrono::steady_clock::time_point> kept_until{};
  mutable std::uint32_t users = 0;  ///< sequences that use the page; guarded by the lock of their store

 private:
  friend class PagePool;
  struct Pool;
  Page(Draft draft, std::uint64_t sum, std::shared_ptr<Pool> pool);
  void set_id(const PageId& id) const;

  mutable Draft draft_;
  std::uint64_t sum_;
  std::shared_ptr<Pool> pool_;
  mutable std::atomic<bool> named_ = false;
  mutable PageId id_{};  ///< guarded, like the seal, by the pool's lock until named_ is set
};
using PagePtr = std::shared_ptr<const Page>;

/// Finds the pages of an owner by content, so that equal pages are stored once. Thread-safe. Pages may outlive it.
class PagePool {
 public:
  PagePool();
  /// Creates a pool for another owner, whose pages have other ids even if their bytes are equal. counts() covers
  /// `beside` and all pools created from it.
  PagePool(const std::string& owner, const PagePool& beside);
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// Returns the page with these bytes, an existing one if possible.
  PagePtr share(Page::Draft draft);
  /// Returns the page with this id, if its id() was already computed; null otherwise.
  PagePtr find(const PageId& id) const;
  /// Restores a page with this id from the bytes of sealed(). Returns null if they are damaged or belong to another
  /// page.
  PagePtr unseal(const PageId& id, std::string sealed);

  struct Counts {
    std::uint64_t pages = 0;
    std::uint64_t bytes = 0;  ///< bytes of memory
    std::uint64_t hits = 0;   ///< calls of share() that found an existing page
  };
  Counts counts() const;
  std::uint64_t bytes() const;

 private:
  std::shared_ptr<Page::Pool> pool_;
};

}  // namespace frazil::server
