#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/simd/isa.h"
#include "paths.h"

namespace frazil::kernel {

/// Restores in its destructor the CPU features that kernels used before.
class RestoreFeatures {
 public:
  RestoreFeatures() = default;
  ~RestoreFeatures() { force_features(before_); }
  RestoreFeatures(const RestoreFeatures&) = delete;
  RestoreFeatures& operator=(const RestoreFeatures&) = delete;

 private:
  const CpuFeatures before_ = features();
};

/// Returns false if the machine lacks some of the features. Then kernels use others, which have their own run.
inline bool use(const CpuFeatures& wanted) {
  force_features(wanted);
  return features() == wanted;
}

/// The same of a vector set, with the extensions that the machine has.
inline bool use(Isa isa) {
  force_features(CpuFeatures::all_of(isa));
  return features().isa == isa;
}

/// All features that this build can be asked for: each vector set without each subset of its extensions.
inline std::vector<CpuFeatures> all_features() {
  std::vector<CpuFeatures> all;
  for (const Isa isa : isas()) {
    const std::size_t begin = all.size();
    all.push_back(CpuFeatures::all_of(isa));
    for (const CpuExtension& e : cpu_extensions()) {
      if (e.isa != isa) continue;
      for (std::size_t i = begin, end = all.size(); i < end; ++i) {
        CpuFeatures without = all[i];
        without.*e.member = false;
        all.push_back(without);
      }
    }
  }
  return all;
}

/// A test with an Isa or CpuFeatures as its parameter. It is skipped if the machine lacks them.
template <class Wanted>
class OnWanted : public ::testing::TestWithParam<Wanted> {
 protected:
  void SetUp() override {
    if (!use(this->GetParam())) GTEST_SKIP() << test::kNoInstructions;
  }

 private:
  const RestoreFeatures restore_;
};
/// Tests kernels that use no extensions. Its parameters are isas().
using OnIsa = OnWanted<Isa>;
/// Tests kernels that use some. Its parameters are all_features().
using OnFeatures = OnWanted<CpuFeatures>;

/// "avx512_no_vnni": names of tests have no minus.
inline std::string test_name(const CpuFeatures& features) {
  std::string name(name_of(features.isa));
  for (const CpuExtension& e : cpu_extensions()) {
    if (e.isa == features.isa && !(features.*e.member)) name.append("_no_").append(e.name);
  }
  return name;
}
inline std::string name_of_isa(const ::testing::TestParamInfo<Isa>& info) { return std::string(name_of(info.param)); }
inline std::string name_of_features(const ::testing::TestParamInfo<CpuFeatures>& info) { return test_name(info.param); }

/// Runs `check` on each instruction set that the machine has, with the extensions that it has.
template <class Check>
void on_every_isa(Check check) {
  const RestoreFeatures restore;
  for (const Isa isa : isas()) {
    if (!use(isa)) continue;
    SCOPED_TRACE(str(features()));
    check();
  }
}

/// Runs `check` with each of all_features() that the machine has.
template <class Check>
void on_all_features(Check check) {
  const RestoreFeatures restore;
  for (const CpuFeatures& wanted : all_features()) {
    if (!use(wanted)) continue;
    SCOPED_TRACE(str(wanted));
    check();
  }
}

}  // namespace frazil::kernel
