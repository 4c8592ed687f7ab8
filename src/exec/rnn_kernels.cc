#include <cstring>

#include "exec/codes.h"
#include "kernel/gemm.h"
#include "kernel/rnn.h"

namespace frazil {
namespace {

float* f32(std::byte* p) { return reinterpret_cast<float*>(p); }

/// Operands as in ONNX: X, W, R, B, sequence_lens, initial_h, initial_c, P; results Y, Y_h, Y_c.
/// Weights have a leading direction axis. Y is [T, D, B, H], or [B, T, D, H] when the batch comes first.
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

/// Rows [first, first + rows) of a constant matrix [.., cols], packed once and kept.
Result<const std::byte*> pack_rows(PrepareCx& cx, std::size_t operand, std::int64_t first, std::int64_t rows,
                                   std::int64_t cols) {
  const auto size = static_cast<std::size_t>(rows * cols) * sizeof(float);
  const std::byte* weight = cx.constants[operand] + first * cols * static_cast<std::int64_t>(sizeof(float));
  const auto bytes = static_cast<std::size_t>(kernel::gemm_packed_b_bytes(cols, rows));
  const std::string format = fmt::format("gemm {} {} 1 {}", cols, rows, cols);
  return cx.packs.get({weight, size}, format, bytes, [&](std::byte* to) {
    kernel::gemm_pack_b(cols, rows, reinterpret_cast<const float*>(weight), 1, cols, to);
  });
}

Status pack_weights(PrepareCx& cx, RnnState& s) {
  const kernel::Rnn& p = s.rnn;
  const std::int64_t h = p.hidden, gates = s.gates * h, joint = s.gates == 3 && !p.linear_before_reset ? 2 * h : gates;
  if (cx.constants[1] == nullptr || cx.constants[2] == nullptr || h == 0 || p.inputs == 0) return {};
  for (int d = 0; d < s.directions; ++d) {
    FRAZIL_TRY(s.packed[d].w, pack_rows(cx, 1, d * gates, gates, p.inputs));
    FRAZIL_TRY(s.packed[d].r, pack_rows(cx, 2, d * gates, joint, h));
    if (joint == gates) continue;
    FRAZIL_TRY(s.packed[d].rh, pack_rows(cx, 2, d * gates + joint, gates - joint, h));
  }
  return {};
}

template <int Gates>
Status prepare_rnn(PrepareCx& cx, void* state) {
  auto& s = *new (state) RnnState{};
  s.gates = Gates;
  s.directions = cx.step.ints[0] == 2 ? 2 : 1;
  s.reverse_first = cx.step.ints[0] == 1;
  s.batch_first = cx.step.ints[1] != 0;
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
  if (Gates == 3) p.linear_before_reset = cx.step.ints[2] != 0;
  p.clip = cx.step.reals[0];
  FRAZIL_CHECK(pack_weights(cx, s));
  const bool packed = s.packed[0].r != nullptr;
  cx.scratch_bytes =
      static_cast<std::size_t>(Gates == 4 ? kernel::lstm_scratch_bytes(p.steps, p.batch, p.inputs, p.hidden, packed)
                                          : kernel::gru_scratch_bytes(p.steps, p.batch, p.inputs, p.hidden, packed));
  return {};
}

/// States are [D, B, H]; batch first makes them [B, D, H], which for one direction is the same.
template <int Gates>
void run_rnn(const RunCx& cx, const void* state) {
  const auto& s = *static_cast<const RnnState*>(state);
  for (int d = 0; d < s.directions; ++d) {
    kernel::Rnn p = s.rnn;
    const std::int64_t h = p.hidden, g = s.gates * h, held = p.batch * h;
    p.x = f32(cx.in[0]);
    p.w = f32(cx.in[1]) + d * g * p.inputs;
    p.r = f32(cx.in[2]) + d * g * h;
    p.packed_w = s.packed[d].w, p.packed_r = s.packed[d].r, p.packed_rh = s.packed[d].rh;
    if (s.given[3]) {
      p.bias_w = f32(cx.in[3]) + d * 2 * g;
      p.bias_r = p.bias_w + g;
    }
    if (s.given[4]) p.lengths = reinterpret_cast<const std::int32_t*>(cx.in[4]);
    if (s.given[5]) p.h0 = f32(cx.in[5]) + d * held;
    if (s.given[6]) p.c0 = f32(cx.in[6]) + d * held;
    if (s.given[7]) p.peephole = f32(cx.in[7]) + d * 3 * h;
    p.reverse = d == 1 || s.reverse_first;
    p.y = s.wanted[0] ? f32(cx.out[0]) + d * s.y_direction : nullptr;
    p.y_h = s.wanted[1] ? f32(cx.out[1]) + d * held : nullptr;
    p.y_c = s.wanted[2] ? f32(cx.out[2]) + d * held : nullptr;
    if (Gates == 4)
      kernel::lstm(p, cx.scratch);
    else
      kernel::gru(p, cx.scratch);
  }
}

}  // namespace

const KernelCode kLstmCode{sizeof(RnnState), &prepare_rnn<4>, &run_rnn<4>};
const KernelCode kGruCode{sizeof(RnnState), &prepare_rnn<3>, &run_rnn<3>};

}  // namespace frazil
