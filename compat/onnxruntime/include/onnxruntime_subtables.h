#pragma once

/* The tables that functions of OrtApi return. Included by onnxruntime_c_api.h. */

/* NOLINTBEGIN(modernize-*, readability-*): plain C */
#include "onnxruntime_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of GetModelEditorApi(). */
struct OrtModelEditorApi {
  OrtStatus* (*CreateTensorTypeInfo)(const OrtTensorTypeAndShapeInfo* tensor_info, OrtTypeInfo** type_info);
  OrtStatus* (*CreateSparseTensorTypeInfo)(const OrtTensorTypeAndShapeInfo* tensor_info, OrtTypeInfo** type_info);
  OrtStatus* (*CreateMapTypeInfo)(ONNXTensorElementDataType map_key_type, const OrtTypeInfo* map_value_type,
                                  OrtTypeInfo** type_info);
  OrtStatus* (*CreateSequenceTypeInfo)(const OrtTypeInfo* sequence_type, OrtTypeInfo** type_info);
  OrtStatus* (*CreateOptionalTypeInfo)(const OrtTypeInfo* contained_type, OrtTypeInfo** type_info);
  OrtStatus* (*CreateValueInfo)(const char* name, const OrtTypeInfo* type_info, OrtValueInfo** value_info);
  OrtStatus* (*CreateNode)(const char* operator_name, const char* domain_name, const char* node_name,
                           const char* const* input_names, size_t input_names_len, const char* const* output_names,
                           size_t output_names_len, OrtOpAttr** attributes, size_t attribs_len, OrtNode** node);
  OrtStatus* (*CreateGraph)(OrtGraph** graph);
  OrtStatus* (*SetGraphInputs)(OrtGraph* graph, OrtValueInfo** inputs, size_t inputs_len);
  OrtStatus* (*SetGraphOutputs)(OrtGraph* graph, OrtValueInfo** outputs, size_t outputs_len);
  OrtStatus* (*AddInitializerToGraph)(OrtGraph* graph, const char* name, OrtValue* tensor, bool data_is_external);
  OrtStatus* (*AddNodeToGraph)(OrtGraph* graph, OrtNode* node);
  OrtStatus* (*CreateModel)(const char* const* domain_names, const int* opset_versions, size_t opset_entries_len,
                            OrtModel** model);
  OrtStatus* (*AddGraphToModel)(OrtModel* model, OrtGraph* graph);
  OrtStatus* (*CreateSessionFromModel)(const OrtEnv* env, const OrtModel* model, const OrtSessionOptions* options,
                                       OrtSession** out);
  OrtStatus* (*CreateModelEditorSession)(const OrtEnv* env, const char* model_path, const OrtSessionOptions* options,
                                         OrtSession** out);
  OrtStatus* (*CreateModelEditorSessionFromArray)(const OrtEnv* env, const void* model_data, size_t model_data_length,
                                                  const OrtSessionOptions* options, OrtSession** out);
  OrtStatus* (*SessionGetOpsetForDomain)(const OrtSession* session, const char* domain, int* opset);
  OrtStatus* (*ApplyModelToModelEditorSession)(OrtSession* session, OrtModel* model);
  OrtStatus* (*FinalizeModelEditorSession)(OrtSession* session, const OrtSessionOptions* options,
                                           OrtPrepackedWeightsContainer* prepacked_weights_container);
};

