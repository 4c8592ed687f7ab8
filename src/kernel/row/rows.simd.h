#pragma once

#include "kernel/attention/attention.h"
#include "kernel/row/rows.h"
#include "kernel/simd/isa_list.h"

namespace frazil::kernel {

/// The scores of one query, which rows_attention turns into probabilities up to a factor.
struct AttentionRow {
  float* x;
  std::int64_t seen, end;    ///< number of visible keys; x is 0 from there to `end`
  const float* bias;         ///< added to the scores; may be null
  const std::uint8_t* keep;  ///< false: the score is `hidden`; may be null
  bool bias_last;            ///< bias is added after `hidden` is applied
  float softcap, hidden;
  Attention::Undefined undefined;
};

/// One row of Rotary. The tables of the second half are `table` elements after those of the first.
struct RotaryRow {
  std::int64_t half;
  const float *x, *cosine, *sine;
  std::int64_t table;
  float* y;
};

}  // namespace frazil::kernel

// The functions of rows.simd.cc for each instruction set; contracts as in rows.h.
#define FRAZIL_X(ns)                                                                                              \
  namespace frazil::kernel::ns {                                                                                  \
  void rows_softmax(const Rows& r) noexcept;                                                                      \
  void rows_log_softmax(const Rows& r) noexcept;                                                                  \
  void rows_layer_norm(const Rows& r, const float* scale, const float* bias, float epsilon, float* mean,          \
                       float* inv_std) noexcept;                                                                  \
  void rows_rms_norm(const Rows& r, const float* scale, float epsilon, float* inv_rms) noexcept;                  \
  /* Returns the row's factor, as softmax() in attention.cc. */                                                   \
  float rows_attention(const AttentionRow& r) noexcept;                                                           \
  void rows_rotary(const RotaryRow& r) noexcept;                                                                  \
  /* Gate arithmetic of rnn.cc, over n elements. */                                                               \
  void rows_lstm_cell(std::int64_t n, const float* const gates[4], const float* const peephole[3], float clip,    \
                      float* c, float* h) noexcept;                                                               \
  void rows_gru_gates(std::int64_t n, const float* const x[2], const float* const h_gates[2], float clip, float* z, \
                      float* r) noexcept;                                                                         \
  void rows_gru_cell(std::int64_t n, const float* x, const float* recurrent, const float* reset, const float* z,  \
                     float clip, float* h) noexcept;                                                              \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X
