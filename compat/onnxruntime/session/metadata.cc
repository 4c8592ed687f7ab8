// Functions of the table that describe a model.
#include <algorithm>

#include <frazil/model.h>

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/memory.h"
#include "compat/onnxruntime/session/session.h"
#include "compat/onnxruntime/status.h"

struct OrtModelMetadata {
  frazil::api::Metadata data;
};

namespace frazil::ort {
namespace {

OrtStatus* text(const OrtModelMetadata* metadata, OrtAllocator* allocator, std::string api::Metadata::* member,
                char** value) {
  return guarded([&] {
    require(metadata, "metadata");
    require(allocator, "allocator");
    *value = allocate_text(*allocator, metadata->data.*member);
  });
}

}  // namespace

OrtStatus* SessionGetModelMetadata(const OrtSession* session, OrtModelMetadata** out) {
  return guarded([&] {
    require(session, "session");
    *out = new OrtModelMetadata{session->model.metadata()};
  });
}
void ReleaseModelMetadata(OrtModelMetadata* input) { delete input; }

OrtStatus* ModelMetadataGetProducerName(const OrtModelMetadata* model_metadata, OrtAllocator* allocator, char** value) {
  return text(model_metadata, allocator, &api::Metadata::producer, value);
}
OrtStatus* ModelMetadataGetGraphName(const OrtModelMetadata* model_metadata, OrtAllocator* allocator, char** value) {
  return text(model_metadata, allocator, &api::Metadata::graph_name, value);
}
OrtStatus* ModelMetadataGetDomain(const OrtModelMetadata* model_metadata, OrtAllocator* allocator, char** value) {
  return text(model_metadata, allocator, &api::Metadata::domain, value);
}
OrtStatus* ModelMetadataGetDescription(const OrtModelMetadata* model_metadata, OrtAllocator* allocator, char** value) {
  return text(model_metadata, allocator, &api::Metadata::description, value);
}
OrtStatus* ModelMetadataGetGraphDescription(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                            char** value) {
  return text(model_metadata, allocator, &api::Metadata::graph_description, value);
}
OrtStatus* ModelMetadataGetVersion(const OrtModelMetadata* model_metadata, std::int64_t* value) {
  return guarded([&] {
    require(model_metadata, "metadata");
    *value = model_metadata->data.model_version;
  });
}
OrtStatus* ModelMetadataLookupCustomMetadataMap(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                                const char* key, char** value) {
  return guarded([&] {
    require(model_metadata, "metadata");
    require(allocator, "allocator");
    require(key, "key");
    const auto found = model_metadata->data.properties.find(key);
    *value = found == model_metadata->data.properties.end() ? nullptr : allocate_text(*allocator, found->second);
  });
}
OrtStatus* ModelMetadataGetCustomMetadataMapKeys(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                                 char*** keys, std::int64_t* num_keys) {
  return guarded([&] {
    require(model_metadata, "metadata");
    require(allocator, "allocator");
    const auto& properties = model_metadata->data.properties;
    *num_keys = static_cast<std::int64_t>(properties.size());
    *keys = nullptr;
    if (properties.empty()) return;
    *keys = static_cast<char**>(allocate(*allocator, properties.size() * sizeof(char*)));
    std::ranges::transform(properties, *keys,
                           [&](const auto& entry) { return allocate_text(*allocator, entry.first); });
  });
}

}  // namespace frazil::ort
