#pragma once

#include <cstdint>
#include <string>

#include "server/model/served.h"

namespace frazil::server {

enum class PictureForm : std::uint8_t {
  text,  ///< the text form of graphs
  dot,   ///< input for Graphviz
};

/// Returns the graph of a pipeline, followed by those of blocks that its nodes run as graphs of their own. A line
/// "// NODE: BLOCK" precedes each of these. Throws Refusal (bad_request) if it is not a pipeline.
std::string picture_of(const Served& served, PictureForm form);

}  // namespace frazil::server
