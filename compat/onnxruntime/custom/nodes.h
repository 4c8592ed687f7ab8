#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compat/onnxruntime/graph/graph.h"

namespace frazil::ort {

/// A model file whose nodes of custom operators are numbered: the attributes of each are replaced by the integer kNode,
/// its index in `nodes`, because custom operators do not declare which attributes they have.
struct NumberedFile {
  static constexpr const char* kNode = "frazil_node";
  std::string bytes;
  std::vector<OrtNode> nodes;
};

/// Numbers the nodes, also those of bodies and functions, whose operator is `custom`. The domain of ai.onnx is "".
/// Throws ORT_INVALID_PROTOBUF for a damaged file.
NumberedFile number_nodes(const std::string& file,
                          const std::function<bool(std::string_view domain, std::string_view op)>& custom);

}  // namespace frazil::ort
