#include "kernel/simd/isa.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "kernel/on_isa.h"

namespace frazil::kernel {
namespace {

TEST(Features, AreForcedAsFarAsTheMachineHasThem) {
  const RestoreFeatures restore;
  for (const CpuFeatures& wanted : all_features()) {
    SCOPED_TRACE(str(wanted));
    force_features(wanted);
    EXPECT_EQ(features(), wanted.clamped_to(supported_features()));
  }
  for (const Isa isa : {Isa::avx2, Isa::avx512, Isa::neon}) {
    if (std::ranges::find(isas(), isa) != isas().end()) continue;
    force_features(CpuFeatures::all_of(isa));
    EXPECT_EQ(features(), supported_features()) << "this build lacks " << name_of(isa);
  }
}

TEST(Features, HaveNoExtensionsOfAWiderVectorSet) {
  const RestoreFeatures restore;
  for (const Isa isa : {Isa::base, Isa::avx2}) {
    if (!use(isa)) continue;
    force_features({.isa = isa, .byte_dot = true, .bf16_dot = true});
    EXPECT_EQ(features().isa, isa);
    EXPECT_FALSE(features().byte_dot);
    EXPECT_FALSE(features().bf16_dot);
  }
}

TEST(Features, OfTheMachineAreOfThisBuild) {
  EXPECT_NE(std::ranges::find(isas(), supported_features().isa), isas().end());
  EXPECT_EQ(supported_features().clamped_to(CpuFeatures::all_of(supported_features().isa)), supported_features());
}

TEST(Features, OfTestsAreAllDifferent) {
  const std::vector<CpuFeatures> all = all_features();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(std::ranges::count(all, all[i]), 1) << str(all[i]);
    EXPECT_EQ(parse_cpu_features(str(all[i])).value(), all[i]);
  }
#if defined(__x86_64__)
  EXPECT_EQ(all.size(), 6u);
#elif defined(__aarch64__)
  EXPECT_EQ(all.size(), 3u);
#endif
}

}  // namespace
}  // namespace frazil::kernel
