#include <cstring>

#include "code/entries.h"
#include "kernel/contract/float_gemm.h"
#include "kernel/rnn/rnn.h"
#include "kernel/tuning/tuning.h"

namespace frazil::code {
namespace {

/// The state of an LSTM or GRU. Operands are as in ONNX: X, W, R, B, sequence_lens, initial_h, initial_c, P; results
/// are Y, Y_h, Y_c. Weights have a leading direction axis. Y is [T, D, B, H], or [B, T, D, H] if the batch comes first.
struct RnnState {
  kernel::Rnn rnn;
  int gates = 4, directions = 1;
  bool reverse_first = false, batch_first = false;
  bool given[8] = {}, wanted[3] = {};
  std::int64_t y_direction = 0;
  struct Packed {
    const std::byte *w = nullptr, *r = nullptr, *rh = nullptr;
  } packed[2];  ///< per direction
};

/// Sequences of a batch that are computed together.
constexpr std::int64_t kSequencesTogether = 4;

/// Returns rows [first, first + rows) of a constant matrix [.., cols] in packed form. They are packed once and kept.
Result<const std::byte*> pack_rows(Prepare& cx, std::size_t operand, std::int64_t first, std::int64_t rows,
                                   std::int64_t cols) {
  const std::size_t row = static_cast<std::size_t>(cols) * sizeof(float);
  const WeightRef weight =
      cx.weights[operand].part(static_cast<std::size_t>(first) * row, static_cast<std::size_t>(rows) * row);
  const auto bytes = kernel::packed_b_bytes(Elem::f32, cols, rows);
  const PackedMatrices format{Elem::f32, cols, rows, 1, cols};
  return cx.packed.get(weight, format, bytes,
                       [&](std::byte* to) { kernel::pack_b(Elem::f32, cols, rows, weight.bytes.data(), 1, cols, to); });
}

Status pack_weights(Prepare& cx, RnnState& s) {
  const kernel::Rnn& p = s.rnn;
  const std::int64_t h = p.hidden, gates = s.gates * h, joint = s.gates == 3 && !p.linear_before_reset ? 2 * h : gates;
  if (!cx.weights[1] || !cx.weights[2] || h == 0 || p.inputs == 0) return {};
  for (int d = 0; d < s.directions; ++d) {
    FRAZIL_TRY(s.packed[d].w, pack_rows(cx, 1, d * gates, gates, p.inputs));
    FRAZIL_TRY(s.packed[d].r, pack_rows(cx, 2, d * gates, joint, h));
    if (joint == gates) continue;
    FRAZIL_TRY(s.packed[d].rh, pack_rows(cx, 2, d * gates + joint, gates - joint, h));
  }
  return {};
}

template <class P>
constexpr int gates_of() {
  return std::is_same_v<P, params::Lstm> ? 4 : 3;
}

template <class P>
Status prepare_rnn(Prepare& cx, const P& how, RnnState& s) {
  s.gates = gates_of<P>();
  s.directions = how.direction == params::Direction::both ? 2 : 1;
  s.reverse_first = how.direction == params::Direction::reverse;
  s.batch_first = how.batch_first;
  for (std::size_t k = 0; k < cx.in.size(); ++k) s.given[k] = cx.in[k].given;
  for (std::size_t k = 0; k < cx.out.size(); ++k) s.wanted[k] = cx.out[k].given;
  const auto &x = cx.in[0].dims, &r = cx.in[2].dims;
  kernel::Rnn& p = s.rnn;
  p.steps = x[s.batch_first ? 1 : 0];
  p.batch = x[s.batch_first ? 0 : 1];
  p.inputs = x[2];
  p.hidden = r[2];
  p.x_step = s.batch_first ? p.inputs : p.batch * p.inputs;
  p.x_batch = s.batch_first ? p.steps * p.inputs : p.inputs;
  p.y_step = s.batch_first ? s.directions * p.hidden : s.directions * p.batch * p.hidden;
  p.y_batch = s.batch_first ? p.steps * s.directions * p.hidden : p.hidden;
  s.y_direction = s.batch_first ? p.hidden : p.batch * p.hidden;
  if constexpr (gates_of<P>() == 3) p.linear_before_reset = how.linear_before_reset;
  p.clip = how.clip;
  FRAZIL_CHECK(pack_weights(cx, s));
  const bool packed = s.packed[0].r != nullptr;
  // A unit is a sequence. Several sequences at a time share the reads of R.
  cx.units = s.directions * std::max<std::int64_t>(p.batch, 1);
  cx.min_units = std::clamp<std::int64_t>(p.batch / 2, 1, kSequencesTogether);
  const double step = kernel::product_nanoseconds(kernel::tuning(), &kernel::Tuning::product, p.batch,
                                                  s.gates * p.hidden, p.inputs + p.hidden, sizeof(float));
  cx.nanoseconds = step * static_cast<double>(p.steps * s.directions);
  cx.scratch_bytes = static_cast<std::size_t>(
      gates_of<P>() == 4 ? kernel::lstm_scratch_bytes(p.steps, p.batch, p.inputs, p.hidden, packed)
                         : kernel::gru_scratch_bytes(p.steps, p.batch, p.inputs, p.hidden, packed));
  return {};
}

/// Computes units [begin, end). States are [D, B, H], or [B, D, H] with the batch first, which for one direction is the
/// same.
template <class P>
void run_rnn(const Call& cx, const Worker& worker, const RnnState& s, std::int64_t begin, std::int64_t end) {
  const std::int64_t sequences = std::max<std::int64_t>(s.rnn.batch, 1);
  for (std::int64_t d = begin / sequences; d * sequences < end; ++d) {
    kernel::Rnn p = s.rnn;
    p.first = std::max<std::int64_t>(begin - d * sequences, 0);
    p.count = std::min(std::min(end - d * sequences, sequences) - p.first, p.batch);
    const std::int64_t h = p.hidden, g = s.gates * h, held = p.batch * h;
    p.x = as(cx.in[0]);
    p.w = as(cx.in[1]) + d * g * p.inputs;
    p.r = as(cx.in[2]) + d * g * h;
    p.packed_w = s.packed[d].w, p.packed_r = s.packed[d].r, p.packed_rh = s.packed[d].rh;
    if (s.given[3]) {
      p.bias_w = as(cx.in[3]) + d * 2 * g;
      p.bias_r = p.bias_w + g;
    }
    if (s.given[4]) p.lengths = as<const std::int32_t>(cx.in[4]);
    if (s.given[5]) p.h0 = as(cx.in[5]) + d * held;
    if (s.given[6]) p.c0 = as(cx.in[6]) + d * held;
    if (s.given[7]) p.peephole = as(cx.in[7]) + d * 3 * h;
    p.reverse = d == 1 || s.reverse_first;
    p.y = s.wanted[0] ? as(cx.out[0]) + d * s.y_direction : nullptr;
    p.y_h = s.wanted[1] ? as(cx.out[1]) + d * held : nullptr;
    p.y_c = s.wanted[2] ? as(cx.out[2]) + d * held : nullptr;
    if constexpr (gates_of<P>() == 4)
      kernel::lstm(p, worker.scratch);
    else
      kernel::gru(p, worker.scratch);
  }
}

}  // namespace

KernelEntry entry_of(const params::Lstm& p) {
  return make_entry<params::Lstm, RnnState, prepare_rnn<params::Lstm>, run_rnn<params::Lstm>>(p);
}
KernelEntry entry_of(const params::Gru& p) {
  return make_entry<params::Gru, RnnState, prepare_rnn<params::Gru>, run_rnn<params::Gru>>(p);
}

}  // namespace frazil::code
