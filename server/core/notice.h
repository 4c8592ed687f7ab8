#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace frazil::server {

/// An event for operators.
struct Notice {
  enum class Level : std::uint8_t { info, warning, error };
  Level level = Level::info;
  std::string subject;  ///< "server", "config" or "model 'bert'"
  std::string text;     ///< one line
};

/// Receives notices on any thread, without blocking on output.
using NoticeSink = std::function<void(const Notice&)>;

/// Reports a success.
inline void inform(const NoticeSink& notify, std::string subject, std::string text) {
  notify({.level = Notice::Level::info, .subject = std::move(subject), .text = std::move(text)});
}
/// Reports a problem.
inline void warn(const NoticeSink& notify, std::string subject, std::string text) {
  notify({.level = Notice::Level::warning, .subject = std::move(subject), .text = std::move(text)});
}
/// Reports a problem that an operator has to solve.
inline void report_error(const NoticeSink& notify, std::string subject, std::string text) {
  notify({.level = Notice::Level::error, .subject = std::move(subject), .text = std::move(text)});
}
/// Returns the subject of notices about a model or a pipeline.
inline std::string model_subject(const std::string& name) { return "model '" + name + "'"; }

}  // namespace frazil::server
