#pragma once

#include "ir/graph.h"

namespace frazil {

/// Looks for our own mistakes in a graph; Code::internal with the node described.
///   1: tables agree: definitions come before uses and lie in enclosing blocks, owners, names, stable ids
///   2: types inferred again are the same, up to the numbers of data-dependent symbols
///   3: the text form reads back to the same text
/// Each level includes those below; 0 checks nothing.
Status verify(const Graph& graph, int level);

}  // namespace frazil
