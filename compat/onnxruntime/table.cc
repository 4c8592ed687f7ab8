#include "compat/onnxruntime/table.h"

#include <cstddef>
#include <cstdint>

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/refusal.h"

namespace frazil::ort {
namespace {

#define WORKS(NAME) .NAME = ort::NAME,
#define HINT(NAME, WHAT) .NAME = ort::NAME,
#define IGNORED(NAME, WHY) .NAME = Ignored<decltype(OrtApi::NAME), #NAME, WHY>::call,
#define REFUSED(NAME, CODE, REASON) .NAME = Refused<decltype(OrtApi::NAME), #NAME, CODE, REASON>::call,
constexpr OrtApi kTable = {
#include "compat/onnxruntime/functions.def"
};
#undef WORKS
#undef HINT
#undef IGNORED
#undef REFUSED

#define WORKS(NAME) +1
#define HINT(NAME, WHAT) +1
#define IGNORED(NAME, WHY) +1
#define REFUSED(NAME, CODE, REASON) +1
constexpr std::size_t kFunctions =
#include "compat/onnxruntime/functions.def"
    ;
#undef WORKS
#undef HINT
#undef IGNORED
#undef REFUSED
static_assert(sizeof(kTable) == kFunctions * sizeof(void*), "functions.def has each function once");

// A program may read the table as far as its own header goes, whatever version it asks for; so all versions get all of
// it.
const OrtApi* get_api(std::uint32_t version) {
  if (version >= 1 && version <= ORT_API_VERSION) return &kTable;
  log_version(version);
  return nullptr;
}

// Programs parse the text: three numbers and nothing else.
const char* get_version() { return "1.30.0"; }

constexpr OrtApiBase kBase = {get_api, get_version};

}  // namespace

const OrtApi& table() { return kTable; }
const OrtApiBase& base() { return kBase; }

}  // namespace frazil::ort

extern "C" {

#ifndef FRAZIL_ORT_VERSIONS
__attribute__((visibility("default"))) const OrtApiBase* OrtGetApiBase(void) { return &frazil::ort::base(); }
#endif

__attribute__((visibility("default"))) OrtStatus* OrtSessionOptionsAppendExecutionProvider_CPU(OrtSessionOptions*,
                                                                                               int) {
  return nullptr;
}
}