/* Of GetCompileApi(). */
struct OrtCompileApi {
  void (*ReleaseModelCompilationOptions)(OrtModelCompilationOptions* input);
  OrtStatus* (*CreateModelCompilationOptionsFromSessionOptions)(const OrtEnv* env,
                                                                const OrtSessionOptions* session_options,
                                                                OrtModelCompilationOptions** out);
  OrtStatus* (*ModelCompilationOptions_SetInputModelPath)(OrtModelCompilationOptions* model_compile_options,
                                                          const char* input_model_path);
  OrtStatus* (*ModelCompilationOptions_SetInputModelFromBuffer)(OrtModelCompilationOptions* model_compile_options,
                                                                const void* input_model_data,
                                                                size_t input_model_data_size);
  OrtStatus* (*ModelCompilationOptions_SetOutputModelPath)(OrtModelCompilationOptions* model_compile_options,
                                                           const char* output_model_path);
  OrtStatus* (*ModelCompilationOptions_SetOutputModelExternalInitializersFile)(
      OrtModelCompilationOptions* model_compile_options, const char* external_initializers_file_path,
      size_t external_initializers_size_threshold);
  OrtStatus* (*ModelCompilationOptions_SetOutputModelBuffer)(OrtModelCompilationOptions* model_compile_options,
                                                             OrtAllocator* allocator, void** output_model_buffer_ptr,
                                                             size_t* output_model_buffer_size_ptr);
  OrtStatus* (*ModelCompilationOptions_SetEpContextEmbedMode)(OrtModelCompilationOptions* model_compile_options,
                                                              bool embed_ep_context_in_model);
  OrtStatus* (*CompileModel)(const OrtEnv* env, const OrtModelCompilationOptions* model_options);
  OrtStatus* (*ModelCompilationOptions_SetFlags)(OrtModelCompilationOptions* options, uint32_t flags);
  OrtStatus* (*ModelCompilationOptions_SetEpContextBinaryInformation)(OrtModelCompilationOptions* options,
                                                                      const ORTCHAR_T* output_directory,
                                                                      const ORTCHAR_T* model_name);
  OrtStatus* (*ModelCompilationOptions_SetGraphOptimizationLevel)(OrtModelCompilationOptions* options,
                                                                  GraphOptimizationLevel level);
  OrtStatus* (*ModelCompilationOptions_SetOutputModelWriteFunc)(OrtModelCompilationOptions* options,
                                                                OrtWriteBufferFunc write_func, void* state);
  OrtStatus* (*ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc)(OrtModelCompilationOptions* options,
                                                                                 OrtGetInitializerLocationFunc function,
                                                                                 void* state);
  OrtStatus* (*ModelCompilationOptions_SetInputModel)(OrtModelCompilationOptions* options, const OrtModel* model);
  OrtStatus* (*ModelCompilationOptions_SetWeightlessEnabled)(OrtModelCompilationOptions* options, bool use_weightless);
};

/* Of GetInteropApi(). */
struct OrtInteropApi {
  OrtStatus* (*CreateExternalResourceImporterForDevice)(const OrtEpDevice* ep_device,
                                                        OrtExternalResourceImporter** out);
  void (*ReleaseExternalResourceImporter)(OrtExternalResourceImporter* input);
  OrtStatus* (*CanImportMemory)(const OrtExternalResourceImporter* importer, OrtExternalMemoryHandleType type,
                                bool* out);
  OrtStatus* (*ImportMemory)(OrtExternalResourceImporter* importer, const OrtExternalMemoryDescriptor* descriptor,
                             OrtExternalMemoryHandle** out);
  void (*ReleaseExternalMemoryHandle)(OrtExternalMemoryHandle* input);
  OrtStatus* (*CreateTensorFromMemory)(OrtExternalResourceImporter* importer, const OrtExternalMemoryHandle* memory,
                                       const OrtExternalTensorDescriptor* descriptor, OrtValue** out);
  OrtStatus* (*CanImportSemaphore)(const OrtExternalResourceImporter* importer, OrtExternalSemaphoreType type,
                                   bool* out);
  OrtStatus* (*ImportSemaphore)(OrtExternalResourceImporter* importer, const OrtExternalSemaphoreDescriptor* descriptor,
                                OrtExternalSemaphoreHandle** out);
  void (*ReleaseExternalSemaphoreHandle)(OrtExternalSemaphoreHandle* input);
  OrtStatus* (*WaitSemaphore)(OrtExternalResourceImporter* importer, OrtExternalSemaphoreHandle* semaphore,
                              OrtSyncStream* stream, uint64_t value);
  OrtStatus* (*SignalSemaphore)(OrtExternalResourceImporter* importer, OrtExternalSemaphoreHandle* semaphore,
                                OrtSyncStream* stream, uint64_t value);
  OrtStatus* (*InitGraphicsInteropForEpDevice)(const OrtEpDevice* ep_device, const OrtGraphicsInteropConfig* config);
  OrtStatus* (*DeinitGraphicsInteropForEpDevice)(const OrtEpDevice* ep_device);
};

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-*, readability-*) */
