#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"

/// A description of memory. Two are equal if all members are.
struct OrtMemoryInfo {
  std::string name = "Cpu";
  OrtAllocatorType type = OrtDeviceAllocator;
  int id = 0;
  OrtMemType mem_type = OrtMemTypeDefault;
  OrtMemoryInfoDeviceType device_type = OrtMemoryInfoDeviceType_CPU;
  OrtDeviceMemoryType device_mem_type = OrtDeviceMemoryType_DEFAULT;
  std::uint32_t vendor = 0;
  bool operator==(const OrtMemoryInfo&) const = default;
};

namespace frazil::ort {

/// The memory of the CPU.
const OrtMemoryInfo& cpu_memory();
/// The allocator of the process: blocks are aligned to 64 bytes, and a size of 0 gives null.
OrtAllocator& default_allocator();
/// Returns `size` bytes of the allocator. Throws ORT_FAIL if it has none.
void* allocate(OrtAllocator& allocator, std::size_t size);
/// Returns a copy of the text, with its zero, that the allocator owns.
char* allocate_text(OrtAllocator& allocator, const std::string& text);
/// Copies `text` with its zero to `out`, and its size to `size`. If `out` is null, only the size is given. Throws
/// ORT_INVALID_ARGUMENT if `*size` bytes are too few.
void copy_text(const std::string& text, char* out, std::size_t* size);

}  // namespace frazil::ort
