#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/value/error.h"
#include "ir/graph/graph.h"

namespace frazil::onnx {

struct ExportOptions {
  /// Opset of ai.onnx. Unset: the oldest opset that can express all nodes, and at least that of the imported model.
  /// Export fails with Code::bad_input, naming the node, if the opset cannot express a node.
  std::optional<std::int64_t> opset;
  /// Minimal size in bytes of tensors that are written to "<path>.data". 0 writes none there.
  std::size_t external_bytes = 0;
};

/// Returns the graph as an ONNX model. Importing the result gives a graph with the same hash.
///
/// Unique names of values are kept; other values get a unique name. Metadata of the imported model are written again.
/// Functions are called again if the nodes of a call are still consecutive. Operators of other domains keep their
/// domain. Fails with Code::limit above 2 GiB, the limit of protobuf.
Result<std::string> export_model(const Graph& graph, const ExportOptions& options = {});

/// Exports the graph to a file and its external data file. Each file is replaced atomically.
Status export_file(const Graph& graph, const std::string& path, const ExportOptions& options = {});

}  // namespace frazil::onnx
