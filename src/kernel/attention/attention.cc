#include "kernel/attention/attention.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/thread/poll_throttle.h"
#include "base/value/extents.h"
#include "kernel/contract/float_gemm.h"
#include "kernel/row/rows.simd.h"
#include "kernel/simd/aligned.h"
#include "kernel/simd/isa.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

constexpr int64_t kAlign = kLineBytes / static_cast<int64_t>(sizeof(float));
constexpr int64_t kValueRows = 256;  // keys in a packed block of V
constexpr int64_t kFewQueries = 16;  // K and V are read in place up to this many queries per group
constexpr int64_t kBlockScores = 1 << 16;
constexpr int64_t kMaxBlock = 48, kMinBlock = 12;

float softmax_row(const AttentionRow& row) { FRAZIL_DISPATCH(rows_attention(row)); }

/// Offsets into the scratch memory, in floats.
struct Layout {
  int64_t block, row;  ///< queries per block; stride between rows of scores
  bool packs;
  int64_t keys = 0, values = 0, query = 0, scores = 0, bias = 0, keep = 0, gemm = 0, total = 0;

  explicit Layout(const Attention& a) {
    packs = a.heads / std::max<int64_t>(a.groups, 1) * a.queries > kFewQueries;
    row = round_up(a.keys, kAlign) + kAlign;
    const int64_t rows = a.queries == 1 ? a.heads / std::max<int64_t>(a.groups, 1) : a.queries;
    block = std::min(rows, std::clamp(kBlockScores / row / kMinBlock * kMinBlock, kMinBlock, kMaxBlock));
    const auto bytes = [](int64_t n) { return round_up((n + 3) / 4, kAlign); };
    int64_t at = 0;
    const auto take = [&](int64_t floats) {
      const int64_t begin = at;
      at += round_up(floats, kAlign);
      return begin;
    };
    keys = take(packs ? bytes(packed_b_bytes(Elem::f32, a.size, a.keys)) : 0);
    values = take(packs ? bytes(packed_b_bytes(Elem::f32, a.keys, a.value_size)) : 0);
    query = take(block * a.size);
    scores = take(block * row);
    bias = take(a.bias != nullptr && a.bias_step[3] != 1 ? row : 0);
    keep = take(a.keep != nullptr && a.keep_step[3] != 1 ? row / 4 : 0);
    gemm = take(bytes(std::max(float_gemm_scratch(Elem::f32, block, a.keys, a.size),
                               float_gemm_scratch(Elem::f32, block, a.value_size, packs ? kValueRows : a.keys))));
    total = at;
  }
};

int64_t integer(const void* list, int64_t at) {
  int64_t x;
  std::memcpy(&x, static_cast<const char*>(list) + at * static_cast<int64_t>(sizeof x), sizeof x);
  return x;
}

/// The keys and values of one group in one batch item, and the attention of the heads that share them.
class Group {
 public:
  Group(const Attention& a, const Layout& at, float* scratch, int64_t batch, int64_t group)
      : a_(a),
        at_(at),
        scratch_(scratch),
        batch_(batch),
        k_(a.k + batch * a.k_step[0] + group * a.k_step[1]),
        v_(a.v + batch * a.v_step[0] + group * a.v_step[1]) {
    if (a.lengths != nullptr) length_ = std::clamp<int64_t>(integer(a.lengths, batch * a.lengths_step), 0, a.keys);
    if (a.first != nullptr) first_ = integer(a.first, batch * a.first_step);
    if (!at.packs) return;
    pack_b(Elem::f32, a.size, a.keys, k_, a.k_step[3], a.k_step[2], scratch + at.keys);
    for (int64_t j = 0; j < a.keys; j += kValueRows) {
      pack_b(Elem::f32, std::min(kValueRows, a.keys - j), a.value_size, v_ + j * a.v_step[2], a.v_step[2], a.v_step[3],
             packed_values(j));
    }
  }

  /// Computes `count` heads from `head` on. If each head has one query, the heads are the rows of one product.
  void heads(int64_t head, int64_t count) const {
    if (a_.queries == 1) {
      for (int64_t i = 0; i < count && !stop_requested(); i += at_.block) {
        block({head + i, 0, std::min(at_.block, count - i), 1, 0});
      }
      return;
    }
    for (int64_t h = head; h < head + count; ++h) {
      for (int64_t i = 0; i < a_.queries && !stop_requested(); i += at_.block) {
        block({h, i, std::min(at_.block, a_.queries - i), 0, 1});
      }
    }
  }

