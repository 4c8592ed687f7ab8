#include "exec/backend.h"

#include <filesystem>
#include <vector>

#include <dlfcn.h>

#include "base/knobs.h"

namespace frazil::exec {
namespace {

constexpr const char* kFile = "libfrazil_jit.so";

std::vector<std::filesystem::path> places() {
  std::vector<std::filesystem::path> folders;
  std::error_code none;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  if (!none) folders.push_back(program.parent_path());
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void*>(&native_module), &self) != 0 && self.dli_fname != nullptr) {
    folders.push_back(std::filesystem::absolute(self.dli_fname, none).parent_path());
  }
  std::vector<std::filesystem::path> files;
  for (const auto& folder : folders) {
    for (const char* below : {"", "..", "../..", "frazil"}) files.push_back(folder / below / kFile);
    files.push_back(folder / ".." / FRAZIL_LIBRARY_FOLDER / "frazil" / kFile);
  }
  return files;
}

Result<const NativeModule*> open_module(const std::filesystem::path& file) {
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return fail(Code::unsupported, "the code generator cannot be opened: {}", ::dlerror());
  const auto* const module = static_cast<const NativeModule*>(::dlsym(handle, "frazil_native_module"));
  if (module == nullptr || module->abi != kNativeAbi) {
    return fail(Code::unsupported, "{} belongs to another version of Frazil", file.string());
  }
  return module;
}

Result<const NativeModule*> find_module() {
  std::error_code none;
  for (const auto& file : places()) {
    if (std::filesystem::exists(file, none)) return open_module(file);
  }
  return fail(Code::unsupported, "this installation has no code generator: {} is not there", kFile);
}

}  // namespace

Result<const NativeModule*> native_module() {
  if (knobs() && !knobs()->jit) return fail(Code::unsupported, "FRAZIL_JIT is off, so that no code may be generated");
  static const auto& module = *new Result<const NativeModule*>(find_module());
  return module;
}

}  // namespace frazil::exec
