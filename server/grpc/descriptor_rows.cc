#include "server/grpc/descriptors.h"

namespace frazil::server::proto {
namespace {

// ---- Open Inference Protocol v2 with Triton's extensions ----

constexpr MessageRow kMessages[] = {
    {"ServerLiveRequest"},
    {"ServerLiveResponse", "live:1:bool"},
    {"ServerReadyRequest"},
    {"ServerReadyResponse", "ready:1:bool"},
    {"ModelReadyRequest", "name:1:string version:2:string"},
    {"ModelReadyResponse", "ready:1:bool"},
    {"ServerMetadataRequest"},
    {"ServerMetadataResponse", "name:1:string version:2:string *extensions:3:string"},
    {"ModelMetadataRequest", "name:1:string version:2:string"},
    {"ModelMetadataResponse",
     "name:1:string *versions:2:string platform:3:string *inputs:4:ModelMetadataResponse.TensorMetadata "
     "*outputs:5:ModelMetadataResponse.TensorMetadata"},
    {"ModelMetadataResponse.TensorMetadata", "name:1:string datatype:2:string *shape:3:int64"},
    {"InferParameter",
     "?bool_param:1:bool ?int64_param:2:int64 ?string_param:3:string ?double_param:4:double ?uint64_param:5:uint64"},
    {"InferTensorContents",
     "*bool_contents:1:bool *int_contents:2:int32 *int64_contents:3:int64 *uint_contents:4:uint32 "
     "*uint64_contents:5:uint64 *fp32_contents:6:float *fp64_contents:7:double *bytes_contents:8:bytes"},
    {"ModelInferRequest",
     "model_name:1:string model_version:2:string id:3:string %parameters:4:InferParameter "
     "*inputs:5:ModelInferRequest.InferInputTensor *outputs:6:ModelInferRequest.InferRequestedOutputTensor "
     "*raw_input_contents:7:bytes"},
    {"ModelInferRequest.InferInputTensor",
     "name:1:string datatype:2:string *shape:3:int64 %parameters:4:InferParameter contents:5:InferTensorContents"},
    {"ModelInferRequest.InferRequestedOutputTensor", "name:1:string %parameters:2:InferParameter"},
    {"ModelInferResponse",
     "model_name:1:string model_version:2:string id:3:string %parameters:4:InferParameter "
     "*outputs:5:ModelInferResponse.InferOutputTensor *raw_output_contents:6:bytes"},
    {"ModelInferResponse.InferOutputTensor",
     "name:1:string datatype:2:string *shape:3:int64 %parameters:4:InferParameter contents:5:InferTensorContents"},
    {"ModelStreamInferResponse", "error_message:1:string infer_response:2:ModelInferResponse"},
    {"ModelConfigRequest", "name:1:string version:2:string"},
    {"ModelConfigResponse", "config:1:ModelConfig"},
    {"ModelConfig",
     "name:1:string platform:2:string max_batch_size:4:int32 *input:5:ModelInput *output:6:ModelOutput "
     "dynamic_batching:11:ModelDynamicBatching sequence_batching:13:ModelSequenceBatching "
     "model_transaction_policy:19:ModelTransactionPolicy"},
    {"ModelInput", "name:1:string data_type:2:#DataType *dims:4:int64"},
    {"ModelOutput", "name:1:string data_type:2:#DataType *dims:3:int64"},
    {"ModelTransactionPolicy", "decoupled:1:bool"},
    {"ModelQueuePolicy",
     "timeout_action:1:#ModelQueuePolicy.TimeoutAction default_timeout_microseconds:2:uint64 "
     "allow_timeout_override:3:bool max_queue_size:4:uint32"},
    {"ModelDynamicBatching",
     "*preferred_batch_size:1:int32 max_queue_delay_microseconds:2:uint64 preserve_ordering:3:bool "
     "priority_levels:4:uint64 default_priority_level:5:uint64 default_queue_policy:6:ModelQueuePolicy"},
    {"ModelSequenceBatching",
     "max_sequence_idle_microseconds:1:uint64 oldest:4:ModelSequenceBatching.StrategyOldest "
     "*state:5:ModelSequenceBatching.State"},
    {"ModelSequenceBatching.StrategyOldest",
     "max_candidate_sequences:1:int32 *preferred_batch_size:2:int32 max_queue_delay_microseconds:3:uint64 "
     "preserve_ordering:4:bool"},
    {"ModelSequenceBatching.State", "input_name:1:string output_name:2:string data_type:3:#DataType *dims:4:int64"},
    {"ModelStatisticsRequest", "name:1:string version:2:string"},
    {"ModelStatisticsResponse", "*model_stats:1:ModelStatistics"},
    {"StatisticDuration", "count:1:uint64 ns:2:uint64"},
    {"InferStatistics",
     "success:1:StatisticDuration fail:2:StatisticDuration queue:3:StatisticDuration "
     "compute_input:4:StatisticDuration compute_infer:5:StatisticDuration compute_output:6:StatisticDuration"},
    {"InferBatchStatistics",
     "batch_size:1:uint64 compute_input:2:StatisticDuration compute_infer:3:StatisticDuration "
     "compute_output:4:StatisticDuration"},
    {"ModelStatistics",
     "name:1:string version:2:string last_inference:3:uint64 inference_count:4:uint64 execution_count:5:uint64 "
     "inference_stats:6:InferStatistics *batch_stats:7:InferBatchStatistics"},
    {"ModelRepositoryParameter", "?bool_param:1:bool ?int64_param:2:int64 ?string_param:3:string ?bytes_param:4:bytes"},
    {"RepositoryIndexRequest", "repository_name:1:string ready:2:bool"},
    {"RepositoryIndexResponse", "*models:1:RepositoryIndexResponse.ModelIndex"},
    {"RepositoryIndexResponse.ModelIndex", "name:1:string version:2:string state:3:string reason:4:string"},
    {"RepositoryModelLoadRequest",
     "repository_name:1:string model_name:2:string %parameters:3:ModelRepositoryParameter"},
    {"RepositoryModelLoadResponse"},
    {"RepositoryModelUnloadRequest",
     "repository_name:1:string model_name:2:string %parameters:3:ModelRepositoryParameter"},
    {"RepositoryModelUnloadResponse"},
    {"SystemSharedMemoryStatusRequest", "name:1:string"},
    {"SystemSharedMemoryStatusResponse", "%regions:1:SystemSharedMemoryStatusResponse.RegionStatus"},
    {"SystemSharedMemoryStatusResponse.RegionStatus", "name:1:string key:2:string offset:3:uint64 byte_size:4:uint64"},
    {"SystemSharedMemoryRegisterRequest", "name:1:string key:2:string offset:3:uint64 byte_size:4:uint64"},
    {"SystemSharedMemoryRegisterResponse"},
    {"SystemSharedMemoryUnregisterRequest", "name:1:string"},
    {"SystemSharedMemoryUnregisterResponse"},
    {"TraceSettingRequest", "%settings:1:TraceSettingRequest.SettingValue model_name:2:string"},
    {"TraceSettingRequest.SettingValue", "*value:1:string"},
    {"TraceSettingResponse", "%settings:1:TraceSettingResponse.SettingValue"},
    {"TraceSettingResponse.SettingValue", "*value:1:string"},
    {"LogSettingsRequest", "%settings:1:LogSettingsRequest.SettingValue"},
    {"LogSettingsRequest.SettingValue", "?bool_param:1:bool ?uint32_param:2:uint32 ?string_param:3:string"},
    {"LogSettingsResponse", "%settings:1:LogSettingsResponse.SettingValue"},
    {"LogSettingsResponse.SettingValue", "?bool_param:1:bool ?uint32_param:2:uint32 ?string_param:3:string"},
};

constexpr EnumRow kEnums[] = {
    {"DataType",
     "TYPE_INVALID:0 TYPE_BOOL:1 TYPE_UINT8:2 TYPE_UINT16:3 TYPE_UINT32:4 TYPE_UINT64:5 TYPE_INT8:6 TYPE_INT16:7 "
     "TYPE_INT32:8 TYPE_INT64:9 TYPE_FP16:10 TYPE_FP32:11 TYPE_FP64:12 TYPE_STRING:13 TYPE_BF16:14"},
    {"ModelQueuePolicy.TimeoutAction", "REJECT:0 DELAY:1"},
};

constexpr MethodRow kInferenceMethods[] = {
    {"ServerLive", "ServerLiveRequest", "ServerLiveResponse"},
    {"ServerReady", "ServerReadyRequest", "ServerReadyResponse"},
    {"ModelReady", "ModelReadyRequest", "ModelReadyResponse"},
    {"ServerMetadata", "ServerMetadataRequest", "ServerMetadataResponse"},
    {"ModelMetadata", "ModelMetadataRequest", "ModelMetadataResponse"},
    {"ModelInfer", "ModelInferRequest", "ModelInferResponse"},
    {"ModelStreamInfer", "ModelInferRequest", "ModelStreamInferResponse", true, true},
    {"ModelConfig", "ModelConfigRequest", "ModelConfigResponse"},
    {"ModelStatistics", "ModelStatisticsRequest", "ModelStatisticsResponse"},
    {"RepositoryIndex", "RepositoryIndexRequest", "RepositoryIndexResponse"},
    {"RepositoryModelLoad", "RepositoryModelLoadRequest", "RepositoryModelLoadResponse"},
    {"RepositoryModelUnload", "RepositoryModelUnloadRequest", "RepositoryModelUnloadResponse"},
    {"SystemSharedMemoryStatus", "SystemSharedMemoryStatusRequest", "SystemSharedMemoryStatusResponse"},
    {"SystemSharedMemoryRegister", "SystemSharedMemoryRegisterRequest", "SystemSharedMemoryRegisterResponse"},
    {"SystemSharedMemoryUnregister", "SystemSharedMemoryUnregisterRequest", "SystemSharedMemoryUnregisterResponse"},
    {"TraceSetting", "TraceSettingRequest", "TraceSettingResponse"},
    {"LogSettings", "LogSettingsRequest", "LogSettingsResponse"},
};
constexpr ServiceRow kInferenceServices[] = {{"GRPCInferenceService", kInferenceMethods}};

// ---- gRPC's health service ----

constexpr MessageRow kHealthMessages[] = {
    {"HealthCheckRequest", "service:1:string"},
    {"HealthCheckResponse", "status:1:#HealthCheckResponse.ServingStatus"},
};
constexpr EnumRow kHealthEnums[] = {
    {"HealthCheckResponse.ServingStatus", "UNKNOWN:0 SERVING:1 NOT_SERVING:2 SERVICE_UNKNOWN:3"}};
constexpr MethodRow kHealthMethods[] = {{"Check", "HealthCheckRequest", "HealthCheckResponse"},
                                        {"Watch", "HealthCheckRequest", "HealthCheckResponse", false, true}};
constexpr ServiceRow kHealthServices[] = {{"Health", kHealthMethods}};

// ---- gRPC's server reflection, whose two versions differ in the package alone ----

constexpr MessageRow kReflectionMessages[] = {
    {"ServerReflectionRequest",
     "host:1:string ?file_by_filename:3:string ?file_containing_symbol:4:string "
     "?file_containing_extension:5:ExtensionRequest ?all_extension_numbers_of_type:6:string ?list_services:7:string"},
    {"ExtensionRequest", "containing_type:1:string extension_number:2:int32"},
    {"ServerReflectionResponse",
     "valid_host:1:string original_request:2:ServerReflectionRequest "
     "?file_descriptor_response:4:FileDescriptorResponse "
     "?all_extension_numbers_response:5:ExtensionNumberResponse ?list_services_response:6:ListServiceResponse "
     "?error_response:7:ErrorResponse"},
    {"FileDescriptorResponse", "*file_descriptor_proto:1:bytes"},
    {"ExtensionNumberResponse", "base_type_name:1:string *extension_number:2:int32"},
    {"ListServiceResponse", "*service:1:ServiceResponse"},
    {"ServiceResponse", "name:1:string"},
    {"ErrorResponse", "error_code:1:int32 error_message:2:string"},
};
constexpr MethodRow kReflectionMethods[] = {
    {"ServerReflectionInfo", "ServerReflectionRequest", "ServerReflectionResponse", true, true}};
constexpr ServiceRow kReflectionServices[] = {{"ServerReflection", kReflectionMethods}};

constexpr ProtoFile kFiles[] = {
    {"inference.proto", "inference", kMessages, kEnums, kInferenceServices},
    {"grpc/health/v1/health.proto", "grpc.health.v1", kHealthMessages, kHealthEnums, kHealthServices},
    {"grpc/reflection/v1/reflection.proto", "grpc.reflection.v1", kReflectionMessages, {}, kReflectionServices},
    {"grpc/reflection/v1alpha/reflection.proto",
     "grpc.reflection.v1alpha",
     kReflectionMessages,
     {},
     kReflectionServices},
};

}  // namespace

std::span<const ProtoFile> proto_files() { return kFiles; }

}  // namespace frazil::server::proto
