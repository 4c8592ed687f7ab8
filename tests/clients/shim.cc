// A libonnxruntime.so.1 that passes calls to another one, counts the calls of each function, and can make one fail.
//
//   FRAZIL_SHIM_LIBRARY  the other library
//   FRAZIL_SHIM_COUNTS   a file to which the process appends "name calls" at its end
//   FRAZIL_SHIM_DENY     the name of a function that answers NOT_IMPLEMENTED
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"

namespace {

constexpr const char* kNames[] = {
#define WORKS(NAME) #NAME,
#define HINT(NAME, WHAT) #NAME,
#define IGNORED(NAME, WHY) #NAME,
#define REFUSED(NAME, CODE, REASON) #NAME,
#include "compat/onnxruntime/functions.def"
#undef WORKS
#undef HINT
#undef IGNORED
#undef REFUSED
};
constexpr std::size_t kFunctions = sizeof(kNames) / sizeof(kNames[0]);
static_assert(kFunctions == 426, "the stubs below are as many");

const OrtApi* real = nullptr;

OrtStatus* deny() { return real->CreateStatus(ORT_NOT_IMPLEMENTED, "denied by the test"); }

}  // namespace

// A stub counts its call and jumps on, so that it needs no signature.
extern "C" {
__attribute__((visibility("hidden"))) std::uint64_t shim_counts[kFunctions];
__attribute__((visibility("hidden"))) void* shim_targets[kFunctions];
extern const char shim_stubs[];
}
__asm__(R"(
    .text
    .balign 32
    .globl shim_stubs
    .hidden shim_stubs
shim_stubs:
    .set i, 0
    .rept 426
    .balign 32
    lock incq shim_counts + i * 8(%rip)
    jmp *shim_targets + i * 8(%rip)
    .set i, i + 1
    .endr
)");

namespace {

OrtApi table;
const OrtApiBase* behind = nullptr;

void write_counts() {
  const char* const path = std::getenv("FRAZIL_SHIM_COUNTS");
  if (path == nullptr) return;
  std::FILE* const file = std::fopen(path, "a");
  if (file == nullptr) return;
  for (std::size_t i = 0; i < kFunctions; ++i) {
    if (shim_counts[i] != 0)
      std::fprintf(file, "%s %llu\n", kNames[i], static_cast<unsigned long long>(shim_counts[i]));
  }
  std::fclose(file);
}

void fill_table() {
  real = behind->GetApi(ORT_API_VERSION);
  const char* const denied = std::getenv("FRAZIL_SHIM_DENY");
  const void* stubs[kFunctions];
  std::memcpy(shim_targets, real, sizeof shim_targets);
  for (std::size_t i = 0; i < kFunctions; ++i) {
    stubs[i] = shim_stubs + 32 * i;
    if (denied != nullptr && std::strcmp(denied, kNames[i]) == 0) shim_targets[i] = reinterpret_cast<void*>(deny);
  }
  std::memcpy(&table, stubs, sizeof table);
}

const OrtApi* get_api(std::uint32_t version) { return behind->GetApi(version) == nullptr ? nullptr : &table; }
const char* get_version() { return behind->GetVersionString(); }
constexpr OrtApiBase kBase = {get_api, get_version};

__attribute__((constructor)) void start() {
  const char* const library = std::getenv("FRAZIL_SHIM_LIBRARY");
  void* const handle = library == nullptr ? nullptr : dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return;  // a child process that is no client
  behind = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"))();
  fill_table();
  std::atexit(write_counts);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const OrtApiBase* OrtGetApiBase(void) { return &kBase; }
