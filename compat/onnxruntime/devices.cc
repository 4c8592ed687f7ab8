// Functions of the table for execution providers and devices: there is the CPU.
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/memory.h"
#include "compat/onnxruntime/options.h"
#include "compat/onnxruntime/pairs.h"
#include "compat/onnxruntime/session/session.h"
#include "compat/onnxruntime/status.h"

struct OrtHardwareDevice {
  OrtKeyValuePairs metadata;
};
struct OrtEpDevice {
  OrtHardwareDevice hardware;
  OrtKeyValuePairs metadata, options;
};
/// The place of an initializer in a file.
struct OrtExternalInitializerInfo {
  std::string path;
  std::int64_t offset;
  std::size_t size;
};

namespace frazil::ort {
namespace {

constexpr const char* kCpu = "CPUExecutionProvider";

// The names that ONNX Runtime's function knows.
constexpr std::array kKnown = {"QNN",      "SNPE",     "XNNPACK", "WEBNN",   "WebNN", "WebGPU",
                               "AZURE",    "JS",       "VitisAI", "CoreML",  "CUDA",  "NvTensorRTRTX",
                               "OpenVINO", "TensorRT", "DML",     "MIGraphX"};

const OrtEpDevice& cpu_device() {
  static const OrtEpDevice device;
  return device;
}

template <class T>
OrtStatus* fill(const T** to, std::size_t count, const T* value) {
  return guarded([&] {
    if (count != 0) require(to, "out");
    std::fill_n(to, count, value);
  });
}

}  // namespace

OrtStatus* GetAvailableProviders(char*** out_ptr, int* provider_length) {
  return guarded([&] {
    auto names = std::make_unique<char*[]>(1);
    names[0] = ::strdup(kCpu);
    *out_ptr = names.release();
    *provider_length = 1;
  });
}
OrtStatus* ReleaseAvailableProviders(char** ptr, int providers_length) {
  return guarded([&] {
    for (int i = 0; ptr != nullptr && i < providers_length; ++i) std::free(ptr[i]);
    delete[] ptr;
  });
}

OrtStatus* SessionOptionsAppendExecutionProvider(OrtSessionOptions*, const char* provider_name, const char* const*,
                                                 const char* const*, std::size_t) {
  return guarded([&] {
    require(provider_name, "provider_name");
    const std::string_view name = provider_name;
    if (name == "CPU" || name == kCpu) return;
    if (std::ranges::find(kKnown, name) != kKnown.end()) {
      fail(ORT_INVALID_ARGUMENT, "the {} execution provider is not enabled in this build: use the CPU", name);
    }
    fail(ORT_INVALID_ARGUMENT, "Unknown provider name '{}': this build has the CPU only", name);
  });
}
OrtStatus* SessionOptionsAppendExecutionProvider_V2(OrtSessionOptions*, OrtEnv*, const OrtEpDevice* const* ep_devices,
                                                    std::size_t num_ep_devices, const char* const*, const char* const*,
                                                    std::size_t) {
  return guarded([&] {
    for (std::size_t i = 0; i < num_ep_devices; ++i) {
      if (ep_devices[i] != &cpu_device()) fail(ORT_INVALID_ARGUMENT, "device {} is not the CPU of GetEpDevices", i);
    }
  });
}
OrtStatus* GetCurrentGpuDeviceId(int* device_id) {
  return guarded([&] { *device_id = 0; });
}

OrtStatus* GetEpDevices(const OrtEnv*, const OrtEpDevice* const** ep_devices, std::size_t* num_ep_devices) {
  return guarded([&] {
    static const OrtEpDevice* const devices[] = {&cpu_device()};
    *ep_devices = devices;
    *num_ep_devices = 1;
  });
}
const char* EpDevice_EpName(const OrtEpDevice*) { return kCpu; }
const char* EpDevice_EpVendor(const OrtEpDevice*) { return "Frazil"; }
const OrtKeyValuePairs* EpDevice_EpMetadata(const OrtEpDevice* ep_device) { return &ep_device->metadata; }
const OrtKeyValuePairs* EpDevice_EpOptions(const OrtEpDevice* ep_device) { return &ep_device->options; }
const OrtHardwareDevice* EpDevice_Device(const OrtEpDevice* ep_device) { return &ep_device->hardware; }
const OrtMemoryInfo* EpDevice_MemoryInfo(const OrtEpDevice*, OrtDeviceMemoryType) { return &cpu_memory(); }

OrtStatus* GetNumHardwareDevices(const OrtEnv*, std::size_t* out) {
  return guarded([&] { *out = 1; });
}
OrtStatus* GetHardwareDevices(const OrtEnv*, const OrtHardwareDevice** devices, std::size_t num_devices) {
  return fill(devices, std::min<std::size_t>(num_devices, 1), &cpu_device().hardware);
}
OrtHardwareDeviceType HardwareDevice_Type(const OrtHardwareDevice*) { return OrtHardwareDeviceType_CPU; }
std::uint32_t HardwareDevice_VendorId(const OrtHardwareDevice*) { return 0; }
const char* HardwareDevice_Vendor(const OrtHardwareDevice*) { return ""; }
std::uint32_t HardwareDevice_DeviceId(const OrtHardwareDevice*) { return 0; }
const OrtKeyValuePairs* HardwareDevice_Metadata(const OrtHardwareDevice* device) { return &device->metadata; }

OrtStatus* SessionGetMemoryInfoForInputs(const OrtSession*, const OrtMemoryInfo** infos, std::size_t num_inputs) {
  return fill(infos, num_inputs, &cpu_memory());
}
OrtStatus* SessionGetMemoryInfoForOutputs(const OrtSession*, const OrtMemoryInfo** infos, std::size_t num_outputs) {
  return fill(infos, num_outputs, &cpu_memory());
}
OrtStatus* SessionGetEpDeviceForInputs(const OrtSession*, const OrtEpDevice** ep_devices, std::size_t num_inputs) {
  return fill(ep_devices, num_inputs, &cpu_device());
}
OrtStatus* SessionGetEpDeviceForOutputs(const OrtSession*, const OrtEpDevice** ep_devices, std::size_t num_outputs) {
  return fill(ep_devices, num_outputs, &cpu_device());
}
OrtStatus* Session_GetEpGraphAssignmentInfo(const OrtSession*, const OrtEpAssignedSubgraph* const** subgraphs,
                                            std::size_t* num_subgraphs) {
  return guarded([&] {
    *subgraphs = nullptr;
    *num_subgraphs = 0;
  });
}
OrtStatus* GetCompatibilityInfoFromModel(const char*, const char*, OrtAllocator*, char** out) {
  return guarded([&] { *out = nullptr; });
}
OrtStatus* GetCompatibilityInfoFromModelBytes(const void*, std::size_t, const char*, OrtAllocator*, char** out) {
  return guarded([&] { *out = nullptr; });
}

OrtStatus* CreateExternalInitializerInfo(const char* path, std::int64_t file_offset, std::size_t byte_size,
                                         OrtExternalInitializerInfo** out) {
  return guarded([&] {
    require(path, "path");
    *out = new OrtExternalInitializerInfo{path, file_offset, byte_size};
  });
}
const char* ExternalInitializerInfo_GetFilePath(const OrtExternalInitializerInfo* info) { return info->path.c_str(); }
std::int64_t ExternalInitializerInfo_GetFileOffset(const OrtExternalInitializerInfo* info) { return info->offset; }
std::size_t ExternalInitializerInfo_GetByteSize(const OrtExternalInitializerInfo* info) { return info->size; }
void ReleaseExternalInitializerInfo(OrtExternalInitializerInfo* input) { delete input; }

}  // namespace frazil::ort
