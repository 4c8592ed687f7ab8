#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

// The fast Fourier transform of one line of any length.
namespace frazil::ops {

class Fourier {
 public:
  using Number = std::complex<double>;

  /// Complex numbers of scratch memory for lines of `n` >= 1 points; saturates.
  static std::size_t scratch(std::int64_t n);
  /// Precondition: `memory` holds scratch(n) numbers and outlives this.
  Fourier(std::int64_t n, bool inverse, Number* memory);
  /// Replaces the n numbers of `line` by their transform; the inverse one is divided by n. The contents are unspecified
  /// when the run has to stop.
  void run(Number* line) const;

 private:
  void make_roots();
  void make_chirp();
  /// Lengths that are powers of two; `backward`: with conjugate roots.
  void radix2(Number* line, bool backward) const;
  /// Any length, as a convolution with a chirp (Bluestein).
  void chirp(Number* line) const;

  std::size_t n_, size_;  ///< length of the line; length of the power-of-two transform used for it
  bool inverse_;
  Number *roots_, *chirp_ = nullptr, *spectrum_ = nullptr, *work_ = nullptr;
};

}  // namespace frazil::ops
