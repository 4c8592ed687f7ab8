#include "ops/signal/fourier.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "base/thread/poll_throttle.h"
#include "ops/signal/fourier_smooth.h"

namespace frazil::ops {
namespace {

using Number = Fourier::Number;

std::size_t transform_size(std::size_t n) { return std::has_single_bit(n) ? n : std::bit_ceil(2 * n - 1); }

void reverse_bits(Number* line, std::size_t n, PollThrottle& throttle) {
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    if (throttle.stop(4)) return;
    std::size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(line[i], line[j]);
  }
}

}  // namespace

std::size_t Fourier::scratch(std::int64_t n) {
  const auto points = static_cast<std::size_t>(n);
  if (points > std::numeric_limits<std::size_t>::max() / 64) return std::numeric_limits<std::size_t>::max();
  const std::size_t size = transform_size(points);
  return size / 2 + 1 + (size == points ? 0 : points + 2 * size);
}

Fourier::Fourier(std::int64_t n, bool inverse, Number* memory)
    : n_(static_cast<std::size_t>(n)), size_(transform_size(n_)), inverse_(inverse), roots_(memory) {
  make_roots();
  if (size_ == n_) return;
  chirp_ = roots_ + size_ / 2 + 1;
  spectrum_ = chirp_ + n_;
  work_ = spectrum_ + size_;
  make_chirp();
}

void Fourier::make_roots() {
  const double angle = -2 * std::numbers::pi / static_cast<double>(size_);
  PollThrottle throttle;
  for (std::size_t k = 0; k < size_ / 2 && !throttle.stop(32); ++k)
    roots_[k] = std::polar(1.0, angle * static_cast<double>(k));
}

void Fourier::make_chirp() {
  const double angle = -std::numbers::pi / static_cast<double>(n_);
  std::fill_n(spectrum_, size_, Number{});
  PollThrottle throttle;
  for (std::size_t k = 0, square = 0; k < n_ && !throttle.stop(32); ++k) {
    chirp_[k] = std::polar(1.0, angle * static_cast<double>(square));
    spectrum_[k] = std::conj(chirp_[k]);
    if (k > 0) spectrum_[size_ - k] = spectrum_[k];
    square = (square + 2 * k + 1) % (2 * n_);  // k^2 modulo 2n keeps the angle small and exact
  }
  radix2(spectrum_, false);
}

void Fourier::radix2(Number* line, bool backward) const {
  PollThrottle throttle;
  reverse_bits(line, size_, throttle);
  for (std::size_t half = 1; half < size_; half *= 2) {
    const std::size_t stride = size_ / (2 * half);
    for (std::size_t base = 0; base < size_; base += 2 * half) {
      if (throttle.stop(static_cast<std::int64_t>(2 * half))) return;
      for (std::size_t k = 0; k < half; ++k) {
        const Number root = roots_[k * stride];
        const Number turned = times(line[base + half + k], backward ? std::conj(root) : root);
        line[base + half + k] = line[base + k] - turned;
        line[base + k] += turned;
      }
    }
  }
}

void Fourier::chirp(Number* line) const {
  for (std::size_t k = 0; k < n_; ++k) work_[k] = times(line[k], chirp_[k]);
  std::fill(work_ + n_, work_ + size_, Number{});
  radix2(work_, false);
  for (std::size_t k = 0; k < size_; ++k) work_[k] = times(work_[k], spectrum_[k]);
  radix2(work_, true);
  const double scale = 1 / static_cast<double>(size_);
  for (std::size_t k = 0; k < n_; ++k) line[k] = times(work_[k], chirp_[k]) * scale;
}

void Fourier::run(Number* line) const {
  if (size_ == n_) {
    radix2(line, inverse_);
  } else {
    if (inverse_) std::transform(line, line + n_, line, [](Number x) { return std::conj(x); });
    chirp(line);
    if (inverse_) std::transform(line, line + n_, line, [](Number x) { return std::conj(x); });
  }
  const double scale = 1 / static_cast<double>(n_);
  for (std::size_t k = 0; inverse_ && k < n_; ++k) line[k] *= scale;
}

}  // namespace frazil::ops
