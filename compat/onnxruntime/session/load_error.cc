#include "compat/onnxruntime/session/load_error.h"

#include <protozero/pbf_reader.hpp>

#include "compat/onnxruntime/graph/onnx_fields.h"

namespace frazil::ort {
namespace {

/// Whether the bytes are messages as a model has them, from the first to the last.
bool is_model(const std::string& bytes) {
  bool has_graph = false;
  try {
    protozero::pbf_reader reader(bytes);
    while (reader.next()) {
      has_graph = has_graph || reader.tag() == fields::model::kGraph;
      reader.skip();
    }
  } catch (const protozero::exception&) {
    return false;
  }
  return has_graph;
}

}  // namespace

OrtErrorCode load_code(const api::Error& error, const std::function<std::string()>& bytes) {
  switch (error.code()) {
    case api::Code::cancelled: return ORT_MODEL_LOAD_CANCELED;
    case api::Code::bad_model: return is_model(bytes()) ? ORT_INVALID_GRAPH : ORT_INVALID_PROTOBUF;
    case api::Code::unsupported: return error.node().empty() ? ORT_FAIL : ORT_INVALID_GRAPH;
    default: return ORT_FAIL;
  }
}

}  // namespace frazil::ort
