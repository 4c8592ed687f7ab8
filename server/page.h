#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/digest.h"

namespace frazil::server {

/// The SHA-256 of a page's bytes, or of its owner and them.
using PageId = Sha256;

struct PageIdHash {
  std::size_t operator()(const PageId& id) const;
};

/// Bytes of states that nobody changes any more, which several sequences may have. Thread-safe.
class Page : public std::enable_shared_from_this<Page> {
 public:
  static constexpr std::size_t kSeal = sizeof(std::uint64_t);

  /// Where a page's bytes are written before there is one, and after them room for its seal.
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
  /// Computed when it is first asked for.
  const PageId& id() const;
  /// The bytes and a checksum of them and the id, as they are written somewhere.
  std::string_view sealed() const;

  // What others note on it.

  /// Until when what is behind the store keeps the page at least; the epoch: it may not have it.
  mutable std::atomic<std::chrono::steady_clock::time_point> kept_until{};
  mutable std::uint32_t users = 0;  ///< sequences that have it; under the lock of their store

 private:
  friend class PagePool;
  struct Pool;
  Page(Draft draft, std::uint64_t sum, std::shared_ptr<Pool> pool);
  void set_id(const PageId& id) const;

  mutable Draft draft_;
  std::uint64_t sum_;
  std::shared_ptr<Pool> pool_;
  mutable std::atomic<bool> named_ = false;
  mutable PageId id_{};  ///< under the pool's lock until it is named, as is the seal
};
using PagePtr = std::shared_ptr<const Page>;

/// Finds the pages of an owner by their content, so that equal ones are in memory once. Thread-safe; pages may outlive
/// it.
class PagePool {
 public:
  PagePool();
  /// A pool of another owner, whose pages have other ids even where their bytes are equal. counts() is of all pools
  /// that were made beside one.
  PagePool(const std::string& owner, const PagePool& beside);
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// The page with these bytes: one that there is, or a new one.
  PagePtr share(Page::Draft draft);
  /// A page whose id() was asked for, or nothing.
  PagePtr find(const PageId& id) const;
  /// The page with this id from what sealed() gave; nothing where that is damaged or another page's.
  PagePtr unseal(const PageId& id, std::string sealed);

  struct Counts {
    std::uint64_t pages = 0;
    std::uint64_t bytes = 0;  ///< of memory
    std::uint64_t hits = 0;   ///< calls of share() that found a page
  };
  Counts counts() const;
  std::uint64_t bytes() const;

 private:
  std::shared_ptr<Page::Pool> pool_;
};

}  // namespace frazil::server
