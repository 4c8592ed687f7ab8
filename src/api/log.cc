#include <algorithm>
#include <utility>

#include <frazil/log.h>

#include "api/access.h"
#include "base/os/knobs.h"

namespace frazil::api {
namespace {

static_assert(static_cast<int>(Severity::warning) == static_cast<int>(logging::Severity::warning));

/// Returns the level of the most detailed messages of a severity, as in FRAZIL_DEBUG.
int level_of(Severity least) {
  constexpr int kDebug = 2;
  switch (least) {
    case Severity::debug: return std::max(kDebug, knobs() ? knobs()->debug : 0);
    case Severity::info: return 1;
    case Severity::warning: return 0;
  }
  refuse(frazil::Code::bad_input, "Log::least: there is no severity {}", static_cast<int>(least));
}

}  // namespace

logging::SinkPtr sink_of(Log log) {
  if (!log.function) return nullptr;
  logging::Sink sink{.function = {}, .level = level_of(log.least)};
  sink.function = [function = std::move(log.function)](const logging::Message& message) {
    function({static_cast<Severity>(message.severity), message.category, message.text});
  };
  return std::make_shared<const logging::Sink>(std::move(sink));
}

void set_log_level(int level) {
  constexpr int kMost = 6;
  if (level < 0 || level > kMost)
    refuse(frazil::Code::bad_input, "set_log_level: expected 0 to {}, got {}", kMost, level);
  logging::set_level(level);
}

void set_log(Log log) { logging::set_sink(sink_of(std::move(log))); }

}  // namespace frazil::api
