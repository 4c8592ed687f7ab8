// Functions of the table that give sessions custom operators.
#include <dlfcn.h>

#include "compat/onnxruntime/custom/operators.h"
#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/status.h"
#include "compat/onnxruntime/table.h"

namespace frazil::ort {
namespace {

void call(RegisterCustomOpsFn function, OrtSessionOptions* options) { check(function(options, &base())); }

/// Opens the library and calls its function. It stays open, because sessions use it until they are released.
void* open_library(OrtSessionOptions* options, const char* path) {
  require(options, "options");
  require(path, "library_path");
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(ORT_FAIL, "the library of custom operators cannot be opened: {}", ::dlerror());
  const auto function = reinterpret_cast<RegisterCustomOpsFn>(::dlsym(library, "RegisterCustomOps"));
  if (function == nullptr) {
    ::dlclose(library);
    fail(ORT_FAIL, "'{}' has no function RegisterCustomOps", path);
  }
  call(function, options);
  return library;
}

}  // namespace

OrtStatus* CreateCustomOpDomain(const char* domain, OrtCustomOpDomain** out) {
  return guarded([&] {
    require(domain, "domain");
    *out = new OrtCustomOpDomain{domain, {}};
  });
}
OrtStatus* CustomOpDomain_Add(OrtCustomOpDomain* custom_op_domain, const OrtCustomOp* op) {
  return guarded([&] {
    require(custom_op_domain, "custom_op_domain");
    require(op, "op");
    custom_op_domain->operators.push_back(op);
  });
}
OrtStatus* AddCustomOpDomain(OrtSessionOptions* options, OrtCustomOpDomain* custom_op_domain) {
  return guarded([&] {
    require(options, "options");
    require(custom_op_domain, "custom_op_domain");
    options->domains.push_back(custom_op_domain);
  });
}
void ReleaseCustomOpDomain(OrtCustomOpDomain* input) { delete input; }

OrtStatus* RegisterCustomOpsLibrary(OrtSessionOptions* options, const char* library_path, void** library_handle) {
  return guarded([&] {
    void* const library = open_library(options, library_path);
    if (library_handle != nullptr) *library_handle = library;
  });
}
OrtStatus* RegisterCustomOpsLibrary_V2(OrtSessionOptions* options, const char* library_name) {
  return guarded([&] { open_library(options, library_name); });
}
OrtStatus* RegisterCustomOpsUsingFunction(OrtSessionOptions* options, const char* registration_func_name) {
  return guarded([&] {
    require(options, "options");
    require(registration_func_name, "registration_func_name");
    const auto function = reinterpret_cast<RegisterCustomOpsFn>(::dlsym(RTLD_DEFAULT, registration_func_name));
    if (function == nullptr) fail(ORT_FAIL, "the program has no function '{}'", registration_func_name);
    call(function, options);
  });
}

}  // namespace frazil::ort
