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

/// Metadata of a model that does not affect its results; kept for display and export. Texts are as in the file and may
/// hold any bytes.
struct ModelInfo {
  std::int64_t ir_version = 0;  ///< 0: not loaded from a file
  std::int64_t model_version = 0;
  std::string producer, producer_version, domain;
  std::vector<std::pair<std::string, std::int64_t>> opsets;  ///< by domain; ai.onnx is ""
  Notes model, graph;
  std::map<std::string, Notes, std::less<>> values;  ///< of tensors, by their name in the file; main graph only
  std::map<std::uint32_t, Notes> nodes;              ///< by Node::stable; the nodes may have been removed
  struct Quantization {
    std::string tensor;
    Properties parameters;  ///< e.g. SCALE_TENSOR and the tensor's name
  };
  std::vector<Quantization> quantization;
  /// The extents that the file declares for the graph's inputs and outputs, by name: numbers or the texts of dim_param,
  /// empty without either. A value without a shape has no entry.
  using Declared = std::map<std::string, std::vector<std::string>, std::less<>>;
  Declared declared_inputs, declared_outputs;

  /// Metadata of a model-local function.
  struct Function {
    std::string name, domain, overload;
    Notes notes;
  };
  /// An inlined call: the nodes with Node::stable in [first, last) that still exist.
  struct Call {
    using Names = std::vector<std::pair<std::string, std::string>>;
    std::string name;          ///< prefix of its nodes' and values' names, followed by '/'
    std::size_t function = 0;  ///< index in `functions`
    std::uint32_t first = 0, last = 0;
    Names inputs, outputs;  ///< pairs of a value's names in the graph and in the function
    Notes notes;
  };
  std::vector<Function> functions;
  std::vector<Call> calls;  ///< outer calls before the calls inside them
};

}  // namespace frazil
