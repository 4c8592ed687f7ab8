#include "server/state/page.h"

#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "server/state/state_bytes.h"

namespace frazil::server {
namespace {

constexpr std::size_t kPageMemory = 256;  // excluding the page's bytes

std::uint64_t seal_of(std::uint64_t sum, const PageId& id) {
  return sum ^ checksum_of(std::string_view(id.data(), id.size()));
}

}  // namespace

struct Page::Pool {
  /// The counts of all pools that share them.
  struct Totals {
    std::atomic<std::uint64_t> pages = 0, bytes = 0, hits = 0;
  };

  std::string owner;  // SHA-256 of the owner; empty: none
  std::shared_ptr<Totals> totals = std::make_shared<Totals>();
  mutable std::mutex mutex;
  std::unordered_map<std::uint64_t, std::weak_ptr<const Page>> by_sum;
  std::unordered_map<PageId, std::weak_ptr<const Page>, PageIdHash> by_id;

  PageId id_of(std::string_view bytes) const {
    const PageId sum = sha256_of(bytes);
    return owner.empty() ? sum : sha256_of(owner + std::string(sum.data(), sum.size()));
  }
  /// Removes an expired entry. The entry may meanwhile belong to another page.
  template <class Map, class Key>
  static void forget(Map& map, const Key& key) {
    if (const auto at = map.find(key); at != map.end() && at->second.expired()) map.erase(at);
  }

  /// Registers a page under its checksum. Returns the page already registered, if any.
  PagePtr enter(PagePtr page) {
    const std::scoped_lock lock(mutex);
    std::weak_ptr<const Page>& place = by_sum[page->sum_];
    if (PagePtr before = place.lock()) return before;
    place = page;
    return page;
  }
};

std::size_t PageIdHash::operator()(const PageId& id) const {
  std::size_t hash = 0;
  std::memcpy(&hash, id.data(), sizeof hash);
  return hash;
}

Page::Page(Draft draft, std::uint64_t sum, std::shared_ptr<Pool> pool)
    : draft_(std::move(draft)), sum_(sum), pool_(std::move(pool)) {
  ++pool_->totals->pages;
  pool_->totals->bytes += bytes().size() + kPageMemory;
}

Page::~Page() {
  const std::scoped_lock lock(pool_->mutex);
  Pool::forget(pool_->by_sum, sum_);
  if (named_) Pool::forget(pool_->by_id, id_);
  --pool_->totals->pages;
  pool_->totals->bytes -= bytes().size() + kPageMemory;
}

const PageId& Page::id() const {
  if (!named_) set_id(pool_->id_of(bytes()));
  return id_;
}

void Page::set_id(const PageId& id) const {
  const std::uint64_t seal = seal_of(sum_, id);
  const std::scoped_lock lock(pool_->mutex);
  if (named_) return;
  id_ = id;
  std::memcpy(draft_.data() + bytes().size(), &seal, kSeal);
  pool_->by_id.insert_or_assign(id, weak_from_this());
  named_ = true;
}

std::string_view Page::sealed() const {
  (void)id();
  return draft_.sealed_;
}

PagePool::PagePool() : pool_(std::make_shared<Page::Pool>()) {}
PagePool::PagePool(const std::string& owner, const PagePool& beside) : PagePool() {
  pool_->totals = beside.pool_->totals;
  if (!owner.empty()) pool_->owner = sha256(owner);
}
PagePool::~PagePool() = default;

PagePtr PagePool::share(Page::Draft draft) {
  const std::uint64_t sum = checksum_of(draft.bytes());
  PagePtr made(new Page(std::move(draft), sum, pool_));
  PagePtr first = pool_->enter(made);
  if (first == made || first->bytes() != made->bytes()) return made;
  ++pool_->totals->hits;
  return first;
}

PagePtr PagePool::find(const PageId& id) const {
  const std::scoped_lock lock(pool_->mutex);
  const auto at = pool_->by_id.find(id);
  return at == pool_->by_id.end() ? nullptr : at->second.lock();
}

PagePtr PagePool::unseal(const PageId& id, std::string sealed) {
  if (sealed.size() < Page::kSeal) return nullptr;
  Page::Draft draft(std::move(sealed));
  std::uint64_t seal = 0;
  std::memcpy(&seal, draft.bytes().end(), sizeof seal);
  if (seal != seal_of(checksum_of(draft.bytes()), id)) return nullptr;
  PagePtr page = share(std::move(draft));
  page->set_id(id);
  return page;
}

PagePool::Counts PagePool::counts() const {
  const Page::Pool::Totals& totals = *pool_->totals;
  return {.pages = totals.pages, .bytes = totals.bytes, .hits = totals.hits};
}
std::uint64_t PagePool::bytes() const { return pool_->totals->bytes; }

}  // namespace frazil::server
