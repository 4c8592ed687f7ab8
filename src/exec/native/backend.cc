#include "exec/native/backend.h"

#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include <dlfcn.h>

#include "base/os/knobs.h"
#include "base/os/log.h"
#include "base/thread/mutex.h"
#include "code_version.h"

namespace frazil::exec {
namespace {

#define FRAZIL_TEXT_OF(name) #name
#define FRAZIL_TEXT(name) FRAZIL_TEXT_OF(name)

constexpr const char* kFile = "libfrazil_jit.so";
constexpr const char* kInstalled = "/../" FRAZIL_LIBRARY_FOLDER "/frazil/";  // from the folder of the program
constexpr const char* kSymbol = FRAZIL_TEXT(FRAZIL_NATIVE_MODULE);

std::string named_file() { return knobs() ? knobs()->code_generator : std::string(); }

/// Returns the folder of a file, without symbolic links; empty if there is no such file. Not std::filesystem::path:
/// libstdc++ 12 ends the program where a path is copied and memory has run out.
std::string folder_of(const char* file) {
  std::array<char, PATH_MAX> resolved;
  if (::realpath(file, resolved.data()) == nullptr) return {};
  const std::string_view path = resolved.data();
  return std::string(path.substr(0, path.rfind('/')));
}

/// Returns the paths at which the module may be, nearest first.
std::vector<std::string> places() {
  if (!named_file().empty()) return {named_file()};
  std::vector<std::string> folders;
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void*>(&native_module), &self) != 0 && self.dli_fname != nullptr) {
    folders.push_back(folder_of(self.dli_fname));
  }
  folders.push_back(folder_of("/proc/self/exe"));
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    if (folder.empty()) continue;
    for (const char* below : {"/", "/../", "/../../", "/frazil/", kInstalled}) {
      files.push_back(folder + below + kFile);
    }
  }
  files.push_back(FRAZIL_MODULE_FOLDER "/" + std::string(kFile));
  return files;
}

std::unexpected<Fault> not_found() {
  if (!named_file().empty()) {
    return fail(Code::unsupported, "FRAZIL_CODE_GENERATOR: there is no file {}", named_file());
  }
  return fail(Code::unsupported,
              "the code generator {} is not beside the program or the library, not in {} and not where the dynamic "
              "linker looks: set FRAZIL_CODE_GENERATOR to its path",
              kFile, FRAZIL_MODULE_FOLDER);
}

Result<const code::NativeModule*> open_module(const std::string& file) {
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return fail(Code::unsupported, "the code generator cannot be opened: {}", ::dlerror());
  const auto* const module = static_cast<const code::NativeModule*>(::dlsym(handle, kSymbol));
  if (module == nullptr) return fail(Code::unsupported, "{} belongs to another build of Frazil", file);
  return module;
}

/// Returns the first module of this build. If there is none, returns the error of the last file that exists.
Result<const code::NativeModule*> find_module() {
  Result<const code::NativeModule*> found = not_found();
  std::error_code none;
  for (const std::string& file : places()) {
    if (!std::filesystem::exists(file, none)) continue;
    found = open_module(file);
    if (found) return found;
  }
  if (!named_file().empty()) return found;
  auto by_name = open_module(kFile);  // by the program's RUNPATH, LD_LIBRARY_PATH and the system's folders
  return by_name ? by_name : found;
}

Status allowed() {
  if (knobs() && !knobs()->jit) return fail(Code::unsupported, "FRAZIL_JIT is off, so that no code may be generated");
  if (!FRAZIL_JIT) return fail(Code::unsupported, "this build of Frazil has no code generator");
  return {};
}

std::atomic_flag missing_module_is_told;

}  // namespace

Result<const code::NativeModule*> native_module() {
  FRAZIL_CHECK(allowed());
  static Mutex mutex;
  static std::optional<Result<const code::NativeModule*>> module;  // guarded by the mutex
  const std::scoped_lock lock(mutex);
  if (!module) module = find_module();
  return *module;
}

void warn_of_missing_module(const Fault& reason) {
  if (!missing_module_is_told.test_and_set()) logging::warn("code", "tier auto generates no code: " + reason.text());
}

void skip_warning_of_missing_module() { missing_module_is_told.test_and_set(); }

Status has_native_module() {
  FRAZIL_CHECK(allowed());
  std::error_code none;
  for (const std::string& file : places()) {
    if (std::filesystem::exists(file, none)) return {};
  }
  FRAZIL_CHECK(native_module());
  return {};
}

Result<std::string> native_module_version() {
  FRAZIL_TRY(const code::NativeModule* const module, native_module());
  return std::string(module->version);
}

std::string native_module_file() {
  const auto module = native_module();
  if (!module) return {};
  Dl_info about{};
  const bool known = ::dladdr(*module, &about) != 0 && about.dli_fname != nullptr;
  return known ? about.dli_fname : kFile;
}

std::string describe_native_module() {
  const auto module = native_module();
  if (!module) return "none: " + module.error().text();
  return fmt::format("{}, {}", (*module)->version, native_module_file());
}

}  // namespace frazil::exec
