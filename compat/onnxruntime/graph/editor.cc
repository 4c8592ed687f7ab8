// The table of the model editor: graphs that programs make, and sessions whose model they extend.
#include <utility>

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/graph/graph.h"
#include "compat/onnxruntime/refusal.h"
#include "compat/onnxruntime/session/session.h"
#include "compat/onnxruntime/status.h"

namespace frazil::ort {
namespace {

std::shared_ptr<const OrtTypeInfo> part(const OrtTypeInfo* type) {
  require(type, "type");
  return std::make_shared<const OrtTypeInfo>(*type);
}

OrtStatus* create_tensor_type(const OrtTensorTypeAndShapeInfo* tensor_info, OrtTypeInfo** type_info) {
  return guarded([&] {
    require(tensor_info, "tensor_info");
    *type_info = new OrtTypeInfo(tensor_type(*tensor_info));
  });
}
OrtStatus* create_map_type(ONNXTensorElementDataType map_key_type, const OrtTypeInfo* map_value_type,
                           OrtTypeInfo** type_info) {
  return guarded(
      [&] { *type_info = new OrtTypeInfo{.kind = ONNX_TYPE_MAP, .map = {map_key_type, part(map_value_type)}}; });
}
OrtStatus* create_sequence_type(const OrtTypeInfo* sequence_type, OrtTypeInfo** type_info) {
  return guarded([&] { *type_info = new OrtTypeInfo{.kind = ONNX_TYPE_SEQUENCE, .sequence = {part(sequence_type)}}; });
}
OrtStatus* create_optional_type(const OrtTypeInfo* contained_type, OrtTypeInfo** type_info) {
  return guarded([&] { *type_info = new OrtTypeInfo{.kind = ONNX_TYPE_OPTIONAL, .optional = {part(contained_type)}}; });
}
OrtStatus* create_value_info(const char* name, const OrtTypeInfo* type_info, OrtValueInfo** value_info) {
  return guarded([&] {
    require(name, "name");
    require(type_info, "type_info");
    *value_info = new OrtValueInfo{name, *type_info};
  });
}

std::vector<std::string> texts(const char* const* first, std::size_t count) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < count; ++i) result.emplace_back(first[i] == nullptr ? "" : first[i]);
  return result;
}

/// The functions that take objects from the program set its pointers to null, so that it releases nothing twice.
OrtStatus* create_node(const char* operator_name, const char* domain_name, const char* node_name,
                       const char* const* input_names, std::size_t input_names_len, const char* const* output_names,
                       std::size_t output_names_len, OrtOpAttr** attributes, std::size_t attribs_len, OrtNode** node) {
  return guarded([&] {
    require(operator_name, "operator_name");
    auto made = std::make_unique<OrtNode>(OrtNode{operator_name,
                                                  domain_name == nullptr ? "" : domain_name,
                                                  node_name == nullptr ? "" : node_name,
                                                  texts(input_names, input_names_len),
                                                  texts(output_names, output_names_len),
                                                  {}});
    for (std::size_t i = 0; i < attribs_len; ++i) made->attributes.emplace_back(std::exchange(attributes[i], nullptr));
    *node = made.release();
  });
}
OrtStatus* create_graph(OrtGraph** graph) {
  return guarded([&] { *graph = new OrtGraph; });
}

std::vector<OrtValueInfo> taken(OrtValueInfo** infos, std::size_t count) {
  std::vector<OrtValueInfo> result;
  for (std::size_t i = 0; i < count; ++i) {
    require(infos[i], "value_info");
    result.push_back(*infos[i]);
  }
  for (std::size_t i = 0; i < count; ++i) delete std::exchange(infos[i], nullptr);
  return result;
}
OrtStatus* set_inputs(OrtGraph* graph, OrtValueInfo** inputs, std::size_t inputs_len) {
  return guarded([&] { graph->inputs = taken(inputs, inputs_len); });
}
OrtStatus* set_outputs(OrtGraph* graph, OrtValueInfo** outputs, std::size_t outputs_len) {
  return guarded([&] { graph->outputs = taken(outputs, outputs_len); });
}
OrtStatus* add_initializer(OrtGraph* graph, const char* name, OrtValue* value, bool) {
  return guarded([&] {
    require(name, "name");
    tensor(value, "tensor");
    graph->initializers.push_back({name, ValueHandle(value)});
  });
}
OrtStatus* add_node(OrtGraph* graph, OrtNode* node) {
  return guarded([&] {
    require(node, "node");
    graph->nodes.emplace_back(node);
  });
}
OrtStatus* create_model(const char* const* domain_names, const int* opset_versions, std::size_t opset_entries_len,
                        OrtModel** model) {
  return guarded([&] {
    auto made = std::make_unique<OrtModel>();
    for (std::size_t i = 0; i < opset_entries_len; ++i) made->opsets[domain_names[i]] = opset_versions[i];
    *model = made.release();
  });
}
OrtStatus* add_graph(OrtModel* model, OrtGraph* graph) {
  return guarded([&] {
    require(graph, "graph");
    model->graph.reset(graph);
  });
}

