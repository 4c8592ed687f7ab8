#include "base/os/log.h"

#include <atomic>
#include <memory>

#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>

#include "base/os/knobs.h"
#include "base/thread/mutex.h"

namespace frazil::logging {
namespace {

std::atomic<int>& level_now() {
  static std::atomic<int> level = knobs() ? knobs()->debug : 0;
  return level;
}

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("frazil", std::make_shared<spdlog::sinks::ansicolor_stderr_sink_st>());
    made->set_pattern("%T.%e frazil %^%l%$ %v");
    made->set_level(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

/// Writes one line at a time.
void put(spdlog::level::level_enum level, std::string_view message) noexcept {
  static Mutex mutex;
  const std::scoped_lock lock(mutex);
  logger().log(level, "{}", message);
}

}  // namespace

void set_level(int level) { level_now().store(level, std::memory_order_relaxed); }

bool enabled(int level) { return level <= level_now().load(std::memory_order_relaxed); }

void write(int level, std::string_view message) noexcept {
  put(level <= 1 ? spdlog::level::info : spdlog::level::debug, message);
}

void warn(std::string_view message) noexcept { put(spdlog::level::warn, message); }

}  // namespace frazil::logging