 private:
  /// Rows of scores: row r is query `query` + r * next_query of head `head` + r * next_head.
  struct Block {
    int64_t head, query, rows, next_head, next_query;
  };
  std::byte* scratch_bytes() const { return reinterpret_cast<std::byte*>(scratch_ + at_.gemm); }
  float* packed_values(int64_t key) const { return scratch_ + at_.values + key * round_up(a_.value_size, 32); }

  /// Returns the number of keys that query i may see.
  int64_t seen(int64_t i) const {
    if (!a_.causal) return length_;
    int64_t last = 0;
    if (__builtin_add_overflow(first_, i, &last)) return first_ < 0 ? 0 : length_;
    return std::clamp<int64_t>(last < 0 ? 0 : std::min(last, a_.keys) + 1, 0, length_);
  }

  void block(const Block& b) const {
    const int64_t n = seen(b.query + (b.rows - 1) * b.next_query);
    float* const y = a_.y + ((batch_ * a_.queries + b.query) * a_.heads + b.head) * a_.value_size;
    const int64_t y_row = (b.next_query * a_.heads + b.next_head) * a_.value_size;
    if (n > 0) {
      scale_queries(b);
      scores(b.rows, n);
    }
    float factors[kMaxBlock];
    for (int64_t r = 0; r < b.rows; ++r) {
      factors[r] =
          softmax(b.head + r * b.next_head, b.query + r * b.next_query, scratch_ + at_.scores + r * at_.row, n);
    }
    values(b.rows, n, y, y_row);
    for (int64_t r = 0; r < b.rows; ++r) scale_row(y + r * y_row, factors[r]);
  }

  void scale_queries(const Block& b) const {
    const float* q = a_.q + batch_ * a_.q_step[0] + b.head * a_.q_step[1] + b.query * a_.q_step[2];
    const int64_t next = b.next_head * a_.q_step[1] + b.next_query * a_.q_step[2];
    for (int64_t r = 0; r < b.rows; ++r) {
      float* to = scratch_ + at_.query + r * a_.size;
      for (int64_t i = 0; i < a_.size; ++i) to[i] = q[r * next + i * a_.q_step[3]] * a_.scale;
    }
  }

  void scores(int64_t rows, int64_t n) const {
    GemmCall g{.m = rows,
               .n = n,
               .k = a_.size,
               .a = scratch_ + at_.query,
               .a_row = a_.size,
               .c = scratch_ + at_.scores,
               .c_row = at_.row};
    if (at_.packs) {
      g.packed_b = scratch_ + at_.keys;
      return gemm(g, scratch_bytes());
    }
    g.b = k_, g.b_row = a_.k_step[3], g.b_col = n == 1 ? 1 : a_.k_step[2];
    gemm(g, scratch_bytes());
  }

  /// Turns a row of scores into probabilities up to a factor. Returns the factor, to be applied after multiplication
  /// with the values; 0 makes the result zero.
  float softmax(int64_t head, int64_t i, float* x, int64_t n) const {
    if (a_.keys == 0) return 0;
    const int64_t place[3] = {batch_, head, i};
    const auto row_of = [&](const auto* p, const int64_t* step, float* room) {
      if (p == nullptr) return p;
      for (int axis = 0; axis < 3; ++axis) p += place[axis] * step[axis];
      if (step[3] == 1) return p;
      auto* const to = reinterpret_cast<std::remove_const_t<std::remove_pointer_t<decltype(p)>>*>(room);
      for (int64_t j = 0; j < n; ++j) to[j] = p[j * step[3]];
      return static_cast<decltype(p)>(to);
    };
    return softmax_row({.x = x,
                        .seen = std::min(n, seen(i)),
                        .end = at_.packs ? std::min(a_.keys, round_up(n, kValueRows)) : n,
                        .bias = row_of(a_.bias, a_.bias_step, scratch_ + at_.bias),
                        .keep = row_of(a_.keep, a_.keep_step, scratch_ + at_.keep),
                        .bias_last = a_.bias_last,
                        .softcap = a_.softcap,
                        .hidden = a_.hidden,
                        .undefined = a_.undefined});
  }

