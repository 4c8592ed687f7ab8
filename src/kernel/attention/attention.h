#pragma once

#include <cstdint>

namespace frazil::kernel {

/// Attention: y[b, i, h, :] = sum over j of softmax(q[b, h, i, :] k[b, g, j, :]^T)[j] v[b, g, j, :], with g = h /
/// (heads / groups). The scores of only one block of queries exist at a time. Strides are in elements and arbitrary, in
/// the order batch, head, position, feature. Those of bias and keep are in the order batch, head, query, key, and 0
/// where the operand repeats. y is dense. A hidden key contributes nothing, even if its value is not finite. Numeric
/// class: reassociated.
struct Attention {
  std::int64_t batch = 0, heads = 0, groups = 1, queries = 0, keys = 0, size = 0, value_size = 0;
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  std::int64_t q_step[4] = {}, k_step[4] = {}, v_step[4] = {};
  const float* bias = nullptr;         ///< added to the scores; may be null
  const std::uint8_t* keep = nullptr;  ///< false: the score is `hidden`; may be null
  std::int64_t bias_step[4] = {}, keep_step[4] = {};
  const void* first = nullptr;    ///< i64: the position of query 0 in item b; null: 0
  const void* lengths = nullptr;  ///< i64: number of keys of item b; null: all
  std::int64_t first_step = 0, lengths_step = 0;
  bool bias_last = false;  ///< bias is also added to hidden scores
  bool causal = false;     ///< query i sees keys up to first + i
  float scale = 1, softcap = 0, hidden = 0;
  enum Undefined : std::int64_t { is_nan, zero_if_all_hidden, is_zero };
  Undefined undefined = is_nan;  ///< result of a row without visible keys
  float* y = nullptr;
};

/// Returns the scratch memory in bytes, or -1 if it does not fit in 63 bits.
std::int64_t attention_scratch_bytes(const Attention& a) noexcept;
/// Computes units [begin, end) of batch * groups. A unit is the heads of one group in one batch item. Units are
/// independent.
void attention(const Attention& a, std::int64_t begin, std::int64_t end, void* scratch) noexcept;

/// Rotary embedding: y[..., i] = x[..., i] * cosine[..., i] + r[..., i] * sine[..., i], where r is the negated second
/// half of x followed by its first half. Strides are in elements and arbitrary, 0 where an operand repeats. y is dense.
/// Numeric class: exact.
struct Rotary {
  static constexpr int kMaxAxes = 8;
  int axes = 0;  ///< excluding the last one; `extents` and `steps` list them from right to left
  std::int64_t extents[kMaxAxes] = {}, half = 0;
  const float *x = nullptr, *cosine = nullptr, *sine = nullptr;
  std::int64_t steps[3][kMaxAxes] = {}, last[3] = {1, 1, 1};  ///< of x, cosine, sine
  bool half_tables = false;                                   ///< cosine and sine have half of x's features
  float* y = nullptr;

  std::int64_t rows() const {
    std::int64_t all = 1;
    for (int i = 0; i < axes; ++i) all *= extents[i];
    return all;
  }
};
/// Computes rows [begin, end) of y.
void rotary(const Rotary& r, std::int64_t begin, std::int64_t end) noexcept;

}  // namespace frazil::kernel
