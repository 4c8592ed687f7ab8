#include "kernel/move/edges.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/thread/poll_throttle.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

int64_t modulo(int64_t a, int64_t n) { return (a % n + n) % n; }

int64_t place(Outside outside, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent) return i;
  if (outside == Outside::clamp) return std::clamp<int64_t>(i, 0, extent - 1);
  if (outside == Outside::wrap) return modulo(i, extent);
  if (extent == 1) return 0;
  const int64_t folded = modulo(i, 2 * (extent - 1));
  return std::min(folded, 2 * (extent - 1) - folded);
}

template <class T>
void pick(std::byte* to, const std::byte* from, const int64_t* places, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * static_cast<int64_t>(sizeof(T)), from + places[i], sizeof(T));
}

void pick(int64_t size, std::byte* to, const std::byte* from, const int64_t* places, int64_t count) {
  switch (size) {
    case 1: return pick<std::uint8_t>(to, from, places, count);
    case 2: return pick<std::uint16_t>(to, from, places, count);
    case 4: return pick<std::uint32_t>(to, from, places, count);
    case 8: return pick<std::uint64_t>(to, from, places, count);
    default:
      for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * size, from + places[i], static_cast<std::size_t>(size));
  }
}

/// The positions [begin, end) of an axis of dst that lie inside the operand.
struct Inside {
  int64_t begin, end;
  Inside(const EdgePlan& p, int d)
      : begin(std::clamp<int64_t>(-p.offset[d], 0, p.out[d])),
        end(std::clamp<int64_t>(p.in[d] - p.offset[d], begin, p.out[d])) {}
};

}  // namespace

bool edges_fit(const EdgePlan& p) noexcept {
  for (int d = 0; d < p.rank; ++d) {
    const Inside inside(p, d);
    const bool beyond = inside.end - inside.begin < p.out[d];
    if (beyond && (p.in[d] == 0 || p.outside[d] == Outside::nowhere)) return false;
  }
  return true;
}

int64_t edge_scratch_bytes(const EdgePlan& p) noexcept {
  int64_t positions = 0;
  for (int d = 0; d < p.rank; ++d) positions += p.out[d];
  return positions * static_cast<int64_t>(sizeof(int64_t));
}

void run_edges(const EdgePlan& p, int64_t begin, int64_t end, void* dst, const void* src, void* scratch) noexcept {
  std::byte* to = static_cast<std::byte*>(dst);
  const std::byte* const from = static_cast<const std::byte*>(src);
  if (p.rank == 0) {
    std::memcpy(to, from, static_cast<std::size_t>(p.elem_size));
    return;
  }
  const int64_t* places[kMaxEdgeRank] = {};
  int64_t* free = static_cast<int64_t*>(scratch);
  PollThrottle throttle;
  for (int d = 0; d < p.rank; ++d) {
    places[d] = free;
    for (int64_t i = 0; i < p.out[d] && !throttle.stop(4); ++i)
      *free++ = place(p.outside[d], i + p.offset[d], p.in[d]) * p.stride[d];
  }
  if (stop_requested()) return;
  const int last = p.rank - 1;
  const int64_t length = p.out[last], size = p.elem_size;
  Inside run(p, last);
  if (p.stride[last] != size) run.begin = run.end = 0;
  int64_t index[kMaxEdgeRank] = {};
  int64_t left = begin;
  for (int d = last; d-- > 0; left /= p.out[d]) index[d] = left % p.out[d];
  to += begin * length * size;
  for (int64_t row = begin; row < end && !throttle.stop(1 + length); ++row, to += length * size) {
    const std::byte* line = from;
    for (int d = 0; d < last; ++d) line += places[d][index[d]];
    pick(size, to, line, places[last], run.begin);
    if (run.end > run.begin) {
      std::memcpy(to + run.begin * size, line + places[last][run.begin],
                  static_cast<std::size_t>((run.end - run.begin) * size));
    }
    pick(size, to + run.end * size, line, places[last] + run.end, length - run.end);
    for (int d = last; d-- > 0 && ++index[d] == p.out[d];) index[d] = 0;
  }
}

}  // namespace frazil::kernel
