#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "base/value/error.h"
#include "ir/graph/graph.h"

namespace frazil::onnx {

/// The opsets that a model of this graph imports, per domain; `wanted` is that of ai.onnx.
Result<std::map<std::string_view, std::int64_t>> opsets_for(const Graph& graph, std::optional<std::int64_t> wanted);

/// The IR version that ONNX's releases pair with an ai.onnx opset.
std::int64_t ir_version_for(std::int64_t opset);

}  // namespace frazil::onnx
