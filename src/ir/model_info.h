#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace frazil {

/// Keys and texts in the order of the file.
using Properties = std::vector<std::pair<std::string, std::string>>;

struct Notes {
  std::string doc;
  Properties metadata;
  bool empty() const { return doc.empty() && metadata.empty(); }
};

/// What a model says of itself and nothing computes with: kept to be shown and to be written again. Texts are as in the
/// file, so they may hold any bytes.
struct ModelInfo {
  std::int64_t ir_version = 0;  ///< 0: it did not come from a file
  std::int64_t model_version = 0;
  std::string producer, producer_version, domain;
  std::vector<std::pair<std::string, std::int64_t>> opsets;  ///< by domain; ai.onnx is ""
  Notes model, graph;
  std::map<std::string, Notes, std::less<>> values;  ///< of tensors, by the name in the file; main graph only
  std::map<std::uint32_t, Notes> nodes;              ///< by Node::stable; nodes may be gone
  struct Quantization {
    std::string tensor;
    Properties parameters;  ///< e.g. SCALE_TENSOR and the tensor's name
  };
  std::vector<Quantization> quantization;

  /// What a model-local function says of itself.
  struct Function {
    std::string name, domain, overload;
    Notes notes;
  };
  /// A call that was inlined: the nodes with Node::stable in [first, last), as far as they are still there.
  struct Call {
    using Names = std::vector<std::pair<std::string, std::string>>;
    std::string name;          ///< in front of those of its nodes and values, with '/' between
    std::size_t function = 0;  ///< in `functions`
    std::uint32_t first = 0, last = 0;
    Names inputs, outputs;  ///< of a value in the graph, and in the function
    Notes notes;
  };
  std::vector<Function> functions;
  std::vector<Call> calls;  ///< outer ones before those in them
};

}  // namespace frazil
