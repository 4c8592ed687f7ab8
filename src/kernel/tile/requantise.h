#pragma once

// Chains of a form that stands behind most products of quantised models, as code of its own: what is constant lies in
// registers, and steps are not looked up. Compiled with chain.simd.cc, for AVX-512 alone. Bits are those of the steps.

#include "kernel/simd/math_lanes.h"
#include "kernel/tile/chain.simd.h"

#if defined(__AVX512F__)
namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

/// A quantisation to u8 that has no lower limit but that of the type.
struct Quantiser {
  float scale = 0, zero = 0, high = 0;
  int scale_at = -1, zero_at = -1;  ///< the operands that they are read from

  /// False where the steps one by one are needed.
  bool read(const ChainStep& s, const void* const* operands) {
    const auto one = [&](std::uint8_t index) {
      float x;
      __builtin_memcpy(&x, operands[index], sizeof x);
      return x;
    };
    const bool reads_zero = s.zero_from == ChainStep::Zero::one;
    if (s.from == ChainStep::From::one) scale_at = s.index;
    if (reads_zero) zero_at = s.other;
    scale = scale_at >= 0 ? one(s.index) : s.number;
    zero = reads_zero ? one(s.other) : s.zero_from == ChainStep::Zero::none ? 0 : s.zero;
    high = s.high;
    const auto is_byte = [](float x) { return x >= 0 && x <= 255 && x == static_cast<float>(static_cast<int>(x)); };
    const float size = __builtin_fabsf(scale);
    return s.elem == Elem::u8 && size > 0x1p-100F && size < 0x1p100F && is_byte(zero) && is_byte(high) && s.low == 0;
  }
};

/// What a chain does: (sums * factors + offsets, or reals), quantised and widened, plus something, quantised.
struct Requantise {
  enum class Source { reals, sums } source = Source::sums;
  enum class Added { none, bytes, reals } added = Added::none;
  bool widens = false;                              ///< quantises, and takes that apart again
  bool to_bytes = false;                            ///< the result; else f32
  Quantiser first, last;                            ///< first: if it widens
  float width = 1;                                  ///< the factor of what was quantised first
  std::uint8_t from = 0, factors = 0, offsets = 0;  ///< operands
  std::uint8_t other = 0;                           ///< the operand that is added
  float other_zero = 0, other_scale = 1;
  bool other_signed = false;
  std::uint8_t to = 0;  ///< a result
  bool known = false;

  Requantise(const ChainStep* at, const ChainStep* past, const void* const* operands) : at_(at), past_(past) {
    known = read(operands) && at_ == past_;
  }

 private:
  using Op = ChainStep::Op;
  using From = ChainStep::From;

  const ChainStep* take(Op op) { return at_ != past_ && at_->op == op ? at_++ : nullptr; }
  const ChainStep* take(Op op, From second) { return at_ != past_ && at_->from == second ? take(op) : nullptr; }

  bool read(const void* const* operands) {
    bool saved = false;
    std::uint8_t slot = 0;
    if (at_ != past_ && at_->op == Op::load && (at_->elem == Elem::u8 || at_->elem == Elem::i8)) {
      if (!read_other(slot)) return false;
      saved = true;
    }
    if (!read_source()) return false;
    const ChainStep* const quantise = take(Op::quantise);
    if (quantise == nullptr || !last.read(*quantise, operands)) return false;
    if (const ChainStep* const store = take(Op::store)) return !saved && gives(*store, quantise->elem);
    if (source == Source::reals) return false;
    first = last, widens = true;
    if (first.zero != 0) {
      const ChainStep* const less = take(Op::sub, From::constant);
      if (less == nullptr || !(less->number == first.zero)) return false;
    }
    const ChainStep* const times = take(Op::mul, From::constant);
    if (times == nullptr) return false;
    width = times->number;
    if (!saved && at_ != past_ && at_->op == Op::store) return gives(*at_++, Elem::f32);
    return read_sum(saved, slot) && read_last(operands);
  }

  bool read_other(std::uint8_t& slot) {
    const ChainStep& load = *take(Op::load);
    other = load.index, other_signed = load.elem == Elem::i8;
    if (const ChainStep* const less = take(Op::sub, From::constant)) other_zero = less->number;
    if (const ChainStep* const times = take(Op::mul, From::constant)) other_scale = times->number;
    const ChainStep* const save = take(Op::save);
    if (save != nullptr) slot = save->index;
    return save != nullptr && !load.repeated;
  }

  bool read_source() {
    if (const ChainStep* const load = take(Op::load)) {
      source = Source::reals, from = load->index;
      return load->elem == Elem::f32 && !load->repeated;
    }
    const ChainStep* const load = take(Op::load_scaled);
    if (load == nullptr) return false;
    from = load->index, factors = load->other, offsets = load->third;
    return true;
  }