OrtStatus* create_session(const OrtEnv* env, const OrtModel* model, const OrtSessionOptions* options,
                          OrtSession** out) {
  return guarded([&] {
    require(model, "model");
    const std::string file = file_of(*model);
    check(CreateSessionFromArray(env, file.data(), file.size(), options, out));
  });
}

OrtStatus* create_editing(const OrtEnv* env, const char* model_path, const OrtSessionOptions* options,
                          OrtSession** out) {
  return guarded([&] {
    check(CreateSession(env, model_path, options, out));
    (*out)->edited_file = content_of(model_path);
    (*out)->edited_folder = folder_of(model_path);
  });
}
OrtStatus* create_editing_from_array(const OrtEnv* env, const void* model_data, std::size_t model_data_length,
                                     const OrtSessionOptions* options, OrtSession** out) {
  return guarded([&] {
    check(CreateSessionFromArray(env, model_data, model_data_length, options, out));
    (*out)->edited_file = std::string(static_cast<const char*>(model_data), model_data_length);
  });
}
OrtStatus* opset_of(const OrtSession* session, const char* domain, int* opset) {
  return guarded([&] {
    require(session, "session");
    require(domain, "domain");
    const auto opsets = session->model.metadata().opsets;
    const auto found = opsets.find(domain);
    if (found == opsets.end()) fail(ORT_FAIL, "the model uses no operators of domain '{}'", domain);
    *opset = static_cast<int>(found->second);
  });
}
std::string& file_of_editing(OrtSession* session) {
  require(session, "session");
  if (!session->edited_file) fail(ORT_FAIL, "the session was not made by CreateModelEditorSession");
  return *session->edited_file;
}
OrtStatus* apply(OrtSession* session, OrtModel* model) {
  return guarded([&] {
    std::string& file = file_of_editing(session);
    require(model, "model");
    file = extended(file, *model);
  });
}
OrtStatus* finalize(OrtSession* session, const OrtSessionOptions* options, OrtPrepackedWeightsContainer*) {
  return guarded([&] {
    const std::string& file = file_of_editing(session);
    if (options != nullptr) session->options = *options;
    session->set_model(load_bytes(file.data(), file.size(), session->options, session->edited_folder));
    session->edited_file.reset();
  });
}

constexpr OrtModelEditorApi kEditor = {
    .CreateTensorTypeInfo = create_tensor_type,
    .CreateSparseTensorTypeInfo =
        Refused<decltype(OrtModelEditorApi::CreateSparseTensorTypeInfo), "CreateSparseTensorTypeInfo",
                ORT_NOT_IMPLEMENTED, "Frazil has no sparse tensors: use a dense one">::call,
    .CreateMapTypeInfo = create_map_type,
    .CreateSequenceTypeInfo = create_sequence_type,
    .CreateOptionalTypeInfo = create_optional_type,
    .CreateValueInfo = create_value_info,
    .CreateNode = create_node,
    .CreateGraph = create_graph,
    .SetGraphInputs = set_inputs,
    .SetGraphOutputs = set_outputs,
    .AddInitializerToGraph = add_initializer,
    .AddNodeToGraph = add_node,
    .CreateModel = create_model,
    .AddGraphToModel = add_graph,
    .CreateSessionFromModel = create_session,
    .CreateModelEditorSession = create_editing,
    .CreateModelEditorSessionFromArray = create_editing_from_array,
    .SessionGetOpsetForDomain = opset_of,
    .ApplyModelToModelEditorSession = apply,
    .FinalizeModelEditorSession = finalize,
};

}  // namespace

const OrtModelEditorApi* GetModelEditorApi() { return &kEditor; }

OrtStatus* GetValueInfoName(const OrtValueInfo* value_info, const char** name) {
  return guarded([&] {
    require(value_info, "value_info");
    *name = value_info->name.c_str();
  });
}
OrtStatus* GetValueInfoTypeInfo(const OrtValueInfo* value_info, const OrtTypeInfo** type_info) {
  return guarded([&] {
    require(value_info, "value_info");
    *type_info = &value_info->type;
  });
}
void ReleaseValueInfo(OrtValueInfo* input) { delete input; }
void ReleaseNode(OrtNode* input) { delete input; }
void ReleaseGraph(OrtGraph* input) { delete input; }
void ReleaseModel(OrtModel* input) { delete input; }

}  // namespace frazil::ort
