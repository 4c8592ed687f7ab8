#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace frazil::api {

enum class Severity : std::uint8_t { debug, info, warning };

/// One message of the log. The texts are valid during the call.
struct LogMessage {
  Severity severity = Severity::info;
  /// The subject: "load" (a model file deviates from ONNX), "plan", "guard" (a plan's assumption did not hold, and the
  /// run continued in another plan), "code" (machine code replaces other code, or cannot be made), "cache" (generated
  /// code cannot be read from disk or kept there), "tuning" (a table of costs is not used), "threads" (there are fewer
  /// than requested).
  std::string_view category;
  std::string_view text;  ///< one line, except for debug messages of FRAZIL_DEBUG=3 and above
};

/// A receiver of messages. It is called on the thread that logs: one that loads, plans or runs, or the thread that
/// compiles in the background. Several threads may call it at the same time, and the library may hold locks: it must
/// not call Frazil and should return soon. Exceptions that it throws are dropped.
using LogFunction = std::function<void(const LogMessage&)>;

/// A log: a function and the least severity that it receives. Messages of debug severity are those of FRAZIL_DEBUG=2,
/// or of that variable's value if it is larger.
struct Log {
  LogFunction function = {};
  Severity least = Severity::info;
};

/// Sets the log of the process, which receives the messages of models that have none of their own (LoadOptions::log).
/// An empty function restores the default: warnings, and what FRAZIL_DEBUG selects, go to stderr. A call of the
/// previous function may still be in progress on another thread; the function is destroyed after that call.
/// Thread-safe.
void set_log(Log log);

/// Replaces the level of FRAZIL_DEBUG for the messages on stderr: 0 (warnings) to 6 (assembly). Throws Code::bad_input
/// for other levels. Thread-safe.
void set_log_level(int level);

}  // namespace frazil::api
