#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "ir/graph.h"

namespace frazil::onnx {

struct ExportOptions {
  /// Of ai.onnx; Code::bad_input, naming the node, when a node cannot be said in it. Absent: the oldest that all nodes
  /// can be said in, and not older than that of the model the graph came from.
  std::optional<std::int64_t> opset;
  /// Tensors of at least so many bytes go into a file beside the model, named like it with ".data" behind; 0: none do.
  std::size_t external_bytes = 0;
};

/// The graph as an ONNX model. Names of values are kept where they are unique; others get one. What the model that it
/// came from said of itself is said again, and its functions are called again where their nodes are still together.
/// Importing the result gives a graph of the same hash. Operators of other domains than ONNX's stay in theirs.
/// Code::limit above 2 GiB, which no protobuf holds.
Result<std::string> export_model(const Graph& graph, const ExportOptions& options = {});

/// The same into a file, and the file of external data, each replaced at once.
Status export_file(const Graph& graph, const std::string& path, const ExportOptions& options = {});

}  // namespace frazil::onnx
