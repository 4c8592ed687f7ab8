#include "tensor/datum.h"

#include <new>

#include "base/limits/deferred_free.h"
#include "base/thread/poll_throttle.h"

namespace frazil {

namespace {
constexpr std::size_t kExtents = 64;  // approximate bytes of a tensor's extents and strides
constexpr std::size_t kItem = 256;    // approximate bytes of one item
template <class T>
void destroy(void* what) noexcept {
  delete static_cast<T*>(what);
}

/// Frees items until the run must stop.
template <class T>
void shrink(std::vector<T>& items) noexcept {
  for (PollThrottle throttle; !items.empty() && !throttle.stop(64);) items.pop_back();
}

/// Makes a shared_ptr whose last owner may leave the items to another thread to be freed.
template <class T>
std::shared_ptr<const T> shared(T value) {
  const auto release = [](T* held) noexcept {
    shrink(held->items);
    if (!defers_free(held->items.size())) return destroy<T>(held);
    defer_free(held, &destroy<T>, held->items.size() * kItem);
  };
  return std::shared_ptr<T>(new T(std::move(value)), release);
}

}  // namespace

Result<Datum> make_sequence(std::vector<Datum> items) {
  const std::size_t count = items.size();
  FRAZIL_TRY(MemoryCharge charge, MemoryCharge::make(count * (sizeof(Datum) + kExtents)));
  return Datum(shared(Sequence{std::move(items), std::move(charge)}));
}

void free_items(std::vector<Datum> items) noexcept {
  shrink(items);
  if (!defers_free(items.size())) return;
  auto* held = new (std::nothrow) std::vector<Datum>(std::move(items));
  if (held != nullptr) defer_free(held, &destroy<std::vector<Datum>>, held->size() * kItem);
}

Result<Datum> make_map(std::vector<std::pair<Tensor, Datum>> items) {
  const std::size_t count = items.size();
  FRAZIL_TRY(MemoryCharge charge, MemoryCharge::make(count * (sizeof(Tensor) + sizeof(Datum) + 2 * kExtents)));
  return Datum(shared(MapValue{std::move(items), std::move(charge)}));
}

}  // namespace frazil
