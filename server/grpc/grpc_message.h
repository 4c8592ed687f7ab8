#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/model/repository.h"
#include "server/model/served.h"
#include "server/request/request.h"
#include "server/service/service.h"

// Messages of Open Inference Protocol v2 over gRPC (Triton's package "inference") and of gRPC's health service, in
// protobuf's binary format. Readers skip unknown fields and throw Refusal (bad_request) that names a damaged one.
namespace frazil::server::proto {

/// The common first fields of all requests about one model.
struct ModelName {
  std::string name, version;  ///< empty version: the newest
};

struct InferMessage {
  ModelName model;
  InferRequest request;
};

/// Reads a ModelInferRequest. Raw tensors are views of the bytes, which `keep_alive` owns. Throws Refusal
/// (bad_request).
InferMessage read_infer(std::string_view bytes, const std::shared_ptr<const void>& keep_alive);
/// Returns the model of a ModelInferRequest without reading its tensors. Throws Refusal (bad_request).
ModelName model_of_infer(std::string_view bytes);
/// Returns the field `id` of a ModelInferRequest, or "" if it cannot be read. Never throws for damaged bytes.
std::string id_of_infer(std::string_view bytes);

/// Reads a request of ModelReady, ModelMetadata, ModelConfig or ModelStatistics.
ModelName read_model_name(std::string_view bytes);

struct RepositoryRequest {
  std::string repository, model;
  std::vector<std::string> parameters;  ///< their names
  bool unload_dependents = false;       ///< the parameter of this name
  bool ready = false;                   ///< RepositoryIndex: only models that are ready
};
RepositoryRequest read_repository_index(std::string_view bytes);
/// Reads a request of RepositoryModelLoad or RepositoryModelUnload.
RepositoryRequest read_repository_model(std::string_view bytes);

/// Returns the service of a HealthCheckRequest; empty: the whole server.
std::string read_health_check(std::string_view bytes);

/// Writes a ModelInferResponse with raw_output_contents. Throws Refusal (bad_request) for an output without a datatype
/// in the protocol.
std::string write_infer(const InferResponse& response);
/// Writes a ModelStreamInferResponse with a result and the parameter "triton_final_response". Throws as write_infer().
std::string write_stream_part(const InferResponse& response);
std::string write_stream_result(const InferResponse& response);  ///< writes the last one
/// Writes a ModelStreamInferResponse with the error of the request `id`.
std::string write_stream_error(std::string_view text, std::string_view id);

/// Writes a response whose only field is a boolean: ServerLive, ServerReady, ModelReady.
std::string write_bool(bool truth);
std::string write_server_metadata(std::string_view version, std::span<const std::string_view> extensions);

using ServedModels = std::vector<std::shared_ptr<const Served>>;
std::string write_model_metadata(const Served& served, const ServedModels& versions);
/// Writes a ModelConfigResponse with the fields of Triton's ModelConfig for names, types and batch size.
std::string write_model_config(const Served& served);
/// Writes the statistics that a caller may see.
std::string write_model_statistics(const ServedModels& models, const Tenants::Identity& identity);
std::string write_repository_index(const std::vector<Service::IndexEntry>& index);

enum class Serving : std::int32_t { yes = 1, no = 2, unknown_service = 3 };
std::string write_health_check(Serving serving);

}  // namespace frazil::server::proto
