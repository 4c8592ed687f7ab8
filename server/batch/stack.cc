#include "server/batch/stack.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

namespace frazil::server {
namespace {

using api::Array;
using api::Dtype;
using api::Sizes;

/// A box of elements to copy from one tensor to another.
struct Box {
  Sizes extents;
  Sizes from, to;  ///< strides in bytes
};

Sizes distances(const Sizes& sizes, std::size_t bytes) {
  Sizes steps(sizes.size());
  auto step = static_cast<std::int64_t>(bytes);
  for (std::size_t i = sizes.size(); i-- > 0;) {
    steps[i] = step;
    step *= sizes[i];
  }
  return steps;
}

/// Copies a box. Inner axes that are contiguous in both tensors are copied as one run of bytes.
void copy_box(const Box& box, std::size_t axis, const std::byte* from, std::byte* to, std::size_t bytes) {
  std::size_t inner = axis;
  std::int64_t run = static_cast<std::int64_t>(bytes);
  for (std::size_t i = box.extents.size(); i-- > axis;) {
    if (box.from[i] != run || box.to[i] != run) {
      inner = i + 1;
      break;
    }
    run *= box.extents[i];
  }
  if (inner == axis) return void(std::memcpy(to, from, static_cast<std::size_t>(run)));
  for (std::int64_t i = 0; i < box.extents[axis]; ++i) {
    copy_box(box, axis + 1, from + i * box.from[axis], to + i * box.to[axis], bytes);
  }
}

template <class T>
void fill_with(Array& array, double value) {
  T* const to = static_cast<T*>(array.mutable_data());
  std::fill(to, to + array.count(), static_cast<T>(value));
}

/// Returns the function that fills a tensor of the type; null if the type cannot be padded.
void (*filler_of(Dtype dtype))(Array&, double) {
  switch (dtype) {
    case Dtype::boolean: return fill_with<bool>;
    case Dtype::i8: return fill_with<std::int8_t>;
    case Dtype::i16: return fill_with<std::int16_t>;
    case Dtype::i32: return fill_with<std::int32_t>;
    case Dtype::i64: return fill_with<std::int64_t>;
    case Dtype::u8: return fill_with<std::uint8_t>;
    case Dtype::f32: return fill_with<float>;
    case Dtype::f64: return fill_with<double>;
    default: return nullptr;
  }
}

std::int64_t extent_of(const Array& array, std::size_t axis) { return array.sizes()[axis]; }

}  // namespace

bool can_be_padded(Dtype dtype) { return filler_of(dtype) != nullptr; }

Array stacked(std::span<const Array> parts, const StackAxes& axes) {
  Sizes sizes = parts.front().sizes();
  sizes[axes.batch] = 0;
  bool uneven = false;
  for (const Array& part : parts) {
    sizes[axes.batch] += extent_of(part, axes.batch);
    if (!axes.padded) continue;
    uneven |= extent_of(part, *axes.padded) != sizes[*axes.padded];
    sizes[*axes.padded] = std::max(sizes[*axes.padded], extent_of(part, *axes.padded));
  }
  Array whole(parts.front().dtype(), sizes);
  if (uneven && axes.padding != 0) filler_of(whole.dtype())(whole, axes.padding);
  const std::size_t bytes = api::byte_size(whole.dtype());
  auto* to = static_cast<std::byte*>(whole.mutable_data());
  const Sizes steps = distances(sizes, bytes);
  for (const Array& part : parts) {
    if (part.count() != 0) {
      copy_box({part.sizes(), distances(part.sizes(), bytes), steps}, 0, static_cast<const std::byte*>(part.data()), to,
               bytes);
    }
    to += extent_of(part, axes.batch) * steps[axes.batch];
  }
  return whole;
}

Array part_of(const Array& whole, const StackAxes& axes, std::int64_t begin, std::int64_t count,
              std::optional<std::int64_t> length) {
  Sizes sizes = whole.sizes();
  const std::size_t bytes = api::byte_size(whole.dtype());
  const Sizes steps = distances(sizes, bytes);
  const bool cut = axes.padded && length && *length < sizes[*axes.padded];
  const bool together = !cut && std::all_of(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(axes.batch),
                                            [](std::int64_t extent) { return extent == 1; });
  sizes[axes.batch] = count;
  if (cut) sizes[*axes.padded] = *length;
  const auto* const from = static_cast<const std::byte*>(whole.data()) + begin * steps[axes.batch];
  if (together) {
    const auto keep = std::make_shared<Array>(whole);
    return Array::borrow(whole.dtype(), sizes, {from, static_cast<std::size_t>(count * steps[axes.batch])}, keep);
  }
  Array part(whole.dtype(), sizes);
  if (part.count() != 0) {
    copy_box({sizes, steps, distances(sizes, bytes)}, 0, from, static_cast<std::byte*>(part.mutable_data()), bytes);
  }
  return part;
}

}  // namespace frazil::server
