// The suite follows the environment: it uses the CPU features and the number of threads that the knobs say.
#include <gtest/gtest.h>

#include "base/os/knobs.h"
#include "kernel/simd/isa.h"
#include "kernel/tuning/tuning.h"
#include "suite/share_steps.h"

namespace frazil::test {
namespace {

/// Each test begins with the CPU features of FRAZIL_ISA, whatever the one before has left.
class UseIsa : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo&) override {
    kernel::force_features(knobs()->features.value_or(kernel::supported_features()));
  }
};

class FromKnobs : public ::testing::Environment {
  void SetUp() override {
    ASSERT_TRUE(knobs()) << knobs().error().text();
    ::testing::UnitTest::GetInstance()->listeners().Append(new UseIsa);
    if (threads_of_run() == 1) return;
    for (const Isa isa : kernel::isas()) {
      kernel::Tuning tuning = kernel::reference_tuning(isa);
      tuning.wake = kernel::kMinConstant;
      kernel::install_tuning(isa, tuning);
    }
  }
};

const auto* const environment = ::testing::AddGlobalTestEnvironment(new FromKnobs);

}  // namespace
}  // namespace frazil::test
