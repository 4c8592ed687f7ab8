#pragma once

#include "govern/base/json.h"
#include "govern/report/input_flow.h"

namespace frazil::govern {

/// Returns the selections of a model for reviewers: nodes If, Loop, Where, Compress and Gather (with GatherElements and
/// GatherND) whose condition, mask or index follows from a comparison of inputs with a constant:
///   [{node, kind, inputs, compares: [{node, with, inputs}], more?}]
/// `with` is the constant's text, or its type and SHA-256 if it has more than eight elements. Of the comparisons, those
/// without another comparison or selection between them and the node are listed, at most 64; `more` is true if there
/// are more. Masks that only arithmetic applies are not selections.
Json selections_of(const InputFlow& flow);

}  // namespace frazil::govern
