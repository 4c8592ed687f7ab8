#pragma once

#include <string>

#include "ir/graph/graph.h"

namespace frazil::pass {

/// Reports why products of probabilities with values were not recognised as attention; one reason per product.
std::string attention_rejections(const Graph& graph);

}  // namespace frazil::pass
