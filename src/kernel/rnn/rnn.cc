#include "kernel/rnn/rnn.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/thread/poll_throttle.h"
#include "base/value/extents.h"
#include "kernel/contract/float_gemm.h"
#include "kernel/row/rows.simd.h"
#include "kernel/simd/aligned.h"
#include "kernel/simd/isa.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

decltype(&isa_base::rows_lstm_cell) lstm_cell() { FRAZIL_DISPATCH(rows_lstm_cell); }
decltype(&isa_base::rows_gru_gates) gru_gates() { FRAZIL_DISPATCH(rows_gru_gates); }
decltype(&isa_base::rows_gru_cell) gru_cell() { FRAZIL_DISPATCH(rows_gru_cell); }

struct Cells {
  decltype(&isa_base::rows_lstm_cell) lstm = lstm_cell();
  decltype(&isa_base::rows_gru_gates) gru_gates = kernel::gru_gates();
  decltype(&isa_base::rows_gru_cell) gru = gru_cell();
};

int64_t packed_bytes(int64_t k, int64_t n) { return static_cast<int64_t>(packed_b_bytes(Elem::f32, k, n)); }

int64_t product_bytes(int64_t m, int64_t n, int64_t k) {
  return static_cast<int64_t>(float_gemm_scratch(Elem::f32, m, n, k));
}

/// The arrays of a call in scratch memory. Input projections are computed for `chunk` steps at a time.
struct Work {
  int64_t gates, chunk;
  bool pack_r;  ///< pack R into the scratch memory
  float *projected, *bias, *bias_r, *h, *c, *recurrent, *update, *reset;
  void *packed_r, *packed_rh, *gemm;
  int64_t bytes;

  /// Lays out the arrays for `rows` sequences. Choices that bits depend on use the size of the whole batch.
  Work(int64_t gate_count, int64_t steps, int64_t batch, int64_t rows, int64_t inputs, int64_t hidden, bool packed,
       void* base) {
    constexpr int64_t kRowsAtOnce = 512, kPackRows = 4, kPackSteps = 24;
    gates = gate_count * hidden;
    chunk = std::clamp<int64_t>(kRowsAtOnce / std::max<int64_t>(batch, 1), 1, std::max<int64_t>(steps, 1));
    pack_r = !packed && ((batch > kPackRows && steps > 2) || steps >= kPackSteps);
    const bool lstm = gate_count == 4;
    Carver carver(base);
    projected = carver.take<float>(chunk * rows * gates);
    bias = carver.take<float>(gates);
    bias_r = carver.take<float>(lstm ? 0 : gates);
    h = carver.take<float>(rows * hidden);
    c = carver.take<float>(lstm ? rows * hidden : 0);
    recurrent = carver.take<float>(lstm ? 0 : rows * gates);
    update = carver.take<float>(lstm ? 0 : rows * hidden);
    reset = carver.take<float>(lstm ? 0 : rows * hidden);
    packed_r = carver.take_bytes(pack_r ? packed_bytes(hidden, gates) : 0);
    packed_rh = carver.take_bytes(pack_r && !lstm ? packed_bytes(hidden, hidden) : 0);
    gemm = carver.take_bytes(std::max(product_bytes(chunk * rows, gates, inputs), product_bytes(rows, gates, hidden)));
    bytes = carver.used() + kLineBytes;
  }
};

void copy_or_zero(float* to, const float* from, int64_t count) {
  if (from != nullptr && count > 0) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
  } else {
    std::fill_n(to, count, 0.f);
  }
}

/// Returns the call with its own sequences as the whole batch.
Rnn part_of(const Rnn& rnn) {
  Rnn p = rnn;
  const int64_t at = rnn.first, held = at * rnn.hidden;
  p.batch = rnn.count < 0 ? rnn.batch - at : rnn.count;
  if (p.x != nullptr) p.x += at * p.x_batch;
  if (p.h0 != nullptr) p.h0 += held;
  if (p.c0 != nullptr) p.c0 += held;
  if (p.lengths != nullptr) p.lengths += at;
  if (p.y != nullptr) p.y += at * p.y_batch;
  if (p.y_h != nullptr) p.y_h += held;
  if (p.y_c != nullptr) p.y_c += held;
  return p;
}

