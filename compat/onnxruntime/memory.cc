#include "compat/onnxruntime/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/pairs.h"
#include "compat/onnxruntime/status.h"

/// A configuration of an arena, which has no effect.
struct OrtArenaCfg {};

namespace frazil::ort {
namespace {

constexpr std::size_t kAlignment = 64;

void* alloc(OrtAllocator*, std::size_t size) {
  if (size == 0 || size > SIZE_MAX - kAlignment) return nullptr;
  return std::aligned_alloc(kAlignment, (size + kAlignment - 1) / kAlignment * kAlignment);
}
void* alloc_on_stream(OrtAllocator* self, std::size_t size, OrtSyncStream*) { return alloc(self, size); }
void release(OrtAllocator*, void* block) { std::free(block); }
const OrtMemoryInfo* info(const OrtAllocator*) { return &cpu_memory(); }
OrtStatus* stats(const OrtAllocator*, OrtKeyValuePairs** out) {
  return guarded([&] { *out = new OrtKeyValuePairs; });
}
OrtStatus* shrink(OrtAllocator*) { return nullptr; }

struct Memory {
  std::string_view name;
  OrtMemoryInfoDeviceType device_type;
};
constexpr Memory kMemories[] = {
    {"Cpu", OrtMemoryInfoDeviceType_CPU},           {"CPU", OrtMemoryInfoDeviceType_CPU},
    {"Cuda", OrtMemoryInfoDeviceType_GPU},          {"CudaPinned", OrtMemoryInfoDeviceType_CPU},
    {"Hip", OrtMemoryInfoDeviceType_GPU},           {"HipPinned", OrtMemoryInfoDeviceType_CPU},
    {"DML", OrtMemoryInfoDeviceType_GPU},           {"WebGPU_Buf", OrtMemoryInfoDeviceType_GPU},
    {"WebGPU_Buffer", OrtMemoryInfoDeviceType_GPU}, {"WebNN_Tensor", OrtMemoryInfoDeviceType_GPU},
    {"OpenVINO_CPU", OrtMemoryInfoDeviceType_CPU},  {"OpenVINO_GPU", OrtMemoryInfoDeviceType_GPU},
    {"OpenVINO_RT", OrtMemoryInfoDeviceType_CPU},   {"OpenVINO_RT_NPU", OrtMemoryInfoDeviceType_NPU},
    {"QnnHtpShared", OrtMemoryInfoDeviceType_CPU},  {"Cann", OrtMemoryInfoDeviceType_NPU},
    {"CannPinned", OrtMemoryInfoDeviceType_CPU},
};

}  // namespace

const OrtMemoryInfo& cpu_memory() {
  static const OrtMemoryInfo info;
  return info;
}

OrtAllocator& default_allocator() {
  static OrtAllocator allocator{ORT_API_VERSION, alloc, release, info, alloc, stats, alloc_on_stream, shrink};
  return allocator;
}

void* allocate(OrtAllocator& allocator, std::size_t size) {
  void* const block = allocator.Alloc(&allocator, size);
  if (block == nullptr && size != 0) fail(ORT_FAIL, "the allocator has no {} bytes", size);
  return block;
}

char* allocate_text(OrtAllocator& allocator, const std::string& text) {
  void* const block = allocate(allocator, text.size() + 1);
  std::memcpy(block, text.c_str(), text.size() + 1);
  return static_cast<char*>(block);
}

void copy_text(const std::string& text, char* out, std::size_t* size) {
  require(size, "size");
  const std::size_t needed = text.size() + 1;
  if (out != nullptr && *size < needed) {
    const std::size_t given = *size;
    *size = needed;
    fail(ORT_INVALID_ARGUMENT, "the text needs {} bytes, the buffer has {}", needed, given);
  }
  *size = needed;
  if (out != nullptr) std::memcpy(out, text.c_str(), needed);
}

// ---- memory infos ----

// Programs describe memory of devices that they then do not use.
OrtStatus* CreateMemoryInfo(const char* name, OrtAllocatorType type, int id, OrtMemType mem_type, OrtMemoryInfo** out) {
  return guarded([&] {
    require(name, "name");
    const auto known = std::ranges::find(kMemories, std::string_view(name), &Memory::name);
    if (known == std::ranges::end(kMemories)) {
      fail(ORT_INVALID_ARGUMENT, "memory '{}' is not known: use 'Cpu'", name);
    }
    *out = new OrtMemoryInfo{
        .name = name, .type = type, .id = id, .mem_type = mem_type, .device_type = known->device_type};
  });
}
OrtStatus* CreateCpuMemoryInfo(OrtAllocatorType type, OrtMemType mem_type, OrtMemoryInfo** out) {
  return guarded([&] { *out = new OrtMemoryInfo{.type = type, .mem_type = mem_type}; });
}
OrtStatus* CreateMemoryInfo_V2(const char* name, OrtMemoryInfoDeviceType device_type, std::uint32_t vendor_id,
                               std::int32_t device_id, OrtDeviceMemoryType mem_type, std::size_t,
                               OrtAllocatorType allocator_type, OrtMemoryInfo** out) {
  return guarded([&] {
    require(name, "name");
    if (device_type != OrtMemoryInfoDeviceType_CPU) {
      fail(ORT_INVALID_ARGUMENT, "memory '{}': this build has no device but the CPU", name);
    }
    *out = new OrtMemoryInfo{
        .name = name, .type = allocator_type, .id = device_id, .device_mem_type = mem_type, .vendor = vendor_id};
  });
}
OrtStatus* CompareMemoryInfo(const OrtMemoryInfo* info1, const OrtMemoryInfo* info2, int* out) {
  return guarded([&] { *out = *info1 == *info2 ? 0 : -1; });
}
OrtStatus* MemoryInfoGetName(const OrtMemoryInfo* ptr, const char** out) {
  return guarded([&] { *out = ptr->name.c_str(); });
}
OrtStatus* MemoryInfoGetId(const OrtMemoryInfo* ptr, int* out) {
  return guarded([&] { *out = ptr->id; });
}
OrtStatus* MemoryInfoGetMemType(const OrtMemoryInfo* ptr, OrtMemType* out) {
  return guarded([&] { *out = ptr->mem_type; });
}
OrtStatus* MemoryInfoGetType(const OrtMemoryInfo* ptr, OrtAllocatorType* out) {
  return guarded([&] { *out = ptr->type; });
}
void MemoryInfoGetDeviceType(const OrtMemoryInfo* ptr, OrtMemoryInfoDeviceType* out) { *out = ptr->device_type; }
OrtDeviceMemoryType MemoryInfoGetDeviceMemType(const OrtMemoryInfo* info) { return info->device_mem_type; }
std::uint32_t MemoryInfoGetVendorId(const OrtMemoryInfo* info) { return info->vendor; }
void ReleaseMemoryInfo(OrtMemoryInfo* input) { delete input; }

// ---- allocators ----

OrtStatus* GetAllocatorWithDefaultOptions(OrtAllocator** out) {
  return guarded([&] { *out = &default_allocator(); });
}
OrtStatus* CreateAllocator(const OrtSession*, const OrtMemoryInfo*, OrtAllocator** out) {
  return guarded([&] { *out = &default_allocator(); });
}
void ReleaseAllocator(OrtAllocator*) {}
OrtStatus* CreateSharedAllocator(OrtEnv*, const OrtEpDevice*, OrtDeviceMemoryType, OrtAllocatorType,
                                 const OrtKeyValuePairs*, OrtAllocator** out) {
  return guarded([&] {
    if (out != nullptr) *out = &default_allocator();
  });
}
OrtStatus* GetSharedAllocator(OrtEnv*, const OrtMemoryInfo*, OrtAllocator** out) {
  return guarded([&] { *out = &default_allocator(); });
}
OrtStatus* ReleaseSharedAllocator(OrtEnv*, const OrtEpDevice*, OrtDeviceMemoryType) { return nullptr; }

OrtStatus* AllocatorAlloc(OrtAllocator* ort_allocator, std::size_t size, void** out) {
  return guarded([&] { *out = allocate(*ort_allocator, size); });
}
OrtStatus* AllocatorFree(OrtAllocator* ort_allocator, void* p) {
  return guarded([&] { ort_allocator->Free(ort_allocator, p); });
}
OrtStatus* AllocatorGetInfo(const OrtAllocator* ort_allocator, const OrtMemoryInfo** out) {
  return guarded([&] { *out = ort_allocator->Info(ort_allocator); });
}
OrtStatus* AllocatorGetStats(const OrtAllocator* allocator, OrtKeyValuePairs** out) {
  return guarded([&] {
    constexpr std::uint32_t kSince = 23;
    if (allocator->version < kSince || allocator->GetStats == nullptr)
      *out = new OrtKeyValuePairs;
    else
      check(allocator->GetStats(allocator, out));
  });
}

OrtStatus* CreateArenaCfg(std::size_t, int, int, int, OrtArenaCfg** out) {
  return guarded([&] { *out = new OrtArenaCfg; });
}
OrtStatus* CreateArenaCfgV2(const char* const*, const std::size_t*, std::size_t, OrtArenaCfg** out) {
  return CreateArenaCfg(0, 0, 0, 0, out);
}
void ReleaseArenaCfg(OrtArenaCfg* input) { delete input; }

}  // namespace frazil::ort
