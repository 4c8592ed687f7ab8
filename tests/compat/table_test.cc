#include <algorithm>
#include <cstring>
#include <string_view>

#include "compat/ort.h"

namespace {

struct Row {
  std::string_view name, kind;
};
constexpr Row kRows[] = {
#define WORKS(NAME) {#NAME, "works"},
#define HINT(NAME, WHAT) {#NAME, "hint"},
#define IGNORED(NAME, WHY) {#NAME, "ignored"},
#define REFUSED(NAME, CODE, REASON) {#NAME, "refused"},
#include "compat/onnxruntime/functions.def"
#undef WORKS
#undef HINT
#undef IGNORED
#undef REFUSED
};

struct Version {
  std::size_t functions;
  std::string_view last;
};

// The table of version v has the first `functions` entries; 17 to 30 as their header says "since".
constexpr Version kVersions[] = {
    {102, "ReleaseCustomOpDomain"},
    {119, "ReleaseModelMetadata"},
    {125, "AddFreeDimensionOverrideByName"},
    {127, "ReleaseAvailableProviders"},
    {150, "SetGlobalSpinControl"},
    {158, "ReleaseArenaCfg"},
    {162, "GetCurrentGpuDeviceId"},
    {170, "CreateSessionFromArrayWithPrepackedWeightsContainer"},
    {192, "GetSparseTensorIndices"},
    {204, "SynchronizeBoundOutputs"},
    {210, "SessionOptionsAppendExecutionProvider_MIGraphX"},
    {219, "ReleaseKernelInfo"},
    {225, "ReleaseCANNProviderOptions"},
    {239, "GetSessionConfigEntry"},
    {255, "GetBuildInfoString"},
    {266, "KernelContext_GetResource"},
    {276, "SessionOptionsAppendExecutionProvider_OpenVINO_V2"},
    {280, "AddExternalInitializersFromFilesInMemory"},
    {280, "AddExternalInitializersFromFilesInMemory"},
    {285, "SetEpDynamicOptions"},
    {285, "SetEpDynamicOptions"},
    {318, "GetEpApi"},
    {390, "CreateExternalInitializerInfo"},
    {415, "GetTensorElementTypeAndShapeDataReference"},
    {419, "SetPerSessionThreadPoolCallbacks"},
    {419, "SetPerSessionThreadPoolCallbacks"},
    {422, "SessionReleaseCapturedGraph"},
    {424, "KernelContext_GetSyncStream"},
    {425, "SessionOptionsSetWeightlessSourceModelBuffer"},
    {426, "KernelContext_GetPreallocatedOutput"},
};

TEST(OrtTable, HasTheFunctionsOfEachVersionInTheirPlaces) {
  ASSERT_EQ(std::size(kVersions), std::size_t{ORT_API_VERSION});
  EXPECT_EQ(sizeof(OrtApi), 426 * sizeof(void*));
  EXPECT_EQ(std::size(kRows), 426u);
  for (std::size_t v = 0; v < std::size(kVersions); ++v) {
    EXPECT_EQ(kRows[kVersions[v].functions - 1].name, kVersions[v].last) << "version " << v + 1;
  }
  EXPECT_EQ(offsetof(OrtApi, ReleaseCustomOpDomain), 101 * sizeof(void*));
  EXPECT_EQ(offsetof(OrtApi, GetTensorSizeInBytes), 318 * sizeof(void*));
}

TEST(OrtTable, IsTheSameForAllVersionsAndHasNoHoles) {
  const OrtApiBase* const base = OrtGetApiBase();
  EXPECT_STREQ(base->GetVersionString(), "1.30.0");
  for (std::uint32_t version = 1; version <= ORT_API_VERSION; ++version) EXPECT_EQ(base->GetApi(version), &ort());
  EXPECT_EQ(base->GetApi(0), nullptr);
  EXPECT_EQ(base->GetApi(ORT_API_VERSION + 1), nullptr);
  const void* slots[sizeof(OrtApi) / sizeof(void*)];
  std::memcpy(slots, &ort(), sizeof slots);
  for (std::size_t i = 0; i < std::size(slots); ++i) EXPECT_NE(slots[i], nullptr) << kRows[i].name;
  EXPECT_NE(std::string(ort().GetBuildInfoString()).find("Frazil"), std::string::npos);
}

TEST(OrtTable, SubTablesHaveNoHoles) {
  const auto expect_full = [](const void* table, std::size_t functions) {
    ASSERT_NE(table, nullptr);
    std::vector<const void*> slots(functions);
    std::memcpy(slots.data(), table, functions * sizeof(void*));
    EXPECT_EQ(std::ranges::count(slots, nullptr), 0);
  };
  expect_full(ort().GetModelEditorApi(), 20);
  expect_full(ort().GetCompileApi(), 16);
  expect_full(ort().GetInteropApi(), 13);
  expect_full(ort().GetEpApi(), 74);
  EXPECT_EQ(ort().GetTrainingApi(ORT_API_VERSION), nullptr);
}

// A client that cannot use a function learns its name and what to do.
TEST(OrtTable, RefusalsNameTheFunction) {
  OrtCUDAProviderOptionsV2* cuda = nullptr;
  const Refusal made = refusal(ort().CreateCUDAProviderOptions(&cuda));
  EXPECT_EQ(made.code, ORT_FAIL);
  EXPECT_EQ(made.text,
            "CreateCUDAProviderOptions: the CUDA execution provider is not enabled in this build: use the CPU");
  OrtLoraAdapter* adapter = nullptr;
  EXPECT_EQ(refusal(ort().CreateLoraAdapter("a", nullptr, &adapter)).code, ORT_NOT_IMPLEMENTED);
  ort().ReleaseLoraAdapter(adapter);
}

TEST(OrtTable, ProvidersAreTheCpu) {
  char** names = nullptr;
  int count = 0;
  ok(ort().GetAvailableProviders(&names, &count));
  ASSERT_EQ(count, 1);
  EXPECT_STREQ(names[0], "CPUExecutionProvider");
  ok(ort().ReleaseAvailableProviders(names, count));
  const auto options = session_options();
  ok(ort().SessionOptionsAppendExecutionProvider(options.get(), "CPU", nullptr, nullptr, 0));
  for (const char* name : {"QNN", "XNNPACK"}) {
    const Refusal append =
        refusal(ort().SessionOptionsAppendExecutionProvider(options.get(), name, nullptr, nullptr, 0));
    EXPECT_EQ(append.code, ORT_INVALID_ARGUMENT);
    EXPECT_NE(append.text.find("not enabled in this build"), std::string::npos) << append.text;
  }
  EXPECT_NE(refusal(ort().SessionOptionsAppendExecutionProvider(options.get(), "Warp", nullptr, nullptr, 0))
                .text.find("Unknown provider name 'Warp'"),
            std::string::npos);
}

}  // namespace
