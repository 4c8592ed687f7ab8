#include "kernel/contract/nbits.h"

#include "base/thread/poll_throttle.h"
#include "kernel/contract/nbits.simd.h"
#include "kernel/simd/isa.h"

namespace frazil::kernel {

void unpack_row(const PackedRow& row, float* to) noexcept { FRAZIL_DISPATCH(unpack_row_run(row, to)); }

bool has_nbits_product(const PackedRow& column) noexcept {
  const std::int64_t block = column.block;
  const bool fits = block == 32 || block == 64 || (block > 0 && block % kNBitsStep == 0);
  return fits && column.bits == 4 && column.count % block == 0 && features().isa == Isa::avx512;
}

void nbits_arrange(const float* a, std::int64_t m, std::int64_t k, float* to) noexcept {
  constexpr std::int64_t kHalves = 8, kLanes = kNBitsStep / kHalves;
  PollThrottle throttle;
  for (std::int64_t row = 0; row < m && !throttle.stop(k); ++row, a += k) {
    for (std::int64_t i = 0; i < k; i += kNBitsStep, to += kNBitsArranged) {
      float* const sums = to + kNBitsStep;
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        sums[lane] = 0;
        for (std::int64_t j = 0; j < kHalves; ++j) {
          const std::int64_t at = i + lane * kHalves + j;
          const float x = at < k ? a[at] : 0.0F;
          to[j * kLanes + lane] = x;
          sums[lane] += x;
        }
      }
    }
  }
}

void nbits_product(const NBitsProduct& p, const float* arranged, std::int64_t begin, std::int64_t end,
                   float* room) noexcept {
#if defined(__x86_64__)
  isa_avx512::nbits_columns(p, arranged, begin, end, room);
#else
  (void)p, (void)arranged, (void)begin, (void)end, (void)room;
#endif
}

}  // namespace frazil::kernel
