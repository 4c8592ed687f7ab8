#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"
#include "compat/onnxruntime/value/type_info.h"
#include "compat/onnxruntime/value/value.h"

/// An attribute of a node.
struct OrtOpAttr {
  std::string name;
  std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
               std::vector<std::string>, frazil::ort::ValueHandle>
      value;
};

/// The name and type of an input or an output of a graph.
struct OrtValueInfo {
  std::string name;
  OrtTypeInfo type;
};

struct OrtNode {
  std::string op, domain, name;
  std::vector<std::string> inputs, outputs;
  std::vector<std::unique_ptr<OrtOpAttr>> attributes;
};

/// A graph under construction: plain data, which becomes a file when a session is made.
struct OrtGraph {
  struct Initializer {
    std::string name;
    frazil::ort::ValueHandle value;
  };
  std::vector<OrtValueInfo> inputs, outputs;
  std::vector<Initializer> initializers;
  std::vector<std::unique_ptr<OrtNode>> nodes;
};

struct OrtModel {
  std::map<std::string, std::int64_t> opsets;  ///< by domain
  std::unique_ptr<OrtGraph> graph;
};

namespace frazil::ort {

/// Returns the model as an ONNX file. Throws ORT_FAIL if it has no graph.
std::string file_of(const OrtModel& model);
/// Returns the file with the nodes and initializers of `model` at the end of its graph. Inputs and outputs that `model`
/// has replace those of the file. Throws ORT_INVALID_PROTOBUF for a damaged file.
std::string extended(const std::string& file, const OrtModel& model);

}  // namespace frazil::ort
