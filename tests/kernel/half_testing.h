#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/value/elem.h"
#include "base/value/float.h"
#include "kernel/on_isa.h"
#include "kernel/random_values.h"

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

/// CPU features, and f16 or bf16.
using HalfParam = std::tuple<CpuFeatures, Elem>;

inline auto half_params() {
  return ::testing::Combine(::testing::ValuesIn(all_features()), ::testing::Values(Elem::f16, Elem::bf16));
}

inline std::string name_of_half(const ::testing::TestParamInfo<HalfParam>& info) {
  const auto& [features, elem] = info.param;
  return test_name(features).append("_").append(name_of(elem));
}

class HalfTest : public ::testing::TestWithParam<HalfParam> {
 protected:
  void SetUp() override {
    if (!use(std::get<0>(GetParam()))) GTEST_SKIP() << test::kNoInstructions;
  }
  Elem elem() const { return std::get<1>(GetParam()); }

 private:
  const RestoreFeatures restore_;
};

}  // namespace frazil::kernel
