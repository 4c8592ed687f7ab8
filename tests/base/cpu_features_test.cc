#include "base/value/cpu_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace frazil {
namespace {

constexpr Isa kAll[] = {Isa::base, Isa::avx2, Isa::avx512, Isa::neon};
constexpr CpuFeatures kAvx2{.isa = Isa::avx2};
constexpr CpuFeatures kAvx512{.isa = Isa::avx512, .byte_dot = true, .bf16_dot = true};
constexpr CpuFeatures kNoVnni{.isa = Isa::avx512, .bf16_dot = true};
constexpr CpuFeatures kNoBf16{.isa = Isa::avx512, .byte_dot = true};
constexpr CpuFeatures kNeon{.isa = Isa::neon, .byte_dot = true};

TEST(CpuFeatures, ReadTheirText) {
  const std::pair<const char*, CpuFeatures> texts[] = {
      {"base", {}},
      {"avx2", kAvx2},
      {"avx512", kAvx512},
      {"avx512-vnni", kNoVnni},
      {"avx512-bf16", kNoBf16},
      {"avx512-vnni-bf16", {.isa = Isa::avx512}},
      {"neon", kNeon},
      {"neon-dotprod", {.isa = Isa::neon}},
  };
  for (const auto& [text, features] : texts) {
    SCOPED_TRACE(text);
    const auto parsed = parse_cpu_features(text);
    ASSERT_TRUE(parsed) << parsed.error().text();
    EXPECT_EQ(*parsed, features);
    EXPECT_EQ(str(features), text);
  }
  EXPECT_EQ(parse_cpu_features("avx512-bf16-vnni").value(), CpuFeatures{.isa = Isa::avx512});
}

TEST(CpuFeatures, RefuseOtherText) {
  for (const std::string text : {"", "avx", "AVX2", "avx2-vnni", "base-", "avx512-", "avx512--vnni", "avx512-dotprod",
                                 "avx512-vnni-vnni", "avx512+vnni", "avx512 -vnni", "neon-vnni", "-vnni"}) {
    SCOPED_TRACE(text);
    const auto parsed = parse_cpu_features(text);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Code::bad_input);
    EXPECT_EQ(parsed.error().text(), "expected " + std::string(kCpuFeaturesForm) + ", got '" + text + "'");
  }
}

TEST(CpuFeatures, HaveAFormThatNamesAll) {
  for (const Isa isa : kAll) {
    EXPECT_THAT(kCpuFeaturesForm, testing::HasSubstr(name_of(isa)));
    EXPECT_EQ(isa_from_name(name_of(isa)), isa);
  }
  for (const CpuExtension& e : cpu_extensions()) {
    EXPECT_THAT(kCpuFeaturesForm, testing::HasSubstr("[-" + std::string(e.name) + "]"));
  }
}

TEST(CpuFeatures, AreClampedToTheMachine) {
  for (const CpuFeatures& f : {CpuFeatures{}, kAvx2, kAvx512, kNoVnni, kNoBf16}) EXPECT_EQ(f.clamped_to(kAvx512), f);
  EXPECT_EQ(kAvx512.clamped_to(kNoVnni), kNoVnni);
  EXPECT_EQ(kNoBf16.clamped_to(kNoVnni), CpuFeatures{.isa = Isa::avx512});
  EXPECT_EQ(kNeon.clamped_to({.isa = Isa::neon}), CpuFeatures{.isa = Isa::neon});
  for (const CpuFeatures& wide : {kAvx512, kNoVnni, kNeon}) {
    EXPECT_EQ(wide.clamped_to(kAvx2), kAvx2);
    EXPECT_EQ(wide.clamped_to({}), CpuFeatures{});
  }
  EXPECT_EQ(kNeon.clamped_to(kNoBf16), kNoBf16);
  EXPECT_EQ(kAvx512.clamped_to(kNeon), kNeon);
  EXPECT_EQ(kAvx2.clamped_to(kNeon), kNeon);
}

TEST(CpuFeatures, HaveOnlyExtensionsOfTheirVectorSet) {
  for (const Isa isa : {Isa::base, Isa::avx2}) {
    const CpuFeatures wrong{.isa = isa, .byte_dot = true, .bf16_dot = true};
    EXPECT_EQ(wrong.clamped_to(kAvx512), CpuFeatures{.isa = isa});
    EXPECT_EQ(CpuFeatures::all_of(isa), CpuFeatures{.isa = isa});
  }
  const CpuFeatures wrong{.isa = Isa::neon, .byte_dot = true, .bf16_dot = true};
  EXPECT_EQ(wrong.clamped_to(kNeon), kNeon);
  EXPECT_EQ(CpuFeatures::all_of(Isa::avx512), kAvx512);
  EXPECT_EQ(CpuFeatures::all_of(Isa::neon), kNeon);
}

}  // namespace
}  // namespace frazil
