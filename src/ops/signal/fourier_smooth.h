#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace frazil::ops {

/// Returns the complex product without the checks for infinities of operator*.
template <class T>
std::complex<T> times(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// The single-precision Fourier transform of a line whose length is not a power of two and has no prime factor above 7.
/// There is one pass per factor, 2 first, as in Swarztrauber's FFTPACK (1982). The passes alternate between two
/// buffers.
class SmoothFourier {
 public:
  using Number = std::complex<float>;

  static bool supports(std::int64_t n);
  /// Returns the scratch memory in complex numbers.
  static std::int64_t scratch(std::int64_t n) { return 3 * n; }
  /// Preconditions: takes(n); `memory` holds scratch(n) numbers and outlives this.
  SmoothFourier(std::int64_t n, bool inverse, Number* memory);
  /// Replaces the line by its transform; the inverse one is divided by n.
  void run(std::complex<double>* line) const;

 private:
  struct Pass {
    std::int64_t factor, before, behind;  ///< products of the factors before and after this one
  };
  void pass(const Pass& p, const Number* from, Number* to) const;
  void butterfly(std::int64_t factor, Number* x) const;

  std::int64_t n_;
  bool inverse_;
  std::vector<Pass> passes_;
  Number *roots_, *from_, *to_;
};

}  // namespace frazil::ops
