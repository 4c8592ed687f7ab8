#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace frazil::logging {

enum class Severity : std::uint8_t { debug, info, warning };

/// One line of the log. The texts are valid during the call.
struct Message {
  Severity severity = Severity::info;
  std::string_view category;  ///< the subject: "load", "plan", "guard", "code", "cache", "tuning" or "threads"
  std::string_view text;
};

/// A receiver of messages. `function` is called on the thread that logs, possibly by several threads at the same time
/// and while locks are held: it must not call Frazil. Its exceptions are dropped.
struct Sink {
  std::function<void(const Message&)> function;
  int level = 1;  ///< the most detailed messages that it receives: 0 (warnings) to 6, as FRAZIL_DEBUG
};
using SinkPtr = std::shared_ptr<const Sink>;

/// Sets the sink of the process; null restores stderr. A call of the previous sink may still be in progress; it is
/// destroyed after that call. Thread-safe.
void set_sink(SinkPtr sink);

/// A scope in which the messages of its thread go to `sink` instead of the process's sink. Null changes nothing.
class SinkScope {
 public:
  explicit SinkScope(SinkPtr sink) noexcept;
  ~SinkScope();
  SinkScope(const SinkScope&) = delete;
  SinkScope& operator=(const SinkScope&) = delete;
  /// Returns the sink of the innermost scope of this thread; null if there is none.
  static SinkPtr current() noexcept;

 private:
  const SinkPtr sink_;
  const SinkScope* const outer_;
};

/// Sets the level of messages on stderr, a value of FRAZIL_DEBUG, which gives the initial level. Thread-safe.
void set_level(int level);
/// Returns true if messages of `level` (1..6) are logged by this thread. Costs two loads.
bool enabled(int level);

/// Write one message: of level 1 as information, of higher levels for debugging. A warning is written at every level.
/// Thread-safe, never throw.
void write(int level, std::string_view category, std::string_view text) noexcept;
void warn(std::string_view category, std::string_view text) noexcept;

/// Formats and writes a message if `level` is enabled.
template <class... A>
void debug(int level, std::string_view category, fmt::format_string<A...> format, A&&... args) {
  if (enabled(level)) write(level, category, fmt::format(format, std::forward<A>(args)...));
}

}  // namespace frazil::logging