  void values(int64_t rows, int64_t n, float* y, int64_t y_row) const {
    GemmCall g{
        .m = rows, .n = a_.value_size, .k = n, .a = scratch_ + at_.scores, .a_row = at_.row, .c = y, .c_row = y_row};
    if (!at_.packs || n == 0) {
      g.b = v_, g.b_row = a_.v_step[2], g.b_col = a_.v_step[3];
      return gemm(g, scratch_bytes());
    }
    for (int64_t j = 0; j < n; j += kValueRows) {
      g.k = std::min(kValueRows, a_.keys - j);
      g.a = scratch_ + at_.scores + j;
      g.accumulate = j > 0;
      g.packed_b = packed_values(j);
      gemm(g, scratch_bytes());
    }
  }

  void scale_row(float* y, float factor) const {
    for (int64_t i = 0; i < a_.value_size; ++i) y[i] = factor == 0 ? 0 : y[i] * factor;
  }

  const Attention& a_;
  const Layout& at_;
  float* scratch_;
  int64_t batch_, length_ = a_.keys, first_ = 0;
  const float *k_, *v_;
};

}  // namespace

int64_t attention_scratch_bytes(const Attention& a) noexcept {
  constexpr int64_t kMaximum = int64_t{1} << 40;
  if (a.keys > kMaximum || a.size > kMaximum || a.value_size > kMaximum) return -1;
  int64_t floats = 0;  // upper bound for the padded K and V and one block
  if (__builtin_mul_overflow(a.keys + kMaxBlock + kAlign, a.size + a.value_size + 2 * kMaxBlock + 64, &floats) ||
      floats > (int64_t{1} << 56)) {
    return -1;
  }
  return (Layout(a).total + kAlign) * static_cast<int64_t>(sizeof(float));
}

void attention(const Attention& a, int64_t begin, int64_t end, void* scratch) noexcept {
  const Layout layout(a);
  const int64_t shared = a.heads / std::max<int64_t>(a.groups, 1);
  for (int64_t unit = begin; unit < end && !stop_requested(); ++unit) {
    const int64_t g = unit % a.groups;
    const Group group(a, layout, aligned(scratch), unit / a.groups, g);
    group.heads(g * shared, shared);
  }
}

namespace {

void rotate_row(const RotaryRow& row) { FRAZIL_DISPATCH(rows_rotary(row)); }

float at(const float* p) {
  float x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

void rotate_strided(const Rotary& r, const float* const in[3], float* y) {
  const auto [x, cosine, sine] = std::tie(in[0], in[1], in[2]);
  for (int64_t i = 0; i < r.half; ++i) {
    const int64_t far = i + r.half, table = r.half_tables ? i : far;
    const float first = at(x + i * r.last[0]), second = at(x + far * r.last[0]);
    y[i] = first * at(cosine + i * r.last[1]) + -second * at(sine + i * r.last[2]);
    y[far] = second * at(cosine + table * r.last[1]) + first * at(sine + table * r.last[2]);
  }
}

}  // namespace

void rotary(const Rotary& r, int64_t begin, int64_t end) noexcept {
  const bool plain = r.last[0] == 1 && r.last[1] == 1 && r.last[2] == 1;
  int64_t left = begin, index[Rotary::kMaxAxes] = {};
  const float* in[3] = {r.x, r.cosine, r.sine};
  for (int i = 0; i < r.axes && left > 0; left /= r.extents[i++]) {
    index[i] = left % r.extents[i];
    for (int k = 0; k < 3; ++k) in[k] += r.steps[k][i] * index[i];
  }
  PollThrottle throttle;
  for (int64_t row = begin; row < end && !throttle.stop(2 * r.half); ++row) {
    float* const y = r.y + row * 2 * r.half;
    if (plain)
      rotate_row({r.half, in[0], in[1], in[2], r.half_tables ? 0 : r.half, y});
    else
      rotate_strided(r, in, y);
    for (int i = 0; i < r.axes; ++i) {
      for (int k = 0; k < 3; ++k) in[k] += r.steps[k][i];
      if (++index[i] < r.extents[i]) break;
      for (int k = 0; k < 3; ++k) in[k] -= r.steps[k][i] * r.extents[i];
      index[i] = 0;
    }
  }
}

}  // namespace frazil::kernel
