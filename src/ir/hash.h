#pragma once

#include <cstdint>

#include "base/hash.h"
#include "ir/graph.h"

namespace frazil {

/// Small tensors are hashed by elements, large ones by type and address.
std::uint64_t hash_of(const Tensor& tensor);
/// Adds all attribute values of the node.
void add_attributes(Hasher& hasher, const Node& node);

}  // namespace frazil
