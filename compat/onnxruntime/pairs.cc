#include "compat/onnxruntime/pairs.h"

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/status.h"

namespace frazil::ort {

void CreateKeyValuePairs(OrtKeyValuePairs** out) { *out = new OrtKeyValuePairs; }
void AddKeyValuePair(OrtKeyValuePairs* kvps, const char* key, const char* value) {
  if (kvps != nullptr && key != nullptr) kvps->set(key, value);
}
const char* GetKeyValue(const OrtKeyValuePairs* kvps, const char* key) {
  if (kvps == nullptr || key == nullptr) return nullptr;
  const auto found = kvps->entries.find(std::string_view(key));
  return found == kvps->entries.end() ? nullptr : found->second.c_str();
}
void GetKeyValuePairs(const OrtKeyValuePairs* kvps, const char* const** keys, const char* const** values,
                      std::size_t* num_entries) {
  *keys = kvps->keys.data();
  *values = kvps->values.data();
  *num_entries = kvps->keys.size();
}
void RemoveKeyValuePair(OrtKeyValuePairs* kvps, const char* key) {
  if (kvps != nullptr && key != nullptr) kvps->remove(key);
}
void ReleaseKeyValuePairs(OrtKeyValuePairs* input) { delete input; }

}  // namespace frazil::ort
