#pragma once

#include <cstdint>
#include <string>

#include <frazil/profile.h>

namespace frazil::ort {

/// The options of recordings.
inline constexpr api::ProfilerOptions kProfilerOptions{.trace_events = 1'000'000};

/// Nanoseconds of a steady clock.
std::uint64_t now_ns();
/// Writes the recording as a trace of Chrome to "<prefix>_<date>_<time>.json". Returns the file's name. Throws ORT_FAIL
/// if it cannot be written.
std::string write_trace(const api::Profiler& profiler, const std::string& prefix, const std::string& title);

}  // namespace frazil::ort
