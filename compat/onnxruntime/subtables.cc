// The tables that functions of the table return, for what Frazil does not have.
#include <array>
#include <cstddef>
#include <utility>

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/refusal.h"
#include "compat/onnxruntime/status.h"

namespace frazil::ort {
namespace {

OrtStatus* no_import(const OrtExternalResourceImporter*, OrtExternalMemoryHandleType, bool* out) {
  return guarded([&] { *out = false; });
}
OrtStatus* no_semaphore(const OrtExternalResourceImporter*, OrtExternalSemaphoreType, bool* out) {
  return guarded([&] { *out = false; });
}

#define REFUSED(TABLE, NAME) \
  .NAME = Refused<decltype(TABLE::NAME), #NAME, ORT_NOT_IMPLEMENTED, "models are compiled when they are loaded: leave the call out">::call
constexpr OrtCompileApi kCompile = {
    REFUSED(OrtCompileApi, ReleaseModelCompilationOptions),
    REFUSED(OrtCompileApi, CreateModelCompilationOptionsFromSessionOptions),
    REFUSED(OrtCompileApi, ModelCompilationOptions_SetInputModelPath),
    REFUSED(OrtCompileApi, ModelCompilationOptions_SetInputModelFromBuffer),
    REFUSED(OrtCompileApi, ModelCompilationOptions_SetOutputModelPath),
    REFUSED(OrtCompileApi, ModelCompilationOptions_SetOutputModelExternalInitializersFile),
    REFUSED(OrtCompileApi, ModelCompilationOptions_SetOutputModelBuffer),
    REFUSED(OrtCompileApi, ModelCompilationOptions_SetEpContextEmbedMode),
    REFUSED(OrtCompileApi, CompileModel),
    REFUSED(OrtCompileApi, ModelCompilationOptions_SetFlags),
    REFUSED(OrtCompileApi, ModelCompilationOptions_SetEpContextBinaryInformation),
    REFUSED(OrtCompileApi, ModelCompilationOptions_SetGraphOptimizationLevel),
    REFUSED(OrtCompileApi, ModelCompilationOptions_SetOutputModelWriteFunc),
    REFUSED(OrtCompileApi, ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc),
    REFUSED(OrtCompileApi, ModelCompilationOptions_SetInputModel),
    REFUSED(OrtCompileApi, ModelCompilationOptions_SetWeightlessEnabled),
};
#undef REFUSED

#define REFUSED(TABLE, NAME) \
  .NAME = Refused<decltype(TABLE::NAME), #NAME, ORT_NOT_IMPLEMENTED, "there is no device with memory to import: use values of the CPU">::call
constexpr OrtInteropApi kInterop = {
    REFUSED(OrtInteropApi, CreateExternalResourceImporterForDevice),
    REFUSED(OrtInteropApi, ReleaseExternalResourceImporter),
    .CanImportMemory = no_import,
    REFUSED(OrtInteropApi, ImportMemory),
    REFUSED(OrtInteropApi, ReleaseExternalMemoryHandle),
    REFUSED(OrtInteropApi, CreateTensorFromMemory),
    .CanImportSemaphore = no_semaphore,
    REFUSED(OrtInteropApi, ImportSemaphore),
    REFUSED(OrtInteropApi, ReleaseExternalSemaphoreHandle),
    REFUSED(OrtInteropApi, WaitSemaphore),
    REFUSED(OrtInteropApi, SignalSemaphore),
    REFUSED(OrtInteropApi, InitGraphicsInteropForEpDevice),
    REFUSED(OrtInteropApi, DeinitGraphicsInteropForEpDevice),
};
#undef REFUSED

/// The table of plugin execution providers, which no program can register here. Its functions have the type of the
/// first one.
constexpr std::size_t kEpFunctions = 74;
using EpFunction = OrtStatus* (*)();
using EpRefused = Refused<EpFunction, "OrtEpApi", ORT_NOT_IMPLEMENTED, "plugin execution providers cannot be loaded">;
constexpr auto kEp = [] {
  std::array<EpFunction, kEpFunctions> table{};
  table.fill(EpRefused::call);
  return table;
}();

}  // namespace

const OrtCompileApi* GetCompileApi() { return &kCompile; }
const OrtInteropApi* GetInteropApi() { return &kInterop; }
const OrtEpApi* GetEpApi() { return reinterpret_cast<const OrtEpApi*>(&kEp); }

}  // namespace frazil::ort
