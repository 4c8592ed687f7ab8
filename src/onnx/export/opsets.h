#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "base/value/error.h"
#include "ir/graph/graph.h"

namespace frazil::onnx {

/// Returns the opset of each domain that a model of this graph imports. `wanted` is the opset of ai.onnx.
Result<std::map<std::string_view, std::int64_t>> opsets_for(const Graph& graph, std::optional<std::int64_t> wanted);

/// Returns the IR version that ONNX releases pair with an ai.onnx opset.
std::int64_t ir_version_for(std::int64_t opset);

}  // namespace frazil::onnx
