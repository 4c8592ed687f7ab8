#pragma once

#include <cstdint>

/// What follows products by hand, each in one pass over a row. Formulas as in workloads.h.
namespace bench::lazy {

struct Cells {
  /// n: hidden; gates: x * w without the bias.
  void (*tree_leaf)(std::int64_t n, const float* gates, const float* bias, float* h, float* c);
  void (*tree_inner)(std::int64_t n, const float* gates, const float* bias, const float* c_left, const float* c_right,
                     float* h, float* c);
  /// gates: h * recurrent; `added` is added to them: the projection of x with its bias, or the bias. c is updated.
  /// h2 gets a copy of h and may be null.
  void (*lstm)(std::int64_t n, const float* gates, const float* added, float* c, float* h, float* h2);
  /// to = tanh(x + bias)
  void (*tanh)(std::int64_t n, const float* x, const float* bias, float* to);
  float (*dot)(std::int64_t n, const float* a, const float* b);
  /// y = x * m, m[n, n], where n is a multiple of 64
  void (*transform)(std::int64_t n, const float* x, const float* m, float* y);
  /// y = a + b
  void (*add)(std::int64_t n, const float* a, const float* b, float* y);
};

/// For the widest instruction set of this machine.
const Cells& cells();

}  // namespace bench::lazy
