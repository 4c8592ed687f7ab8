#include "ops/signal/fourier_smooth.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numbers>
#include <utility>

#include "base/thread/poll_throttle.h"

namespace frazil::ops {
namespace {

using Single = SmoothFourier::Number;

constexpr std::array<std::int64_t, 4> kFactors{2, 3, 5, 7};

Single root(std::int64_t k, std::int64_t n, bool inverse) {
  const double angle = 2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n);
  return Single(std::polar(1.0, inverse ? angle : -angle));
}

}  // namespace

bool SmoothFourier::supports(std::int64_t n) {
  if (n < 2 || std::has_single_bit(static_cast<std::uint64_t>(n))) return false;
  for (const std::int64_t factor : kFactors) {
    while (n % factor == 0) n /= factor;
  }
  return n == 1;
}

SmoothFourier::SmoothFourier(std::int64_t n, bool inverse, Single* memory)
    : n_(n), inverse_(inverse), roots_(memory), from_(memory + n), to_(memory + 2 * n) {
  PollThrottle throttle;
  for (std::int64_t k = 0; k < n && !throttle.stop(32); ++k) roots_[k] = root(k, n, inverse);
  std::int64_t before = 1;
  for (const std::int64_t factor : kFactors) {
    for (; n / before % factor == 0; before *= factor) passes_.push_back({factor, before, n / before / factor});
  }
}

/// Transforms `factor` numbers. Two results share the sums and differences of x[j] and x[factor - j].
void SmoothFourier::butterfly(std::int64_t factor, Single* x) const {
  if (factor == 2) {
    x[1] = std::exchange(x[0], x[0] + x[1]) - x[1];
    return;
  }
  const std::int64_t pairs = factor / 2, turn = n_ / factor;
  std::array<Single, 3> sum, difference;
  Single total = x[0];
  for (std::int64_t j = 0; j < pairs; ++j) {
    const auto at = static_cast<std::size_t>(j);
    sum[at] = x[j + 1] + x[factor - 1 - j];
    difference[at] = x[j + 1] - x[factor - 1 - j];
    total += sum[at];
  }
  std::array<Single, 7> y{total};
  for (std::int64_t u = 1; u <= pairs; ++u) {
    Single even = x[0], odd;
    for (std::int64_t j = 1; j <= pairs; ++j) {
      const auto at = static_cast<std::size_t>(j - 1);
      const Single w = roots_[u * j % factor * turn];
      even += w.real() * sum[at];
      odd += w.imag() * difference[at];
    }
    const Single across(-odd.imag(), odd.real());
    y[static_cast<std::size_t>(u)] = even + across;
    y[static_cast<std::size_t>(factor - u)] = even - across;
  }
  std::copy_n(y.begin(), factor, x);
}

void SmoothFourier::pass(const Pass& p, const Single* from, Single* to) const {
  std::array<Single, 7> x;
  PollThrottle throttle;
  for (std::int64_t k = 0; k < p.before; ++k) {
    if (throttle.stop(p.factor * p.behind)) return;
    for (std::int64_t i = 0; i < p.behind; ++i) {
      for (std::int64_t b = 0; b < p.factor; ++b)
        x[static_cast<std::size_t>(b)] = from[i + p.behind * (b + p.factor * k)];
      butterfly(p.factor, x.data());
      for (std::int64_t b = 0; b < p.factor; ++b) {
        const Single y = x[static_cast<std::size_t>(b)];
        to[i + p.behind * (k + p.before * b)] = i == 0 ? y : times(y, roots_[b * i * p.before]);
      }
    }
  }
}

void SmoothFourier::run(std::complex<double>* line) const {
  for (std::int64_t k = 0; k < n_; ++k) from_[k] = Single(line[k]);
  Single *from = from_, *to = to_;
  for (const Pass& p : passes_) {
    pass(p, from, to);
    std::swap(from, to);
  }
  const float scale = inverse_ ? static_cast<float>(1.0 / static_cast<double>(n_)) : 1.0f;
  for (std::int64_t k = 0; k < n_; ++k) line[k] = std::complex<double>(from[k] * scale);
}

}  // namespace frazil::ops
