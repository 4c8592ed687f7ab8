#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <frazil/log.h>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"

namespace frazil::ort {

/// A receiver of messages: the program's function, or stderr.
struct Logger {
  OrtLoggingFunction function = nullptr;
  void* parameter = nullptr;
  OrtLoggingLevel least = ORT_LOGGING_LEVEL_WARNING;
  std::string id;

  void write(OrtLoggingLevel severity, const char* category, const char* place, const char* message) const;
};

/// Returns the logger of the process, as its environment was created. Thread-safe.
Logger logger();
/// Returns a log of Frazil that writes to `logger`.
api::Log log_of(Logger logger);

/// Logs that a hint has no effect, once for each function. Thread-safe.
void log_hint(std::string_view function, std::string_view why) noexcept;
/// Logs that the program asked for a version of the table that is not known.
void log_version(std::uint32_t version) noexcept;
/// Returns the largest number of threads of a run, of a pool that sessions share; 0: one per core.
int global_threads();

}  // namespace frazil::ort

/// The handle of a logger that custom operators are given.
struct OrtLogger {
  frazil::ort::Logger logger;
};