struct Sequence {
  const Rnn p;          ///< the call, for the sequences to compute
  const int64_t whole;  ///< size of the whole batch
  bool ragged = false;  ///< some sequence of the whole batch is shorter than `steps`

  explicit Sequence(const Rnn& rnn) : p(part_of(rnn)), whole(rnn.batch) {
    for (int64_t b = 0; b < whole && rnn.lengths != nullptr; ++b) ragged = ragged || clamped(rnn.lengths[b]) != p.steps;
  }
  int64_t length(int64_t b) const { return p.lengths == nullptr ? p.steps : clamped(p.lengths[b]); }
  int64_t clamped(int64_t length) const { return std::clamp<int64_t>(length, 0, p.steps); }
  /// Returns the number of leading sequences after which all have ended before `step`. If lengths decrease, no sequence
  /// among them has ended.
  int64_t active(int64_t step) const {
    int64_t count = p.batch;
    while (count > 0 && step >= length(count - 1)) --count;
    return count;
  }
  int64_t time(int64_t b, int64_t step) const { return p.reverse ? length(b) - 1 - step : step; }
};

/// Computes the first `rows` rows, with the bits of a product of g.m rows.
void project(const GemmCall& g, int64_t rows, const Work& work) { float_gemm(Elem::f32, false, g, 0, rows, work.gemm); }

/// Computes projected[slot(step), b] = x * w^T + bias for steps [begin, end), with x at the step's time. Leaves the
/// steps after the end of a sequence undefined. If lengths differ, a product has the steps of one sequence, or the
/// sequences of one step, whichever are more.
void project(const Sequence& s, const Work& work, int64_t begin, int64_t end) {
  const Rnn& p = s.p;
  GemmCall g;
  g.n = work.gates, g.k = p.inputs;
  g.b = p.w, g.b_row = 1, g.b_col = p.inputs, g.packed_b = p.packed_w;
  g.bias = work.bias;
  if (s.ragged && (p.reverse || work.chunk >= s.whole)) {
    for (int64_t b = 0; b < p.batch; ++b) {
      g.m = std::min(s.length(b), end) - begin;
      if (g.m <= 0) continue;
      g.a = p.x + s.time(b, begin) * p.x_step + b * p.x_batch;
      g.a_row = p.reverse ? -p.x_step : p.x_step;
      g.c = work.projected + b * work.gates;
      g.c_row = p.batch * work.gates;
      project(g, g.m, work);
    }
    return;
  }
  if (s.ragged) {
    g.m = s.whole, g.a_row = p.x_batch, g.c_row = work.gates;
    for (int64_t step = begin; step < end; ++step) {
      g.a = p.x + step * p.x_step;
      g.c = work.projected + (step - begin) * p.batch * work.gates;
      project(g, s.active(step), work);
    }
    return;
  }
  const int64_t first = p.reverse ? p.steps - end : begin;
  const float* const x = p.x + first * p.x_step;
  g.m = (end - begin) * s.whole;
  if (p.x_step == p.batch * p.x_batch || p.batch == 1 || end - begin == 1) {
    g.a = x, g.a_row = p.batch == 1 ? p.x_step : p.x_batch;
    g.c = work.projected, g.c_row = work.gates;
    project(g, (end - begin) * p.batch, work);
    return;
  }
  for (int64_t b = 0; b < p.batch; ++b) {
    g.a = x + b * p.x_batch, g.a_row = p.x_step;
    g.c = work.projected + b * work.gates, g.c_row = p.batch * work.gates;
    project(g, end - begin, work);
  }
}

/// Returns the projections of all sequences at one step of the chunk [begin, end).
float* projected_at(const Sequence& s, const Work& work, int64_t step, int64_t begin, int64_t end) {
  const int64_t slot = s.p.reverse && !s.ragged ? end - 1 - step : step - begin;
  return work.projected + slot * s.p.batch * work.gates;
}

