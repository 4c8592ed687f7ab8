#pragma once

#include <atomic>
#include <span>
#include <utility>

#include "base/value/elem.h"
#include "tensor/tensor.h"

namespace frazil::lazy {

/// The element type and the extents of a tensor. Interned: equal types have one address, which stays valid.
struct KnownType {
  KnownType(Elem elem_, Sizes sizes_, std::size_t bytes_) : elem(elem_), sizes(std::move(sizes_)), bytes(bytes_) {}

  const Elem elem;
  const Sizes sizes;
  const std::size_t bytes;                              ///< bytes of all elements
  mutable std::atomic<const KnownType*> row = nullptr;  ///< cache of row_type()
};

/// Returns the interned type. Returns null if there are too many types or the bytes overflow. Thread-safe.
const KnownType* known_type(Elem elem, std::span<const std::int64_t> sizes);

/// Returns the type of an element along the first axis; null as known_type(). Precondition: there is a first axis.
inline const KnownType* row_type(const KnownType& type) {
  if (const KnownType* const row = type.row.load(std::memory_order_acquire)) return row;
  const KnownType* const row = known_type(type.elem, std::span(type.sizes).subspan(1));
  type.row.store(row, std::memory_order_release);
  return row;
}

}  // namespace frazil::lazy
