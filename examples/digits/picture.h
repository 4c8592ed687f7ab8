#pragma once

#include <string>

#include "trace.h"

namespace digits {

/// Returns the stages of the early-exit model as Graphviz input, with the counts of `trace` on its edges.
std::string picture(const Trace& trace);

/// Runs Graphviz on a .dot file. Returns an error message, empty on success.
std::string render_svg(const std::string& dot_path, const std::string& svg_path);

}  // namespace digits
