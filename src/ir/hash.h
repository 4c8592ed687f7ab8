#pragma once

#include <cstdint>

#include "base/hash.h"
#include "ir/graph.h"

namespace frazil {

/// Small tensors by content, large ones by type and identity of their memory.
std::uint64_t hash_of(const Tensor& tensor);
/// The values of all attributes of the node.
void add_attributes(Hasher& hasher, const Node& node);

}  // namespace frazil
