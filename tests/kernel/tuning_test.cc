#include "kernel/tuning/tuning.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/tuning/tuning_file.h"
#include "kernel/window/conv_nhwc.h"

namespace frazil::kernel {
namespace {

const TuningKey kKey{.cpu = "A processor, 3 GHz", .isa = Isa::avx2, .byte_dot = false};

/// A table with all constants different.
Tuning numbered() {
  Tuning t{};
  double value = 0.25;
  for (const TuningConstant& c : tuning_constants()) t.*c.value = value += 1.0 / 3;
  return t;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string why_not(std::string_view text, const TuningKey& key = kKey) {
  const auto parsed = parse_tuning(text, key);
  return parsed ? "taken" : parsed.error().text();
}

TEST(TuningFile, IsReadAsItWasWritten) {
  const Tuning table = numbered();
  const auto read = parse_tuning(tuning_text(table, kKey), kKey);
  ASSERT_TRUE(read) << read.error().text();
  for (const TuningConstant& c : tuning_constants()) EXPECT_EQ((*read).*c.value, table.*c.value) << c.name;
}

TEST(TuningFile, IsRefusedWhereItIsDamaged) {
  const std::string text = tuning_text(numbered(), kKey);
  EXPECT_EQ(why_not(""), "it is not a table of this version ('frazil tuning 1')");
  EXPECT_EQ(why_not(replaced(text, "tuning 1", "tuning 2")), "it is not a table of this version ('frazil tuning 1')");
  EXPECT_EQ(why_not(text.substr(0, text.size() - 1)), "it is cut off");
  EXPECT_EQ(why_not(text.substr(0, text.size() / 2)), "it is cut off");
  EXPECT_EQ(why_not(replaced(text, "softmax", "softmix")), "it is damaged");
  for (std::size_t i = 16; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_NE(why_not(changed), "taken") << "byte " << i;
  }
}

TEST(TuningFile, IsRefusedWhereItIsForAnotherMachine) {
  const std::string text = tuning_text(numbered(), kKey);
  TuningKey other = kKey;
  other.isa = Isa::avx512;
  EXPECT_THAT(why_not(text, other), testing::HasSubstr("isa avx512"));
  other = kKey;
  other.cpu = "Another";
  EXPECT_THAT(why_not(text, other), testing::HasSubstr("it is for 'cpu A processor, 3 GHz'"));
  other = kKey;
  other.byte_dot = true;
  EXPECT_NE(why_not(text, other), "taken");
}

TEST(TuningFile, HasNoConstantsOutOfBounds) {
  for (double bad : {0.0, -1.0, 1e10, HUGE_VAL, std::nan("")}) {
    Tuning table = numbered();
    table.conv = bad;
    EXPECT_EQ(why_not(tuning_text(table, kKey)), "conv is not in 1e-06..1000000000");
  }
}

class OwnFile : public testing::Test {
 protected:
  OwnFile() : folder_(testing::TempDir() + "/frazil_tuning_test") {
    std::filesystem::remove_all(folder_);
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~OwnFile() override {
    unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
    forget_tuning(features().isa);
  }
  const std::string folder_;
};

TEST_F(OwnFile, IsUsedUnlessTurnedOff) {
  const TuningKey key = tuning_key();
  ASSERT_TRUE(save_tuning(tuning_path(key), numbered(), key));
  ASSERT_TRUE(use_tuning("off"));
  EXPECT_EQ(tuning().conv, reference_tuning(features().isa).conv);
  ASSERT_TRUE(use_tuning(""));
  EXPECT_EQ(tuning().conv, numbered().conv);
}

TEST_F(OwnFile, IsLeftAloneWhereItIsDamaged) {
  const TuningKey key = tuning_key();
  ASSERT_TRUE(save_tuning(tuning_path(key), numbered(), key));
  std::ofstream(tuning_path(key), std::ios::app) << "more";
  EXPECT_TRUE(use_tuning(""));
  EXPECT_EQ(tuning().conv, reference_tuning(features().isa).conv);
  const Status named = use_tuning(tuning_path(key));
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, Code::bad_input);
  EXPECT_THAT(named.error().text(), testing::HasSubstr(tuning_path(key) + ": it is cut off"));
}

TEST_F(OwnFile, MustExistWhereItIsNamed) {
  const Status named = use_tuning(folder_ + "/none");
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, Code::bad_input);
  EXPECT_THAT(named.error().text(), testing::HasSubstr(folder_ + "/none"));
}

TEST(Tuning, ReferencesHaveAllConstants) {
  for (Isa isa : {Isa::base, Isa::avx2, Isa::avx512, Isa::neon}) {
    for (const TuningConstant& c : tuning_constants()) {
      const double value = reference_tuning(isa).*c.value;
      EXPECT_TRUE(value >= kMinConstant && value <= kMaxConstant) << name_of(isa) << ' ' << c.name;
    }
  }
}

TEST(Tuning, DecidesWhetherWinogradPays) {
  const ConvParams p{.in_c = 64,
                     .in_h = 28,
                     .in_w = 28,
                     .out_c = 64,
                     .out_h = 28,
                     .out_w = 28,
                     .kernel_h = 3,
                     .kernel_w = 3,
                     .pad_top = 1,
                     .pad_left = 1};
  Tuning t = reference_tuning(Isa::avx2);
  EXPECT_TRUE(is_winograd_profitable(t, p));
  t.winograd_point = 1000;
  EXPECT_FALSE(is_winograd_profitable(t, p));
  ConvParams strided = p;
  strided.stride_h = 2;
  EXPECT_FALSE(is_winograd_profitable(reference_tuning(Isa::avx2), strided));
}

TEST(Tuning, CostsGrowWithExtents) {
  const Tuning& t = reference_tuning(Isa::avx512);
  const auto cost = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return product_nanoseconds(t, &Tuning::product, m, n, k, 4);
  };
  EXPECT_LT(cost(1, 512, 512), cost(2, 512, 512));
  EXPECT_LT(cost(1, 512, 512), cost(1, 513, 512));
  EXPECT_GT(cost(1, 4096, 4096), 64 * cost(1, 512, 512));  // read from memory
}

}  // namespace
}  // namespace frazil::kernel
