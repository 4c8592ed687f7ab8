#pragma once

#include <string>

#include "ir/graph.h"

namespace frazil {

/// Why products of probabilities with values were left apart, one after the other.
std::string attention_apart(const Graph& graph);

}  // namespace frazil