/// Computes out[b, rows of r] (+)= state[b, hidden] * r^T + bias for the first `rows` sequences. Every second step runs
/// backwards, as every step reads all of r.
void recur(const Sequence& s, const Work& work, int64_t step, int64_t rows, const float* state, const float* r,
           int64_t r_rows, const void* packed, float* out, bool accumulate, const float* bias = nullptr) {
  const Rnn& p = s.p;
  GemmCall g;
  g.m = s.whole, g.n = r_rows, g.k = p.hidden;
  g.a = state, g.a_row = p.hidden;
  g.b = r, g.b_row = 1, g.b_col = p.hidden;
  g.c = out, g.c_row = work.gates;
  g.accumulate = accumulate;
  g.bias = bias;
  g.backwards = step % 2 != 0;
  g.packed_b = packed;
  float_gemm(Elem::f32, false, g, 0, rows, work.gemm);
}

/// The packed weights of a call: the caller's, those packed here, or none.
struct Packed {
  const void *r = nullptr, *rh = nullptr;

  Packed(const Rnn& p, const Work& work, int64_t first_gates) : r(p.packed_r), rh(p.packed_rh) {
    if (!work.pack_r) return;
    const int64_t n = p.hidden, rest = work.gates - first_gates * n;
    pack_b(Elem::f32, n, first_gates * n, p.r, 1, n, work.packed_r);
    if (rest > 0) pack_b(Elem::f32, n, rest, p.r + first_gates * n * n, 1, n, work.packed_rh);
    r = work.packed_r;
    rh = work.packed_rh;
  }
};

void emit(const Sequence& s, const Work& work, int64_t b, int64_t step) {
  const Rnn& p = s.p;
  if (p.y == nullptr || p.hidden == 0) return;
  std::memcpy(p.y + s.time(b, step) * p.y_step + b * p.y_batch, work.h + b * p.hidden,
              static_cast<std::size_t>(p.hidden) * sizeof(float));
}

void finish(const Sequence& s, const Work& work) {
  const Rnn& p = s.p;
  for (int64_t b = 0; b < p.batch && p.y != nullptr; ++b)
    for (int64_t t = s.length(b); t < p.steps; ++t) std::fill_n(p.y + t * p.y_step + b * p.y_batch, p.hidden, 0.f);
  const auto bytes = static_cast<std::size_t>(p.batch * p.hidden) * sizeof(float);
  if (p.y_h != nullptr && bytes != 0) std::memcpy(p.y_h, work.h, bytes);
  if (p.y_c != nullptr && work.gates == 4 * p.hidden && bytes != 0) std::memcpy(p.y_c, work.c, bytes);
}

/// Adds both biases of a gate to the bias of its projection. For gates from `joint` on, the recurrence adds the
/// recurrent bias.
void join_biases(const Rnn& p, const Work& work, int64_t joint) {
  for (int64_t i = 0; i < work.gates; ++i) {
    const float w = p.bias_w != nullptr ? p.bias_w[i] : 0.f, r = p.bias_r != nullptr ? p.bias_r[i] : 0.f;
    work.bias[i] = i < joint ? w + r : w;
    if (joint < work.gates) work.bias_r[i] = i < joint ? 0.f : r;
  }
}

void lstm_step(const Sequence& s, const Work& work, const Packed& packed, const Cells& cells, int64_t step,
               float* gates) {
  const Rnn& p = s.p;
  const int64_t active = s.active(step);
  recur(s, work, step, active, work.h, p.r, work.gates, packed.r, gates, true);
  const bool peep = p.peephole != nullptr;
  const float* const peephole[3] = {p.peephole, peep ? p.peephole + p.hidden : nullptr,
                                    peep ? p.peephole + 2 * p.hidden : nullptr};
  for (int64_t b = 0; b < active; ++b) {
    if (step >= s.length(b)) continue;
    const float* const row = gates + b * work.gates;
    const float* const four[4] = {row, row + p.hidden, row + 2 * p.hidden, row + 3 * p.hidden};
    cells.lstm(p.hidden, four, peephole, p.clip, work.c + b * p.hidden, work.h + b * p.hidden);
    emit(s, work, b, step);
  }
}

