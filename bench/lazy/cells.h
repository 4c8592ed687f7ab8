#pragma once

#include <cstdint>

/// Handwritten code that follows products, each in one pass over a row. The formulas are those of workloads.h.
namespace bench::lazy {

struct Cells {
  /// n: hidden; gates: x * w without the bias.
  void (*tree_leaf)(std::int64_t n, const float* gates, const float* bias, float* h, float* c);
  void (*tree_inner)(std::int64_t n, const float* gates, const float* bias, const float* c_left, const float* c_right,
                     float* h, float* c);
  /// `added` is added to the gates h * recurrent. It is the projection of x including the bias, or the bias alone. c is
  /// updated. h2 receives a copy of h and may be null.
  void (*lstm)(std::int64_t n, const float* gates, const float* added, float* c, float* h, float* h2);
  /// to = tanh(x + bias)
  void (*tanh)(std::int64_t n, const float* x, const float* bias, float* to);
  float (*dot)(std::int64_t n, const float* a, const float* b);
  /// y = x * m, m[n, n], where n is a multiple of 64
  void (*transform)(std::int64_t n, const float* x, const float* m, float* y);
  /// y = a + b
  void (*add)(std::int64_t n, const float* a, const float* b, float* y);
};

/// Returns the functions for the widest instruction set of this machine.
const Cells& cells();

}  // namespace bench::lazy
