#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compat/onnxruntime/environment.h"
#include "compat/onnxruntime/graph/graph.h"
#include "compat/onnxruntime/include/onnxruntime_c_api.h"
#include "compat/onnxruntime/value/type_info.h"
#include "compat/onnxruntime/value/value.h"

/// The description of a node that its kernel receives. Copies are independent of the session.
struct OrtKernelInfo {
  std::shared_ptr<const OrtNode> node;
  std::vector<OrtTypeInfo> inputs, outputs;
  std::vector<frazil::ort::ValueHandle> constants;  ///< by input; null for inputs that are not constants
  std::map<std::string, std::string, std::less<>> config;
  OrtLogger logger;
};

/// One call of a kernel.
struct OrtKernelContext {
  const OrtKernelInfo* info;
  std::vector<std::unique_ptr<OrtValue>> inputs;   ///< null: absent
  std::vector<std::unique_ptr<OrtValue>> outputs;  ///< null until the kernel asks for them
  std::vector<std::unique_ptr<void, void (*)(void*)>> scratch;
};

/// The arguments of a function that infers shapes, and its results.
struct OrtShapeInferContext {
  const OrtNode* node;
  std::vector<OrtTensorTypeAndShapeInfo> inputs;
  std::vector<OrtTensorTypeAndShapeInfo> outputs;
};
