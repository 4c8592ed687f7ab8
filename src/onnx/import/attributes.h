#pragma once

#include <map>
#include <memory>
#include <vector>

#include "onnx/import/frames.h"
#include "onnx/import/functions.h"

namespace frazil::onnx {

/// Returns the attributes of a node. An attribute that refers to a function's attribute takes the value of the call of
/// `cx`; it is left out if the call has none.
Result<std::vector<NamedAttr>> decode_attributes(const Source& source, const NameContext& cx, const NodeParts& node,
                                                 RepeatedBytes& repeated);

/// Returns the attributes of a call, with the function's defaults. Graphs among them get the scope `cx`, the context of
/// the call.
Result<std::map<std::string_view, NamedAttr>> call_attributes(const Source& source,
                                                              const std::shared_ptr<NameContext>& cx,
                                                              const NodeParts& node, const FunctionParts& function,
                                                              RepeatedBytes& repeated);

}  // namespace frazil::onnx
