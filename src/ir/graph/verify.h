#pragma once

#include "ir/graph/graph.h"

namespace frazil {

/// Checks the internal consistency of a graph. Returns Code::internal, naming the node, for a violation.
///   1: tables agree: definitions come before uses and in enclosing blocks, owners, names, stable ids
///   2: types inferred again are the same, up to the numbers of unbacked symbols
///   3: the text form parses back to the same text
/// Each level includes those below; 0 checks nothing.
Status verify(const Graph& graph, int level);

}  // namespace frazil
