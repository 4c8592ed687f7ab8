#pragma once

#include <string>

#include "trace.h"

namespace digits {

/// The stages of the early-exit model in Graphviz's language, with the counts of `trace` on its edges.
std::string picture(const Trace& trace);

/// Runs Graphviz on a .dot file. What went wrong; empty when nothing did.
std::string render_svg(const std::string& dot_path, const std::string& svg_path);

}  // namespace digits
