#include "code/weights/weight_store.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "base/limits/execution_limits.h"
#include "base/limits/no_memory.h"
#include "base/os/io.h"
#include "base/thread/mutex.h"

namespace frazil::code {

/// A latch that opens when the packing of a form has ended, successfully or not.
class Latch {
 public:
  void open() {
    const std::scoped_lock lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }
  /// Waits until the latch is open. Returns false if the waiting run has to stop.
  bool wait() {
    std::unique_lock lock(mutex_);
    while (!done_) {
      changed_.wait_for(lock, std::chrono::milliseconds(1));
      if (!done_ && stop_requested()) return false;
    }
    return true;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool done_ = false;
};

namespace {

/// Allocates memory that all sessions share. It is not charged to the limits of any.
Result<std::shared_ptr<Buffer>> shared_buffer(std::size_t bytes) {
  const LimitsScope nobody(nullptr);
  FRAZIL_TRY(Buffer buffer, Buffer::allocate(bytes));
  return std::make_shared<Buffer>(std::move(buffer));
}

std::unexpected<Fault> interrupted() { return fail(Code::cancelled, "the packing of weights was interrupted"); }

}  // namespace

WeightStore& WeightStore::global() {
  static WeightStore& store = *new WeightStore;  // never destroyed, as forms may die after static objects
  return store;
}

bool WeightStore::Key::operator<(const Key& other) const {
  if (buffer.owner_before(other.buffer)) return true;
  if (other.buffer.owner_before(buffer)) return false;
  return std::tie(data, bytes, format) < std::tie(other.data, other.bytes, other.format);
}

std::uint64_t WeightStore::packed_count() const {
  const std::scoped_lock lock(mutex_);
  return packed_count_;
}

std::vector<PackedPart> WeightStore::forms_of(std::span<const std::byte> weight) const {
  // References outlive the lock: dropping the last one to a form takes the lock.
  std::vector<PackedPart> parts;
  std::shared_ptr<const PackedWeight> form;
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, entry] : entries_) {
    if (key.data < weight.data() || key.data + key.bytes > weight.data() + weight.size()) continue;
    form = entry.form.lock();
    if (form != nullptr)
      parts.push_back({static_cast<std::size_t>(key.data - weight.data()), key.bytes, key.format, form});
  }
  return parts;
}

std::shared_ptr<const PackedWeight> WeightStore::adopt(const WeightRef& weight, const PackFormat& format,
                                                       Buffer memory) {
  const Key key{weight.buffer->tag(), weight.bytes.data(), weight.bytes.size(), format};
  std::byte* const data = memory.data();
  const std::size_t bytes = memory.size();
  auto form = shared(PackedWeight(std::make_shared<Buffer>(std::move(memory)), data, bytes), key);
  const std::scoped_lock lock(mutex_);
  entries_[key].form = form;
  return form;
}

/// Returns memory for a form. The lock must be held.
Result<PackedWeight> WeightStore::take(std::size_t bytes) {
  constexpr std::size_t kChunk = std::size_t{16} << 20;
  const std::size_t padded = aligned(bytes);
  if (padded >= kChunk / 2) {
    FRAZIL_TRY(auto own, shared_buffer(padded));
    std::byte* const data = own->data();
    return PackedWeight(std::move(own), data, bytes);
  }
  auto chunk = chunk_.lock();
  if (chunk == nullptr || used_ + padded > chunk->size()) {
    FRAZIL_TRY(chunk, shared_buffer(kChunk));
    chunk_ = chunk;
    used_ = 0;
  }
  std::byte* const data = chunk->data() + std::exchange(used_, used_ + padded);
  return PackedWeight(std::move(chunk), data, bytes);
}

Result<PackedWeight> WeightStore::pack(const WeightRef& weight, std::size_t bytes,
                                       const std::function<void(std::byte*)>& fill) {
  std::unique_lock lock(mutex_);
  FRAZIL_TRY(PackedWeight form, take(bytes));
  ++packed_count_;
  lock.unlock();
  fetch_pages(weight.bytes);
  fill(form.data_);
  if (stop_requested()) return interrupted();
  release_pages(weight.bytes);
  return form;
}

void WeightStore::forget(const Key& key) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto at = entries_.find(key);
  if (at != entries_.end() && at->second.packing == nullptr && at->second.form.expired()) entries_.erase(at);
  if (chunk_.expired()) chunk_.reset();
}

std::shared_ptr<const PackedWeight> WeightStore::shared(PackedWeight form, const Key& key) {
  const auto drop = [this, key](const PackedWeight* dying) {
    delete dying;
    forget(key);
  };
  return {new PackedWeight(std::move(form)), drop};
}

Result<std::shared_ptr<const PackedWeight>> WeightStore::get(const WeightRef& weight, const PackFormat& format,
                                                             std::size_t bytes,
                                                             const std::function<void(std::byte*)>& fill) {
  const Key key{weight.buffer->tag(), weight.bytes.data(), weight.bytes.size(), format};
  if (key.buffer.expired()) {  // memory without an owner has no identity
    FRAZIL_TRY(PackedWeight form, pack(weight, bytes, fill));
    return std::make_shared<const PackedWeight>(std::move(form));
  }
  const auto latch = std::make_shared<Latch>();
  for (;;) {
    std::unique_lock lock(mutex_);
    Entry& entry = entries_[key];
    if (auto form = entry.form.lock()) return form;
    if (entry.packing == nullptr) {
      entry.packing = latch;
      break;
    }
    const auto other = entry.packing;
    lock.unlock();
    if (!other->wait()) return interrupted();
  }
  struct Done {  // runs also if memory is exhausted
    WeightStore& store;
    const Key& key;
    Latch& latch;
    std::shared_ptr<const PackedWeight> form{};
    ~Done() {
      {
        const std::scoped_lock lock(store.mutex_);
        Entry& entry = store.entries_.find(key)->second;
        entry.form = form;
        entry.packing = nullptr;
      }
      if (form == nullptr) store.forget(key);
      latch.open();
    }
  } done{*this, key, *latch};
  FRAZIL_TRY(PackedWeight form, pack(weight, bytes, fill));
  done.form = shared(std::move(form), key);
  return done.form;
}

Result<const std::byte*> WeightRefs::get(const WeightRef& weight, const PackFormat& format, std::size_t bytes,
                                         const std::function<void(std::byte*)>& fill) {
  FRAZIL_TRY(auto form, WeightStore::global().get(weight, format, bytes, fill));
  const std::byte* const data = form->data();
  const std::scoped_lock lock(mutex_);
  const auto at = std::ranges::lower_bound(forms_, form);
  if (at == forms_.end() || *at != form) forms_.insert(at, std::move(form));
  return data;
}

std::size_t WeightRefs::bytes() const {
  const std::scoped_lock lock(mutex_);
  std::size_t sum = 0;
  for (const auto& form : forms_) sum += form->bytes();
  return sum;
}

}  // namespace frazil::code
