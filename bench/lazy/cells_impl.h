// Included by the file of each instruction set, which defines FRAZIL_ISA_NS.

#include "bench/lazy/cells.h"
#include "kernel/simd/math.h"

namespace bench::lazy::FRAZIL_ISA_NS {
namespace {

using namespace frazil::kernel::FRAZIL_ISA_NS;
using std::int64_t;

constexpr auto kWidth = static_cast<int64_t>(kLanes<F32v>);

struct Whole {
  int64_t at;
  FRAZIL_INLINE F32v get(const float* p) const { return load<F32v>(p + at); }
  FRAZIL_INLINE void put(float* p, F32v v) const { store(p + at, v); }
};

struct Part {
  int64_t at;
  std::size_t count;
  FRAZIL_INLINE F32v get(const float* p) const {
    F32v v;
    load_partial(v, p + at, count);
    return v;
  }
  FRAZIL_INLINE void put(float* p, F32v v) const { store_partial(p + at, v, count); }
};

template <class F>
FRAZIL_INLINE void for_vectors(int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) f(Whole{i});
  if (i < n) f(Part{i, static_cast<std::size_t>(n - i)});
}

void tree_leaf(int64_t n, const float* gates, const float* bias, float* h, float* c) {
  for_vectors(n, [=](auto at) __attribute__((always_inline)) {
    const auto gate = [=](int64_t k)
                          __attribute__((always_inline)) { return at.get(gates + k * n) + at.get(bias + k * n); };
    const F32v now = logistic(gate(0)) * tanh(gate(2));
    at.put(c, now);
    at.put(h, logistic(gate(1)) * tanh(now));
  });
}

void tree_inner(int64_t n, const float* gates, const float* bias, const float* c_left, const float* c_right, float* h,
                float* c) {
  for_vectors(n, [=](auto at) __attribute__((always_inline)) {
    const auto gate = [=](int64_t k)
                          __attribute__((always_inline)) { return at.get(gates + k * n) + at.get(bias + k * n); };
    const F32v now =
        logistic(gate(0)) * tanh(gate(4)) + logistic(gate(1)) * at.get(c_left) + logistic(gate(2)) * at.get(c_right);
    at.put(c, now);
    at.put(h, logistic(gate(3)) * tanh(now));
  });
}

void lstm(int64_t n, const float* gates, const float* added, float* c, float* h, float* h2) {
  for_vectors(n, [=](auto at) __attribute__((always_inline)) {
    const auto gate = [=](int64_t k)
                          __attribute__((always_inline)) { return at.get(gates + k * n) + at.get(added + k * n); };
    const F32v now = logistic(gate(1)) * at.get(c) + logistic(gate(0)) * tanh(gate(2));
    at.put(c, now);
    const F32v out = logistic(gate(3)) * tanh(now);
    at.put(h, out);
    if (h2 != nullptr) at.put(h2, out);
  });
}

void tanh_row(int64_t n, const float* x, const float* bias, float* to) {
  for_vectors(n, [=](auto at) __attribute__((always_inline)) { at.put(to, tanh(at.get(x) + at.get(bias))); });
}

float dot(int64_t n, const float* a, const float* b) {
  F32v sum{};
  for_vectors(n, [=, &sum](auto at) __attribute__((always_inline)) { sum = fma(at.get(a), at.get(b), sum); });
  float total = 0;
  for (std::size_t i = 0; i < kLanes<F32v>; ++i) total += sum[i];
  return total;
}

void transform(int64_t n, const float* x, const float* m, float* y) {
  constexpr int64_t kVectors = 64 / kWidth;
  for (int64_t j = 0; j < n; j += 64) {
    F32v even[kVectors] = {}, odd[kVectors] = {};
    for (int64_t k = 0; k < n; k += 2) {
      for (int64_t v = 0; v < kVectors; ++v) {
        even[v] = fma(splat<F32v>(x[k]), load<F32v>(m + k * n + j + v * kWidth), even[v]);
        odd[v] = fma(splat<F32v>(x[k + 1]), load<F32v>(m + (k + 1) * n + j + v * kWidth), odd[v]);
      }
    }
    for (int64_t v = 0; v < kVectors; ++v) store(y + j + v * kWidth, even[v] + odd[v]);
  }
}

void add(int64_t n, const float* a, const float* b, float* y) {
  for_vectors(n, [=](auto at) __attribute__((always_inline)) { at.put(y, at.get(a) + at.get(b)); });
}

}  // namespace

extern const Cells kCells;
const Cells kCells = {.tree_leaf = tree_leaf,
                      .tree_inner = tree_inner,
                      .lstm = lstm,
                      .tanh = tanh_row,
                      .dot = dot,
                      .transform = transform,
                      .add = add};

}  // namespace bench::lazy::FRAZIL_ISA_NS
