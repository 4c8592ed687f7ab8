#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "kernel/simd/isa.h"
#include "kernel/tuning/tuning.h"
#include "suite/tiers.h"

// What tests of several threads share.
namespace frazil::test {

/// Reproducible values; those of f32 make rounding depend on the order of any sum.
inline Tensor random_tensor(Elem elem, Sizes sizes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Tensor t = Tensor::make(elem, std::move(sizes)).value();
  if (elem == Elem::f32) {
    for (float& x : t.as_mutable<float>()) x = normal(random);
  } else {
    for (std::int64_t& x : t.as_mutable<std::int64_t>()) x = static_cast<std::int64_t>(random() % 100);
  }
  return t;
}

inline Tensor random_of(const Type& type, std::uint64_t seed) {
  Sizes sizes;
  for (const Dim d : type.shape) sizes.push_back(d.value());
  return random_tensor(type.elem, std::move(sizes), seed);
}

inline std::vector<Datum> random_inputs(const Graph& graph) {
  std::vector<Datum> inputs;
  for (const Value v : graph.main().params) inputs.emplace_back(random_of(graph.type(v), 100 + inputs.size()));
  return inputs;
}

/// Work of a few microseconds is shared, whatever a machine's table says.
class EagerSharing {
 public:
  EagerSharing() : before_(kernel::tuning()) {
    kernel::Tuning table = kernel::reference_tuning(kernel::features().isa);
    table.wake = 1000;
    kernel::install_tuning(kernel::features().isa, table);
  }
  ~EagerSharing() { kernel::install_tuning(kernel::features().isa, before_); }
  EagerSharing(const EagerSharing&) = delete;
  EagerSharing& operator=(const EagerSharing&) = delete;

 private:
  const kernel::Tuning before_;
};

/// Extents and bits of tensors are equal.
inline bool same_bits(const std::vector<Datum>& a, const std::vector<Datum>& b) {
  return std::ranges::equal(a, b, [](const Datum& x, const Datum& y) {
    const Tensor &s = x.tensor(), &t = y.tensor();
    return s.sizes() == t.sizes() && std::memcmp(s.data(), t.data(), s.bytes()) == 0;
  });
}

}  // namespace frazil::test
