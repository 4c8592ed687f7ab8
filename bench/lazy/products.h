#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "bench/lazy/workloads.h"

/// Products of the handwritten rows, by OpenBLAS or by Frazil's kernels with packed weights.
namespace bench::lazy {

enum class Products { openblas, packed };

/// Returns the kinds of products in this build.
std::vector<Products> products_of_build();
std::string_view name_of(Products products);
/// Returns OpenBLAS's core type, such as "SkylakeX"; empty without OpenBLAS.
std::string_view openblas_core();

/// Uninitialised memory, aligned to 64 bytes, that only grows.
class Buffer {
 public:
  float* reserve(std::int64_t floats);

 private:
  struct Free {
    void operator()(float* p) const;
  };
  std::unique_ptr<float, Free> memory_;
  std::int64_t floats_ = 0;
};

/// The right operand w[k, n] of products, aligned for both kinds.
class Weights {
 public:
  explicit Weights(const Matrix& w);

  std::int64_t inputs() const { return inputs_; }
  std::int64_t outputs() const { return outputs_; }
  const float* plain() const { return plain_; }
  const float* packed() const { return packed_; }

 private:
  std::int64_t inputs_, outputs_;
  Buffer plain_memory_, packed_memory_;
  float *plain_, *packed_;
};

struct Rows {
  const float* values;
  std::int64_t stride;
};

class Multiplier {
 public:
  explicit Multiplier(Products how) : how_(how) {}

  /// Computes c[m, outputs] = a[m, inputs] * w, or adds to c. Rows of c are contiguous.
  void operator()(std::int64_t m, const Rows& a, const Weights& w, float* c, bool accumulate = false);
  /// Computes c[m, outputs] = a[m, inputs] * w + bias.
  void with_bias(std::int64_t m, const Rows& a, const Weights& w, const Floats& bias, float* c);
  /// Returns the recommended number of rows per product. A larger result would leave the cache before it is read.
  std::int64_t rows_at_once() const { return how_ == Products::packed ? 144 : 1152; }

 private:
  void by_openblas(std::int64_t m, const Rows& a, const Weights& w, float* c, bool accumulate) const;
  void by_packed(std::int64_t m, const Rows& a, const Weights& w, const float* bias, float* c, bool accumulate);

  Products how_;
  Buffer scratch_;
  bool backwards_ = false;
};

}  // namespace bench::lazy
