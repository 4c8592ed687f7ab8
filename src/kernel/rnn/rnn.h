#pragma once

#include <cstdint>

namespace frazil::kernel {

/// One direction of an LSTM or GRU with the default activations. Gates are in ONNX's order (LSTM: i o f c, GRU: z r h);
/// G is their number, 4 or 3. Matrices are contiguous, and x is contiguous in its last axis. Strides are in elements.
struct Rnn {
  std::int64_t steps = 0, batch = 0, inputs = 0, hidden = 0;
  const float* x = nullptr;  ///< [steps, batch, inputs]
  std::int64_t x_step = 0, x_batch = 0;
  const float* w = nullptr;  ///< [G*hidden, inputs]
  const float* r = nullptr;  ///< [G*hidden, hidden]
  /// w and r in gemm's packed format. For a GRU that is not linear before reset, r has two parts: z and r, then h.
  /// Either all or none are set; if set, w and r are not read.
  const void *packed_w = nullptr, *packed_r = nullptr, *packed_rh = nullptr;
  const float* bias_w = nullptr;          ///< [G*hidden] or null
  const float* bias_r = nullptr;          ///< [G*hidden] or null
  const float* h0 = nullptr;              ///< [batch, hidden]; null is zero
  const float* c0 = nullptr;              ///< [batch, hidden]; null is zero; LSTM only
  const float* peephole = nullptr;        ///< [3*hidden], order i o f, or null; LSTM only
  const std::int32_t* lengths = nullptr;  ///< [batch], clamped to [0, steps]; null: all are `steps`
  bool reverse = false;                   ///< each sequence starts at its own end
  bool linear_before_reset = false;       ///< GRU only
  float clip = 0;                         ///< bound on the activations' arguments; <= 0: none
  float* y = nullptr;                     ///< [steps, batch, hidden] or null; 0 after the end of a sequence
  std::int64_t y_step = 0, y_batch = 0;
  float* y_h = nullptr;  ///< [batch, hidden] or null; may be h0
  float* y_c = nullptr;  ///< [batch, hidden] or null; may be c0; LSTM only
  /// The sequences of the batch that this call computes, with the same bits as a call for all of them. Several threads
  /// can thus share a batch.
  std::int64_t first = 0, count = -1;  ///< count < 0: all from `first` on
};

/// Returns the scratch memory in bytes for these extents. A call for a part of the batch, or with packed weights, uses
/// less.
std::int64_t lstm_scratch_bytes(std::int64_t steps, std::int64_t batch, std::int64_t inputs, std::int64_t hidden,
                                bool packed = false) noexcept;
void lstm(const Rnn& p, void* scratch) noexcept;

std::int64_t gru_scratch_bytes(std::int64_t steps, std::int64_t batch, std::int64_t inputs, std::int64_t hidden,
                               bool packed = false) noexcept;
void gru(const Rnn& p, void* scratch) noexcept;

}  // namespace frazil::kernel