void gru_step(const Sequence& s, const Work& work, const Packed& packed, const Cells& cells, int64_t step,
              const float* projected) {
  const Rnn& p = s.p;
  const int64_t n = p.hidden;
  const bool linear = p.linear_before_reset;
  const int64_t active = s.active(step);
  recur(s, work, step, active, work.h, p.r, linear ? 3 * n : 2 * n, packed.r, work.recurrent, false, work.bias_r);
  for (int64_t b = 0; b < active; ++b) {
    const float *const x = projected + b * work.gates, *const r = work.recurrent + b * work.gates;
    const float* const x_gates[2] = {x, x + n};
    const float* const r_gates[2] = {r, r + n};
    float* const reset = work.reset + b * n;
    cells.gru_gates(n, x_gates, r_gates, p.clip, work.update + b * n, reset);
    if (!linear)
      for (int64_t i = 0; i < n; ++i) reset[i] *= work.h[b * n + i];
  }
  const float* const rh = p.r == nullptr ? nullptr : p.r + 2 * n * n;
  if (!linear) recur(s, work, step, active, work.reset, rh, n, packed.rh, work.recurrent + 2 * n, false);
  for (int64_t b = 0; b < active; ++b) {
    if (step >= s.length(b)) continue;
    cells.gru(n, projected + b * work.gates + 2 * n, work.recurrent + b * work.gates + 2 * n,
              linear ? work.reset + b * n : nullptr, work.update + b * n, p.clip, work.h + b * n);
    emit(s, work, b, step);
  }
}

}  // namespace

int64_t lstm_scratch_bytes(int64_t steps, int64_t batch, int64_t inputs, int64_t hidden, bool packed) noexcept {
  return Work(4, steps, batch, batch, inputs, hidden, packed, nullptr).bytes;
}

int64_t gru_scratch_bytes(int64_t steps, int64_t batch, int64_t inputs, int64_t hidden, bool packed) noexcept {
  return Work(3, steps, batch, batch, inputs, hidden, packed, nullptr).bytes;
}

namespace {

/// Calls step(index, projections of the step) for all steps.
template <class F>
void for_steps(const Sequence& s, const Work& work, F step) {
  for (int64_t begin = 0; begin < s.p.steps && !stop_requested(); begin += work.chunk) {
    const int64_t end = std::min(s.p.steps, begin + work.chunk);
    project(s, work, begin, end);
    for (int64_t at = begin; at < end && !stop_requested(); ++at) step(at, projected_at(s, work, at, begin, end));
  }
}

}  // namespace

void lstm(const Rnn& rnn, void* scratch) noexcept {
  const Sequence s(rnn);
  const Rnn& p = s.p;
  const Work work(4, p.steps, s.whole, p.batch, p.inputs, p.hidden, p.packed_r != nullptr, scratch);
  const Cells cells;
  copy_or_zero(work.h, p.h0, p.batch * p.hidden);
  copy_or_zero(work.c, p.c0, p.batch * p.hidden);
  join_biases(p, work, work.gates);
  const Packed packed(p, work, 4);
  for_steps(s, work, [&](int64_t step, float* gates) { lstm_step(s, work, packed, cells, step, gates); });
  finish(s, work);
}

void gru(const Rnn& rnn, void* scratch) noexcept {
  const Sequence s(rnn);
  const Rnn& p = s.p;
  const Work work(3, p.steps, s.whole, p.batch, p.inputs, p.hidden, p.packed_r != nullptr, scratch);
  const Cells cells;
  const bool linear = p.linear_before_reset;
  copy_or_zero(work.h, p.h0, p.batch * p.hidden);
  join_biases(p, work, linear ? 2 * p.hidden : work.gates);
  if (!linear) std::fill_n(work.bias_r, work.gates, 0.f);
  const Packed packed(p, work, linear ? 3 : 2);
  for_steps(s, work, [&](int64_t step, float* gates) { gru_step(s, work, packed, cells, step, gates); });
  finish(s, work);
}

}  // namespace frazil::kernel
