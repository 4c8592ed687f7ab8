#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"

/// Texts by key, sorted, with the arrays of pointers that GetKeyValuePairs returns.
struct OrtKeyValuePairs {
  void set(const char* key, const char* value) {
    entries[key] = value == nullptr ? "" : value;
    update();
  }
  void remove(const char* key) {
    entries.erase(key);
    update();
  }
  void update() {
    keys.clear();
    values.clear();
    for (const auto& [key, value] : entries) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
  }

  std::map<std::string, std::string, std::less<>> entries;
  std::vector<const char*> keys, values;
};
