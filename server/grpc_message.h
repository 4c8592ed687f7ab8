#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/repository.h"
#include "server/request.h"
#include "server/served.h"

// Messages of Open Inference Protocol v2 over gRPC, Triton's package "inference", and of gRPC's health service, in
// protobuf's binary form. Readers skip unknown fields and throw Refusal (bad_request) that names a damaged one.
namespace frazil::server::proto {

/// What all requests about one model begin with.
struct ModelName {
  std::string name, version;  ///< without a version: the newest
};

struct InferMessage {
  ModelName model;
  InferRequest request;
};

/// Reads a ModelInferRequest. Raw tensors are views of the bytes, which `keep_alive` keeps. Throws Refusal:
/// bad_request, or unsupported for shared memory.
InferMessage read_infer(std::string_view bytes, const std::shared_ptr<const void>& keep_alive);
/// The model that a ModelInferRequest is for: quick, as tensors are not looked at. Throws Refusal (bad_request).
ModelName model_of_infer(std::string_view bytes);
/// The field `id` of a ModelInferRequest; empty where it cannot be read. Never throws for damaged bytes.
std::string id_of_infer(std::string_view bytes);

/// A request of ModelReady, ModelMetadata, ModelConfig or ModelStatistics.
ModelName read_model_name(std::string_view bytes);

struct RepositoryRequest {
  std::string repository, model;
  std::vector<std::string> parameters;  ///< their names
  bool ready = false;                   ///< of the index: of those that are ready alone
};
RepositoryRequest read_repository_index(std::string_view bytes);
/// A request of RepositoryModelLoad or RepositoryModelUnload.
RepositoryRequest read_repository_model(std::string_view bytes);

/// The service that a HealthCheckRequest asks about; empty: the whole server.
std::string read_health_check(std::string_view bytes);

/// A ModelInferResponse with raw_output_contents. Throws Refusal (bad_request) for an output that the protocol has no
/// datatype for.
std::string write_infer(const InferResponse& response);
/// A ModelStreamInferResponse with a result, and its parameter "triton_final_response"; throws as write_infer().
std::string write_stream_part(const InferResponse& response);
std::string write_stream_result(const InferResponse& response);  ///< the last one
/// A ModelStreamInferResponse that tells why the request `id` has none.
std::string write_stream_error(std::string_view text, std::string_view id);

/// A response whose only field is a truth value: ServerLive, ServerReady, ModelReady.
std::string write_truth(bool truth);
std::string write_server_metadata(std::string_view version, std::span<const std::string_view> extensions);

using ServedModels = std::vector<std::shared_ptr<const Served>>;
std::string write_model_metadata(const Served& served, const ServedModels& versions);
/// A ModelConfigResponse with what Triton's ModelConfig says about names, types and the batch size.
std::string write_model_config(const Served& served);
/// The statistics that a caller may see.
std::string write_model_statistics(const ServedModels& models, const Tenants::Asker& asker);
/// The versions that a caller may use. `ready`: without those that are not ready.
std::string write_repository_index(const Repository& models, bool ready, const Tenants::Asker& asker);

enum class Serving : std::int32_t { yes = 1, no = 2 };
std::string write_health_check(Serving serving);

}  // namespace frazil::server::proto
