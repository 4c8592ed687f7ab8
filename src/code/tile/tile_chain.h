#pragma once

#include "code/tile/tile_state.h"

namespace frazil::code {

/// Where chains of a state are built.
struct ChainSpace {
  std::span<kernel::ChainStep> steps;
  std::span<TileChain> chains;
  std::span<TileResult> results;
  std::span<std::uint16_t> values;
};

/// Makes runs of operations that kernel::run_chain() knows one operation each. `single` tells which instructions give
/// one element instead of one for each of a tile; `s` counts what is used of `space`. Returns how many operations are
/// left.
std::size_t make_chains(const TileCode& code, const bool* single, std::span<TileOp> ops, const ChainSpace& space,
                        TileState& s);

}  // namespace frazil::code