  bool read_sum(bool saved, std::uint8_t slot) {
    const ChainStep* const add = take(Op::add, saved ? From::slot : From::each);
    if (add == nullptr || (saved && add->index != slot)) return false;
    added = saved ? Added::bytes : Added::reals;
    if (!saved) other = add->index;
    return true;
  }

  bool read_last(const void* const* operands) {
    const ChainStep* const quantise = take(Op::quantise);
    if (quantise == nullptr || !last.read(*quantise, operands)) return false;
    const ChainStep* const store = take(Op::store);
    return store != nullptr && gives(*store, quantise->elem);
  }

  bool gives(const ChainStep& store, Elem elem) {
    to = store.index, to_bytes = elem != Elem::f32;
    return store.elem == elem;
  }

  const ChainStep *at_, *past_;
};

/// Where its operands are; those of each column stay where they are from row to row.
struct RequantiseRows {
  const void *from, *other;
  const float *factors, *offsets;
  void* to;
  std::int64_t from_step, other_step, to_step;  ///< bytes
  std::int64_t rows;
};

constexpr int kRequantised = 4;  ///< vectors that pass through together
/// A quotient by the reciprocal, within 256, is off by less than 2^-14: farther than this from an integer, it is
/// divided.
constexpr float kSureOff = 0.5F - 0x1p-14F;

/// A quantiser's steps one by one, less the zero point.
[[gnu::noinline]] inline void quantise_exactly(const Quantiser& q, float (&x)[64]) {
  for (int v = 0; v < kRequantised; ++v) {
    F32v y = load<F32v>(x + 16 * v) / q.scale;
    y = (F32v)_mm512_maskz_roundscale_ps(0xffff, (__m512)y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC) + q.zero;
    y = at_most(at_least(y, 0), q.high);
    y = y == y ? y : F32v{};
    store(x + 16 * v, y - q.zero);
  }
}

