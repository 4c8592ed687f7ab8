#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

// The fast Fourier transform of a line of any length.
namespace frazil::ops {

class Fourier {
 public:
  using Number = std::complex<double>;

  /// Returns the scratch memory for a line of `n` >= 1 points, in complex numbers. Saturates on overflow.
  static std::size_t scratch(std::int64_t n);
  /// Precondition: `memory` holds scratch(n) numbers and outlives this.
  Fourier(std::int64_t n, bool inverse, Number* memory);
  /// Replaces the n numbers of `line` by their transform; the inverse one is divided by n. If the run stops early, the
  /// contents are unspecified.
  void run(Number* line) const;

 private:
  void make_roots();
  void make_chirp();
  /// Transforms a line of size_ points, a power of two. `backward` takes the conjugate roots.
  void radix2(Number* line, bool backward) const;
  /// Transforms a line of any length as a convolution with a chirp (Bluestein).
  void chirp(Number* line) const;

  std::size_t n_, size_;  ///< length of the line; length of the power-of-two transform used for it
  bool inverse_;
  Number *roots_, *chirp_ = nullptr, *spectrum_ = nullptr, *work_ = nullptr;
};

}  // namespace frazil::ops
