#pragma once

#include <string>
#include <vector>

#include "onnx/read/decode.h"
#include "onnx/read/wire.h"

namespace frazil::onnx {

/// Moves the metadata of the main graph `body` and of its values to the information on the model.
Status keep_graph_info(ModelParts& model, GraphParts& body);
/// Moves the notes of a node to the information on the model. `id` is the node's form in the graph.
void keep_notes(ModelInfo& info, const Graph& graph, NodeId id, Notes& notes);
/// Moves the bounds of symbols from the model's metadata to `source`. Warns of malformed bounds and keeps them.
void take_bounds(ModelParts& model, Source& source, std::vector<std::string>& warnings);

}  // namespace frazil::onnx
