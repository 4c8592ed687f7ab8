#include "code/tile/elements.h"

#include <algorithm>
#include <cstring>

#include "base/value/float.h"
#include "kernel/tile/tile.h"

namespace frazil::code {
namespace {

template <std::size_t kSize>
void move_each(std::byte* to, std::int64_t to_step, const std::byte* from, std::int64_t from_step, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_step, from + i * from_step, kSize);
}

/// Copies n elements of 1, 2, 4 or 8 bytes, any number of bytes apart.
void move_each(std::int64_t size, std::byte* to, std::int64_t to_step, const std::byte* from, std::int64_t from_step,
               std::int64_t n) {
  switch (size) {
    case 1: return move_each<1>(to, to_step, from, from_step, n);
    case 2: return move_each<2>(to, to_step, from, from_step, n);
    case 4: return move_each<4>(to, to_step, from, from_step, n);
    default: return move_each<8>(to, to_step, from, from_step, n);
  }
}

bool is_half(Elem elem) { return elem == Elem::f16 || elem == Elem::bf16; }

void convert(Elem from, const void* source, Elem to, void* target, std::int64_t n) {
  kernel::cast_fn(from, to)(target, &source, static_cast<std::size_t>(n));
}

void widen(Elem elem, const std::byte* from, std::byte* to, std::int64_t n) {
  if (is_half(elem)) return convert(elem, from, Elem::f32, to, n);
  to_f32(elem, from, reinterpret_cast<float*>(to), static_cast<std::size_t>(n));
}

void narrow(Elem elem, const std::byte* from, std::byte* to, std::int64_t n) {
  if (is_half(elem)) return convert(Elem::f32, from, elem, to, n);
  from_f32(elem, reinterpret_cast<const float*>(from), to, static_cast<std::size_t>(n), false);
}

}  // namespace

void load_run(Elem elem, const std::byte* from, std::int64_t step, std::byte* to, std::int64_t n) {
  const auto size = static_cast<std::int64_t>(byte_size(elem));
  const bool small = is_small_float(elem);
  if (small && step == size) return widen(elem, from, to, n);
  constexpr std::int64_t kPiece = 256;
  alignas(8) std::byte packed[kPiece * 8];
  for (std::int64_t begin = 0; begin < n; begin += kPiece) {
    const std::int64_t m = std::min(kPiece, n - begin);
    const std::byte* source = from + begin * step;
    std::byte* target = to + begin * static_cast<std::int64_t>(byte_size(compute_elem(elem)));
    std::byte* dst = small ? packed : target;
    if (step == size || m == 1) {
      if (small)
        dst = const_cast<std::byte*>(source);
      else
        std::memcpy(dst, source, static_cast<std::size_t>(m * size));
    } else {
      move_each(size, dst, size, source, step, m);
    }
    if (small) widen(elem, dst, target, m);
  }
}

void store_run(Elem elem, const void* value, std::byte* to, std::int64_t step, std::int64_t n, bool repeats) {
  const auto size = static_cast<std::int64_t>(byte_size(elem));
  const bool small = is_small_float(elem);
  if (small && step == size && !repeats) return narrow(elem, static_cast<const std::byte*>(value), to, n);
  constexpr std::int64_t kPiece = 256;
  alignas(8) std::byte rounded[kPiece * 4];
  const auto* from = static_cast<const std::byte*>(value);
  for (std::int64_t begin = 0; begin < n; begin += kPiece) {
    const std::int64_t m = std::min(kPiece, n - begin), have = repeats ? 1 : m;
    const std::byte* source = repeats ? from : from + begin * static_cast<std::int64_t>(byte_size(compute_elem(elem)));
    if (small) {
      narrow(elem, source, rounded, have);
      source = rounded;
    }
    std::byte* target = to + begin * step;
    if (!repeats && step == size) {
      if (source != target) std::memcpy(target, source, static_cast<std::size_t>(m * size));
      continue;
    }
    move_each(size, target, step, source, repeats ? 0 : size, m);
  }
}

}  // namespace frazil::code
