#pragma once

#include <string>

#include "ir/graph/graph.h"

namespace frazil::pass {

/// Returns the reasons why products of probabilities with values were not recognised as attention, one per product.
std::string attention_rejections(const Graph& graph);

}  // namespace frazil::pass
