#include "tensor/datum.h"

#include <new>

#include "base/free_later.h"

namespace frazil {

namespace {
constexpr std::size_t kExtents = 64;  // what a tensor's extents and strides take, about
constexpr std::size_t kItem = 256;    // and an item as a whole
template <class T>
void destroy(void* what) noexcept {
  delete static_cast<T*>(what);
}

/// Shared; many of its `count` items are freed later.
template <class T>
std::shared_ptr<const T> shared(T value, std::size_t count) {
  if (count < kManyObjects) return std::make_shared<const T>(std::move(value));
  const auto release = [](T* held) noexcept { free_later(held, &destroy<T>, held->items.size() * kItem); };
  return std::shared_ptr<T>(new T(std::move(value)), release);
}

}  // namespace

Result<Datum> make_sequence(std::vector<Datum> items) {
  const std::size_t count = items.size();
  FRAZIL_TRY(MemoryCharge charge, MemoryCharge::make(count * (sizeof(Datum) + kExtents)));
  return Datum(shared(Sequence{std::move(items), std::move(charge)}, count));
}

void free_items(std::vector<Datum> items) noexcept {
  if (items.size() < kManyObjects) return;
  auto* held = new (std::nothrow) std::vector<Datum>(std::move(items));
  if (held != nullptr) free_later(held, &destroy<std::vector<Datum>>, held->size() * kItem);
}

Result<Datum> make_map(std::vector<std::pair<Tensor, Datum>> items) {
  const std::size_t count = items.size();
  FRAZIL_TRY(MemoryCharge charge, MemoryCharge::make(count * (sizeof(Tensor) + sizeof(Datum) + 2 * kExtents)));
  return Datum(shared(MapValue{std::move(items), std::move(charge)}, count));
}

}  // namespace frazil
