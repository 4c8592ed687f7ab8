#include "compat/onnxruntime/status.h"

#include <new>
#include <string_view>

#include <frazil/error.h>

#include "compat/onnxruntime/functions.h"

namespace frazil::ort {
namespace {

OrtErrorCode code_of(const api::Error& error) {
  switch (error.code()) {
    case api::Code::bad_model: return ORT_INVALID_GRAPH;
    case api::Code::bad_input: return ORT_INVALID_ARGUMENT;
    case api::Code::unsupported: return ORT_NOT_IMPLEMENTED;
    case api::Code::limit: return ORT_RUNTIME_EXCEPTION;
    case api::Code::out_of_memory: return ORT_FAIL;
    case api::Code::cancelled: return ORT_FAIL;
    case api::Code::internal: return ORT_RUNTIME_EXCEPTION;
  }
  return ORT_FAIL;
}

/// The status for an error that finds no memory for its own.
OrtStatus no_memory{ORT_FAIL, "out of memory"};

OrtStatus* make(OrtErrorCode code, const char* message) noexcept {
  try {
    return new OrtStatus{code, message};
  } catch (const std::bad_alloc&) {
    return &no_memory;
  }
}

}  // namespace

OrtStatus* status_of_exception() noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return make(failure.code(), failure.what());
  } catch (const api::Error& error) {
    return make(code_of(error), error.what());
  } catch (const std::bad_alloc&) {
    return &no_memory;
  } catch (const std::exception& error) {
    return make(ORT_RUNTIME_EXCEPTION, error.what());
  } catch (...) {
    return make(ORT_RUNTIME_EXCEPTION, "an exception of unknown type");
  }
}

void check(OrtStatus* status) {
  if (status == nullptr) return;
  Failure failure(status->code, status->message);
  ReleaseStatus(status);
  throw failure;
}

OrtStatus* CreateStatus(OrtErrorCode code, const char* msg) { return make(code, msg == nullptr ? "" : msg); }
OrtErrorCode GetErrorCode(const OrtStatus* status) { return status->code; }
const char* GetErrorMessage(const OrtStatus* status) { return status->message.c_str(); }
void ReleaseStatus(OrtStatus* input) {
  if (input != &no_memory) delete input;
}

}  // namespace frazil::ort
