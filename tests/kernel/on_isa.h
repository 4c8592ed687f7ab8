#pragma once

#include <string>

#include <gtest/gtest.h>

#include "kernel/simd/isa.h"
#include "paths.h"

namespace frazil::kernel {

/// A test that runs on each instruction set of this build. One that the machine lacks is skipped: force_isa() would
/// choose another, which has its own run.
class OnIsa : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    force_isa(GetParam());
    if (current_isa() != GetParam()) GTEST_SKIP() << test::kNoInstructions;
  }
  void TearDown() override { force_isa(best_isa()); }
};

inline std::string name_of_isa(const ::testing::TestParamInfo<Isa>& info) { return std::string(name_of(info.param)); }

}  // namespace frazil::kernel