struct QuantiserLanes {
  __m512 factor, low, high;
  __m512i zero, most, order;
  const Quantiser& exact;
  explicit QuantiserLanes(const Quantiser& q)
      : factor(_mm512_set1_ps(1.0F / q.scale)),
        low(_mm512_set1_ps(-q.zero)),
        high(_mm512_set1_ps(q.high - q.zero)),
        zero(_mm512_set1_epi16(static_cast<short>(q.zero))),
        most(_mm512_set1_epi8(static_cast<char>(static_cast<int>(q.high)))),
        order(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)),
        exact(q) {}

  /// Integers, less the zero point.
  [[gnu::always_inline]] void whole(__m512 (&x)[kRequantised]) const {
    __m512 q[kRequantised], off = _mm512_setzero_ps();
#pragma GCC unroll 4
    for (int v = 0; v < kRequantised; ++v) {
      q[v] = _mm512_maskz_max_ps(0xffff, _mm512_mul_ps(x[v], factor), low);  // low for NaN, too
      q[v] = _mm512_maskz_min_ps(0xffff, q[v], high);
      const __m512 y = _mm512_maskz_roundscale_ps(0xffff, q[v], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      off = farthest(off, _mm512_sub_ps(q[v], y));
      q[v] = y;
    }
    if (unsure(off)) [[unlikely]]
      divide(x, q);
#pragma GCC unroll 4
    for (int v = 0; v < kRequantised; ++v) x[v] = q[v];
  }

  /// Bytes. What is negative, or NaN, becomes 0 as it is packed.
  [[gnu::always_inline]] __m512i bytes(const __m512 (&x)[kRequantised]) const {
    constexpr float kFits = 0x1p24F;
    __m512 q[kRequantised], off = _mm512_setzero_ps();
#pragma GCC unroll 4
    for (int v = 0; v < kRequantised; ++v) {
      q[v] = _mm512_maskz_min_ps(0xffff, _mm512_set1_ps(kFits), _mm512_mul_ps(x[v], factor));  // NaN stays
      off = farthest(off, _mm512_maskz_reduce_ps(0xffff, q[v], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    if (unsure(off)) [[unlikely]]
      divide(x, q);
    __m512i pairs[2];
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      pairs[v] = _mm512_packs_epi32(_mm512_maskz_cvtps_epi32(0xffff, q[2 * v]),
                                    _mm512_maskz_cvtps_epi32(0xffff, q[2 * v + 1]));
      pairs[v] = _mm512_adds_epi16(pairs[v], zero);
    }
    const __m512i all = _mm512_min_epu8(_mm512_packus_epi16(pairs[0], pairs[1]), most);
    return _mm512_maskz_permutexvar_epi32(0xffff, order, all);
  }

 private:
  /// The larger magnitude; a number rather than NaN.
  static __m512 farthest(__m512 a, __m512 b) {
    constexpr int kMagnitudes = 0b1011;
    return _mm512_maskz_range_ps(0xffff, a, b, kMagnitudes);
  }
  static bool unsure(__m512 off) { return _mm512_cmp_ps_mask(off, _mm512_set1_ps(kSureOff), _CMP_GE_OQ) != 0; }
  [[gnu::always_inline]] void divide(const __m512 (&x)[kRequantised], __m512 (&q)[kRequantised]) const {
    float slow[64];
#pragma GCC unroll 4
    for (int v = 0; v < kRequantised; ++v) _mm512_storeu_ps(slow + 16 * v, x[v]);
    quantise_exactly(exact, slow);
#pragma GCC unroll 4
    for (int v = 0; v < kRequantised; ++v) q[v] = _mm512_loadu_ps(slow + 16 * v);
  }
};

/// Masks of up to 64 columns.
struct Columns {
  __mmask64 bytes;
  __mmask16 lanes[kRequantised];
  explicit Columns(std::int64_t n) : bytes(n >= 64 ? ~__mmask64{0} : (__mmask64{1} << n) - 1), lanes() {
    for (int v = 0; v < kRequantised; ++v) lanes[v] = static_cast<__mmask16>(bytes >> (16 * v));
  }
};

template <bool Tail>
FRAZIL_INLINE __m512 reals_of(const float* p, const Columns& c, int v) {
  return Tail ? _mm512_maskz_loadu_ps(c.lanes[v], p + 16 * v) : _mm512_loadu_ps(p + 16 * v);
}
template <bool Tail>
FRAZIL_INLINE __m512 sums_of(const std::int32_t* p, const Columns& c, int v) {
  const __m512i x = Tail ? _mm512_maskz_loadu_epi32(c.lanes[v], p + 16 * v) : _mm512_loadu_si512(p + 16 * v);
  return _mm512_maskz_cvtepi32_ps(0xffff, x);
}
template <bool Tail>
FRAZIL_INLINE __m512 bytes_of(const std::uint8_t* p, const Columns& c, int v, bool is_signed) {
  const __m128i x =
      Tail ? _mm_maskz_loadu_epi8(c.lanes[v], p + 16 * v) : _mm_loadu_si128((const __m128i_u*)(p + 16 * v));
  return _mm512_maskz_cvtepi32_ps(
      0xffff, is_signed ? _mm512_maskz_cvtepi8_epi32(0xffff, x) : _mm512_maskz_cvtepu8_epi32(0xffff, x));
}

/// What is the same for all elements.
template <class Form>
struct RequantiseLanes {
  QuantiserLanes first, last;
  __m512 width, other_zero, other_scale;
  bool other_signed;
  explicit RequantiseLanes(const Requantise& q)
      : first(q.first),
        last(q.last),
        width(_mm512_set1_ps(q.width)),
        other_zero(_mm512_set1_ps(q.other_zero)),
        other_scale(_mm512_set1_ps(q.other_scale)),
        other_signed(q.other_signed) {}

  /// Up to 64 columns, from `col` on.
  template <bool Tail>
  [[gnu::always_inline]] void run(const RequantiseRows& r, std::int64_t col, const Columns& c) const {
    __m512 x[kRequantised];
#pragma GCC unroll 4
    for (int v = 0; v < kRequantised; ++v) {
      if constexpr (Form::source == Requantise::Source::sums) {
        x[v] = _mm512_mul_ps(sums_of<Tail>(static_cast<const std::int32_t*>(r.from) + col, c, v),
                             reals_of<Tail>(r.factors + col, c, v));
        x[v] = _mm512_add_ps(x[v], reals_of<Tail>(r.offsets + col, c, v));
      } else {
        x[v] = reals_of<Tail>(static_cast<const float*>(r.from) + col, c, v);
      }
    }
    if constexpr (Form::widens) widen<Tail>(x, r, col, c);
    give<Tail>(x, r, col, c);
  }

 private:
  template <bool Tail>
  [[gnu::always_inline]] void widen(__m512 (&x)[kRequantised], const RequantiseRows& r, std::int64_t col,
                                    const Columns& c) const {
    first.whole(x);
#pragma GCC unroll 4
    for (int v = 0; v < kRequantised; ++v) {
      if constexpr (!Form::to_bytes) x[v] = _mm512_add_ps(x[v], _mm512_setzero_ps());  // an integer has no -0
      x[v] = _mm512_mul_ps(x[v], width);
      if constexpr (Form::added == Requantise::Added::bytes) {
        const __m512 y = bytes_of<Tail>(static_cast<const std::uint8_t*>(r.other) + col, c, v, other_signed);
        x[v] = _mm512_add_ps(x[v], _mm512_mul_ps(_mm512_sub_ps(y, other_zero), other_scale));
      } else if constexpr (Form::added == Requantise::Added::reals) {
        x[v] = _mm512_add_ps(x[v], reals_of<Tail>(static_cast<const float*>(r.other) + col, c, v));
      }
    }
  }

  template <bool Tail>
  [[gnu::always_inline]] void give(__m512 (&x)[kRequantised], const RequantiseRows& r, std::int64_t col,
                                   const Columns& c) const {
    if constexpr (Form::to_bytes) {
      void* const to = static_cast<std::uint8_t*>(r.to) + col;
      if constexpr (Tail)
        _mm512_mask_storeu_epi8(to, c.bytes, last.bytes(x));
      else
        _mm512_storeu_si512(to, last.bytes(x));
    } else {
      float* const to = static_cast<float*>(r.to) + col;
#pragma GCC unroll 4
      for (int v = 0; v < kRequantised; ++v) _mm512_mask_storeu_ps(to + 16 * v, c.lanes[v], x[v]);
    }
  }
};

void move_row(RequantiseRows& r) {
  const auto move = [](const void* at, std::int64_t step) { return static_cast<const std::byte*>(at) + step; };
  r.from = move(r.from, r.from_step);
  r.other = move(r.other, r.other_step);
  r.to = static_cast<std::byte*>(r.to) + r.to_step;
}

template <Requantise::Source kSource, bool kWidens, Requantise::Added kAdded, bool kToBytes>
struct RequantiseForm {
  static constexpr Requantise::Source source = kSource;
  static constexpr bool widens = kWidens, to_bytes = kToBytes;
  static constexpr Requantise::Added added = kAdded;

  static void run(const Requantise& q, RequantiseRows r, std::int64_t n) {
    const RequantiseLanes<RequantiseForm> lanes(q);
    const Columns all(64), last(n % 64);
    for (std::int64_t row = 0; row < r.rows; ++row, move_row(r)) {
      std::int64_t col = 0;
      for (; col + 64 <= n; col += 64) lanes.template run<false>(r, col, all);
      if (col < n) lanes.template run<true>(r, col, last);
    }
  }
};

using RequantiseFn = void (*)(const Requantise&, RequantiseRows, std::int64_t);

/// Null where there is none.
RequantiseFn requantise_fn(const Requantise& q) {
  using enum Requantise::Added;
  using Source = Requantise::Source;
  if (q.source == Source::reals) return RequantiseForm<Source::reals, false, none, true>::run;
  if (!q.widens) return RequantiseForm<Source::sums, false, none, true>::run;
  if (!q.to_bytes) return q.added == none ? RequantiseForm<Source::sums, true, none, false>::run : nullptr;
  if (q.added == bytes) return RequantiseForm<Source::sums, true, bytes, true>::run;
  return q.added == reals ? RequantiseForm<Source::sums, true, reals, true>::run : nullptr;
}

/// Runs a chain of this form over rows, as chain() does; false where it is none.
bool requantise(const ChainStep* first, const ChainStep* past, const void** operands, void** results, std::int64_t n,
                const ChainRows& rows) {
  const Requantise q(first, past, operands);
  if (!q.known) return false;
  const bool many = rows.rows > 1;
  const auto step = [&](std::uint8_t k) { return many ? rows.operand_steps[k] : 0; };
  const auto changes = [&](int operand) { return operand >= 0 && step(static_cast<std::uint8_t>(operand)) != 0; };
  for (const Quantiser& s : {q.first, q.last}) {
    if (changes(s.scale_at) || changes(s.zero_at)) return false;  // another one for each row
  }
  const bool scales = q.source == Requantise::Source::sums;
  if (scales && (step(q.factors) != 0 || step(q.offsets) != 0)) return false;
  const bool adds = q.added != Requantise::Added::none;
  const RequantiseFn run = requantise_fn(q);
  if (run == nullptr) return false;
  run(q,
      {.from = operands[q.from],
       .other = adds ? operands[q.other] : nullptr,
       .factors = scales ? static_cast<const float*>(operands[q.factors]) : nullptr,
       .offsets = scales ? static_cast<const float*>(operands[q.offsets]) : nullptr,
       .to = results[q.to],
       .from_step = step(q.from),
       .other_step = adds ? step(q.other) : 0,
       .to_step = many ? rows.result_steps[q.to] : 0,
       .rows = rows.rows},
      n);
  return true;
}

}  // namespace
}  // namespace frazil::kernel::FRAZIL_ISA_NS
#endif
