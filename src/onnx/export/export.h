#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/value/error.h"
#include "ir/graph/graph.h"

namespace frazil::onnx {

struct ExportOptions {
  /// Opset of ai.onnx; Code::bad_input, naming the node, when it cannot express a node. Unset: the oldest that can
  /// express all nodes, and at least that of the model the graph was imported from.
  std::optional<std::int64_t> opset;
  /// Tensors of at least this many bytes are written to "<path>.data"; 0: none.
  std::size_t external_bytes = 0;
};

/// Returns the graph as an ONNX model. Names of values are kept where they are unique; others get a unique one.
/// Metadata of the imported model are written again; functions are called again where the nodes of a call are still
/// consecutive. Importing the result gives a graph with the same hash. Operators of other domains keep their domain.
/// Code::limit above 2 GiB, the limit of protobuf.
Result<std::string> export_model(const Graph& graph, const ExportOptions& options = {});

/// As export_model, to a file and its external data file; each is replaced atomically.
Status export_file(const Graph& graph, const std::string& path, const ExportOptions& options = {});

}  // namespace frazil::onnx
