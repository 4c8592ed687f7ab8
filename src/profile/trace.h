#pragma once

#include <iosfwd>
#include <string>

#include "profile/recorder.h"

namespace frazil::profile {

/// Writes the recording in the JSON trace event format of Chrome and Perfetto: one lane per thread with nested runs,
/// loops, iterations, branches and steps.
void write_trace(std::ostream& out, const Recorder& recorder, const std::string& model);

}  // namespace frazil::profile
