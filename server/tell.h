#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace frazil::server {

/// An event for operators.
struct Notice {
  enum class Level : std::uint8_t { info, warning };
  Level level = Level::info;
  std::string subject;  ///< what it is about: "server", "config", "model 'bert'"
  std::string text;     ///< one line
};

/// Takes notices; on any thread. Returns without waiting for whoever reads them.
using Tell = std::function<void(const Notice&)>;

/// Reports what went as it should.
inline void inform(const Tell& tell, std::string subject, std::string text) {
  tell({.level = Notice::Level::info, .subject = std::move(subject), .text = std::move(text)});
}
/// Reports what an operator should look at.
inline void warn(const Tell& tell, std::string subject, std::string text) {
  tell({.level = Notice::Level::warning, .subject = std::move(subject), .text = std::move(text)});
}
/// The subject of notices about a model or a pipeline.
inline std::string model_subject(const std::string& name) { return "model '" + name + "'"; }

}  // namespace frazil::server
