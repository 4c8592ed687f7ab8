#pragma once

#include <iosfwd>
#include <string>

#include "tool/profile_recorder.h"

namespace frazil::tool {

/// Writes what was recorded in the JSON trace event format of Chrome and Perfetto: a lane per thread, in it runs,
/// loops, iterations, branches and steps inside each other.
void write_trace(std::ostream& out, const Recorder& recorder, const std::string& model);

}  // namespace frazil::tool
