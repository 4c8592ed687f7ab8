#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/elem.h"
#include "base/float.h"
#include "kernel/random_values.h"
#include "kernel/simd/isa.h"

namespace frazil::kernel {

/// The bits of f16 or bf16 numbers.
using Halves = std::vector<std::uint16_t>;

inline float widened(Elem elem, std::uint16_t bits) {
  return elem == Elem::f16 ? half_to_float(bits) : bfloat16_to_float(bits);
}
inline std::uint16_t narrowed(Elem elem, float x) {
  return elem == Elem::f16 ? float_to_half(x) : float_to_bfloat16(x);
}

/// n numbers in [-1, 1).
inline Halves halves(Elem elem, std::int64_t n, unsigned seed) {
  Halves all;
  for (const float x : values<float>(n, seed)) all.push_back(narrowed(elem, x));
  return all;
}

/// An instruction set, whether products of pairs may be used, and f16 or bf16.
using HalfParam = std::tuple<Isa, bool, Elem>;

inline std::vector<HalfParam> half_params() {
  std::vector<HalfParam> all;
  for (const Elem elem : {Elem::f16, Elem::bf16}) {
    for (const Isa isa : isas()) all.emplace_back(isa, false, elem);
  }
  all.emplace_back(isas().back(), true, Elem::bf16);
  return all;
}

inline std::string name_of_half(const ::testing::TestParamInfo<HalfParam>& info) {
  const auto [isa, pairs, elem] = info.param;
  return std::string(name_of(isa)) + (pairs ? "_pairs_" : "_") + std::string(name_of(elem));
}

class HalfTest : public ::testing::TestWithParam<HalfParam> {
 protected:
  void SetUp() override {
    const auto [isa, pairs, elem] = GetParam();
    force_isa(isa);
    allow_bf16_dot(pairs);
    if (isa != current_isa() || pairs != uses_bf16_dot()) GTEST_SKIP() << "this machine lacks the instructions";
  }
  void TearDown() override {
    force_isa(best_isa());
    allow_bf16_dot(true);
  }
  Elem elem() const { return std::get<2>(GetParam()); }
};

}  // namespace frazil::kernel
